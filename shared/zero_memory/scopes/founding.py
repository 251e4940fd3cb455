"""How a scope comes to be: with its path, its first member, and nothing half made."""

from typing import Literal

from zero_memory.contracts.errors import forbidden
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Absent, Action, ConditionFailed, Put, Table
from zero_memory.scopes.access import Access
from zero_memory.scopes.ids import new_scope_id
from zero_memory.scopes.model import Member, Membership, Scope, ScopeKind, ScopePath

MEMBERSHIPS = 500
"""The most scopes that one person is in, since every request reads them all: 9 ms from SQLite, and
under 40 read units, at this number; 0.6 ms at 50 (measured)."""

TITLE_LENGTH = 200


def first_membership(
    person: str,
    path: str,
    kind: ScopeKind,
    now: int,
    *,
    name: str = "",
    known_by: tuple[str, ...] = (),
) -> Membership:
    """The membership of a new scope's owner."""
    return Membership(
        person=person,
        scope=new_scope_id(now),
        role="admin",
        path=path,
        kind=kind,
        owner=person,
        name=name,
        known_by=known_by,
    )


def founding(membership: Membership, now: int, title: str = "") -> list[Action]:
    """The actions that make a scope with its first member, unless the path is taken."""
    scope = Scope(
        scope=membership.scope,
        path=membership.path,
        kind=membership.kind,
        owner=membership.owner,
        created_at=now,
        name=membership.name,
        title=title[:TITLE_LENGTH],
    )
    return [
        Put(ScopePath(membership.path, membership.scope), Absent()),
        Put(scope, Absent()),
        Put(membership, Absent()),
        Put(Member(membership.scope, membership.person, membership.role)),
    ]


def found(
    table: Table,
    clock: Clock,
    access: Access,
    path: str,
    kind: Literal["project", "team"],
    *,
    name: str,
    title: str,
    known_by: tuple[str, ...] = (),
) -> Membership | None:
    """A new scope of the caller's at this path; None when the path is taken.

    Raises forbidden for a person who is in as many scopes as one may be.
    """
    have_room(access)
    now = clock.now()
    membership = first_membership(access.person, path, kind, now, name=name, known_by=known_by)
    try:
        table.transact(founding(membership, now, title))
    except ConditionFailed:
        return None
    return membership


def have_room(access: Access) -> None:
    """Raises forbidden for a person who is in as many scopes as one may be."""
    if len(access.memberships) >= MEMBERSHIPS:
        raise forbidden(
            f"You are in {MEMBERSHIPS:,} scopes, as many as a person may be. Leave one first, or "
            "use one that you have."
        )
