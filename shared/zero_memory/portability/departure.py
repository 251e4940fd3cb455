"""Leaving for good: everything that a person owns is erased, page by page.

Interrupted, it goes on where it was. The person's own record goes last, with their private root,
in a call of its own (`remove_person`), when no copy of what was erased is left anywhere; until then
their tokens work, so that they can see it through.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from zero_memory.contracts.errors import conflict
from zero_memory.memory.erasure import erase
from zero_memory.memory.ledger import ImportEntry
from zero_memory.memory.model import (
    AuditRecord,
    EntityName,
    PendingMarker,
    SearchRecord,
    SharedMemory,
)
from zero_memory.memory.rights import Actor, rights_of
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Action,
    ConditionFailed,
    Delete,
    Ref,
    RevisionIs,
    Table,
    delete_all,
    every,
    ref,
)
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import PROCESS_MEMORY, TokenMemory
from zero_memory.scopes.members import leave
from zero_memory.scopes.model import (
    Login,
    Member,
    Membership,
    Person,
    PersonEntry,
    PersonLogin,
    PersonToken,
    Scope,
    ScopePath,
    Token,
)

_PAGE = 50
_COUNTED = 200
_TOKENS_AT_ONCE = 40
_PRIVATE = frozenset(("personal", "core"))


class Departure(Struct, frozen=True):
    """How far it is: the memories that this call erased, and whether all but the person is gone.

    `remaining` counts the memories that are still there, up to 200 a scope; `more` says that there
    are more.
    """

    erased: tuple[str, ...]
    done: bool
    remaining: int = 0
    more: bool = False


def depart(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    until: int,
    unindex: Callable[[Sequence[str]], None],
) -> Departure:
    """Erase what a person owns, but for the person; no memory is begun on after `until`.

    `unindex` takes the ids of memories that are about to be erased: later nothing would name them.

    What they wrote into scopes of others stays there, without their name. Raises Refusal
    `conflict` while others are in scopes that they own, `unauthorized` when the account is gone.
    """
    access = access_of(table, caller.person)
    owned = [each for each in access.memberships if each.owner == access.person]
    _refuse_shared(table, owned)
    erased: list[str] = []
    for memory_id in _erasing(table, clock, caller, owned, unindex):
        erased.append(memory_id)
        if clock.now() >= until:
            return _unfinished(table, owned, erased)
    for membership in access.memberships:
        if membership.owner != access.person:
            leave(table, access, membership.path)
    private = [each for each in owned if each.kind in _PRIVATE]
    for membership in owned:
        delete_all(table, _beside_memories(table, membership.scope))
        if membership not in private and not _remove_scope(table, membership):
            return _unfinished(table, owned, erased)
    ledger = every(table, ImportEntry, access.person)
    delete_all(table, [ref(ImportEntry, each.person, each.scope, each.path) for each in ledger])
    return Departure(tuple(erased), done=True)


def _refuse_shared(table: Table, owned: Sequence[Membership]) -> None:
    shared = sorted(each.path for each in owned if _others_are_in(table, each.scope))
    if shared:
        raise conflict(
            "Others are in scopes that you own. Hand each over to one of them, or remove them, "
            f"and call again: {', '.join(shared)}.",
            {"hand_over": shared},
        )


def _others_are_in(table: Table, scope: str) -> bool:
    return len(table.query(Member, scope, limit=2).records) > 1


def _erasing(
    table: Table,
    clock: Clock,
    caller: Caller,
    owned: Sequence[Membership],
    unindex: Callable[[Sequence[str]], None],
) -> Iterator[str]:
    """Erase the memories of these scopes one by one, and what each erasure leaves behind."""
    actor = Actor(caller, rights_of(owned))
    for membership in owned:
        # What was read is gone, so each page is the first one.
        while page := table.keys(SearchRecord, membership.scope, limit=_PAGE).records:
            unindex(page)
            for memory_id in page:
                left = erase(table, clock, actor, memory_id)
                delete_all(table, [ref(AuditRecord, left.memory_id, left.audit_id)])
                yield memory_id


def _unfinished(table: Table, owned: Sequence[Membership], erased: Sequence[str]) -> Departure:
    pages = [table.keys(SearchRecord, each.scope, limit=_COUNTED) for each in owned]
    return Departure(
        erased=tuple(erased),
        done=False,
        remaining=sum(len(page.records) for page in pages),
        more=any(page.next is not None for page in pages),
    )


def _beside_memories(table: Table, scope: str) -> Iterator[Ref[object]]:
    """What a scope still holds when its memories are gone."""
    for name in every(table, EntityName, scope):
        yield ref(EntityName, scope, name.folded)
    for marker in every(table, PendingMarker, scope):
        yield ref(PendingMarker, scope, marker.memory_id)
    for shared in every(table, SharedMemory, scope):
        yield ref(SharedMemory, scope, shared.memory_id)


def _remove_scope(table: Table, membership: Membership) -> bool:
    """Remove a scope that its owner alone is in; False when somebody came in meanwhile."""
    scope = table.get(Scope, membership.scope)
    if scope is None:
        delete_all(table, [ref(Membership, membership.person, membership.scope)])
        return True
    if _others_are_in(table, scope.scope):
        return False
    try:
        table.transact(_removal(scope, RevisionIs(scope.revision)))
    except ConditionFailed:
        return False
    return True


def _removal(scope: Scope, when: RevisionIs | None = None) -> list[Action]:
    """The actions that remove a scope with its owner's membership."""
    return [
        Delete(ref(Scope, scope.scope), when),
        *(Delete(ref(ScopePath, path)) for path in (scope.path, *scope.aliases)),
        Delete(ref(Member, scope.scope, scope.owner)),
        Delete(ref(Membership, scope.owner, scope.scope)),
    ]


def remove_person(table: Table, person: str, memory: TokenMemory = PROCESS_MEMORY) -> None:
    """Remove tokens, private scopes and the person, at once when there are no more than 40 tokens.

    So that the token that calls holds until everything else is gone. Raises Refusal `conflict` when
    something was written since `depart` was done.
    """
    private = [each for each in access_of(table, person).memberships if each.kind in _PRIVATE]
    if any(table.keys(SearchRecord, each.scope, limit=1).records for each in private):
        raise conflict("Something was written while the account was deleted; repeat this call.")
    logins = every(table, PersonLogin, person)
    delete_all(table, (at for each in logins for at in _of_login(each)))
    tokens = [each.public_id for each in every(table, PersonToken, person)]
    first, last = tokens[:-_TOKENS_AT_ONCE], tokens[-_TOKENS_AT_ONCE:]
    delete_all(table, _of_tokens(person, first))
    scopes = table.get_many([ref(Scope, each.scope) for each in private])
    table.transact(
        [
            *(action for scope in scopes if scope is not None for action in _removal(scope)),
            *(Delete(at) for at in _of_tokens(person, last)),
            Delete(ref(Person, person)),
            Delete(ref(PersonEntry, person)),
        ]
    )
    memory.forget(tokens)


def _of_tokens(person: str, public_ids: Sequence[str]) -> Iterator[Ref[object]]:
    for public_id in public_ids:
        yield ref(Token, public_id)
        yield ref(PersonToken, person, public_id)


def _of_login(login: PersonLogin) -> Iterator[Ref[object]]:
    yield ref(Login, login.issuer, login.subject)
    yield ref(PersonLogin, login.person, login.issuer, login.subject)
