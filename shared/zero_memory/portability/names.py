"""Names that mean the same in every home: of scopes, and of people.

`personal`, `core`, `proj.me.shop`: the caller's own id is `me`, so that what one exports here one
can import there. Other people keep their ids. What the caller may not know has no name at all: a
scope that they are not in is `elsewhere`, a person who left is a former member.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from zero_memory.memory.model import AuditRecord
from zero_memory.ports.table import Table
from zero_memory.scopes.access import Access
from zero_memory.scopes.model import Membership
from zero_memory.scopes.people import shown_people

ME = "me"
ELSEWHERE = "elsewhere"

_SHORT = ("personal", "core")


def scope_name(membership: Membership) -> str:
    """The portable name of a scope that the caller is in."""
    if membership.kind in _SHORT:
        return membership.kind
    return _with_maker(membership.path, membership.person, ME)


def scope_path(name: str, person: str) -> str:
    """The path, or short name, that a portable name leads a person to."""
    return name if name in _SHORT else _with_maker(name, ME, person)


def _with_maker(path: str, maker: str, named: str) -> str:
    root, _, rest = path.partition(".")
    found, dot, slug = rest.partition(".")
    return f"{root}.{named}{dot}{slug}" if found == maker else path


class Names(Struct, frozen=True):
    """A caller's portable names, of the scopes that they are in and of some principals.

    `hidden` are memories that the caller may not see, or that are not there, and so not named.
    """

    access: Access
    people: Mapping[str, str]
    hidden: frozenset[str] = frozenset()

    def scope(self, scope: str) -> str:
        """The portable name of a scope by its id."""
        membership = self.access.by_id.get(scope)
        return ELSEWHERE if membership is None else scope_name(membership)

    def principal(self, principal: str) -> str:
        """The portable name of a principal."""
        person, dot, client = principal.partition(".")
        return ME + dot + client if person == self.access.person else self.people[principal]

    def sides(self, record: AuditRecord) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Both sides of an audit record, with portable names in them."""
        before, after = (
            renamed(json.loads(text), self.scope, self.principal)
            for text in (record.before, record.after)
        )
        sides = [each for each in (before, after) if each is not None]
        unlinked = any((side.get("link") or ("", ""))[1] in self.hidden for side in sides)
        for side in sides:
            if side.get("superseded_by") in self.hidden:
                side["superseded_by"] = None
            if unlinked:
                side.pop("link", None)
        return before, after or {}


def renamed(
    state: dict[str, Any] | None, scope: Callable[[str], str], person: Callable[[str], str]
) -> dict[str, Any] | None:
    """One side of an audit record with other names for the scopes and people in it."""
    if state is None:
        return None
    named = dict(state)
    if "scope" in named:
        named["scope"] = scope(named["scope"])
    if "owner" in named:
        named["owner"] = person(named["owner"])
    if "shared_to" in named:
        named["shared_to"] = [scope(each) for each in named["shared_to"]]
    return named


def targets_of(record: AuditRecord) -> Iterator[str]:
    """The other memories that a record names."""
    for text in (record.before, record.after):
        state: dict[str, Any] = json.loads(text) or {}
        yield from (each for each in [state.get("superseded_by")] if each is not None)
        yield from (state.get("link") or ())[1:]


def names_for(
    table: Table,
    access: Access,
    principals: Iterable[str],
    audits: Iterable[AuditRecord],
    hidden: frozenset[str],
) -> Names:
    """The names of these principals, and of all that these records speak of."""
    mentioned = {*principals}
    for record in audits:
        mentioned.add(record.principal)
        for text in (record.before, record.after):
            state: dict[str, Any] = json.loads(text) or {}
            if "owner" in state:
                mentioned.add(state["owner"])
    return Names(access, shown_people(table, mentioned), hidden)
