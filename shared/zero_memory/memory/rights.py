"""Who acts on memories, as the use cases take it: what they may see and change, and from where."""

from collections.abc import Sequence

from msgspec import Struct

from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Membership
from zero_memory.scopes.visibility import ReadSet


class Rights(Struct, frozen=True):
    """What the caller may see, and the scopes in which it may change memories, and erase them."""

    read_set: ReadSet
    writable: frozenset[str]
    administered: frozenset[str] = frozenset()


def rights_of(memberships: Sequence[Membership]) -> Rights:
    """Everything that these memberships let their person see and change."""
    return Rights(
        ReadSet({each.scope: each.path for each in memberships}),
        writable=frozenset(each.scope for each in memberships if each.role != "reader"),
        administered=frozenset(each.scope for each in memberships if each.role == "admin"),
    )


class Actor(Struct, frozen=True):
    """A caller with their rights and the conversation that they speak from.

    `conversation` names principal and conversation, `thread` is its token as the client echoed it;
    both are None for a call that named neither.
    """

    caller: Caller
    rights: Rights
    conversation: str | None = None
    thread: str | None = None
