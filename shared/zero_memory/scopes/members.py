"""Who is in a scope, as what, and how that changes.

Nobody is put into a scope: an admin invites and the invited accept, since what a scope holds
reaches the answers of those who are in it. The owner is always an admin, so that a scope never has
none; they hand it over before they leave. Each change raises the scope's revision: of two racing
changes one fails, looks again, and decides anew.
"""

from collections.abc import Callable

from msgspec.structs import replace

from zero_memory.contracts.errors import Refusal, conflict, forbidden, not_found, validation_failed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Absent,
    Action,
    AttributeIs,
    Check,
    ConditionFailed,
    Delete,
    Present,
    Put,
    RevisionIs,
    Table,
    every,
    ref,
)
from zero_memory.scopes.access import NO_SUCH_SCOPE, Access, access_of, can_admin
from zero_memory.scopes.founding import found, have_room
from zero_memory.scopes.model import Invitation, Member, Membership, Role, Scope, ScopePath
from zero_memory.scopes.paths import paths_for, renamed_path, slug_of
from zero_memory.scopes.secret import mint, presented

INVITATION_MS = 7 * 24 * 3_600_000

ALIASES = 16
"""The most earlier paths that still lead to a scope; the oldest are given up first."""

_Plan = Callable[[Scope], tuple[Scope, list[Action]]]
"""What a change does to a scope as it stands, and to the records beside it."""


def make_team(table: Table, clock: Clock, access: Access, name: str) -> Membership:
    """A new team of this name, with the caller as its owner.

    Raises validation_failed for a name without a letter or digit.
    """
    slug = _slug(name)
    paths = paths_for("team", access.person, slug)
    while True:
        path = next(path for path in paths if path not in access.by_path)
        made = found(table, clock, access, path, "team", name=slug, title=name)
        if made is not None:
            return made


def invite(table: Table, clock: Clock, access: Access, path: str, role: Role) -> str:
    """The code of a new invitation into a scope: good once, within 7 days, and shown this once.

    Raises not_found, and forbidden for anybody but an admin.
    """
    membership = access.must(path)
    can_admin(membership)
    _not_private(membership)
    minted = mint("zmi")
    invitation = Invitation(
        public_id=minted.public_id,
        secret_sha256=minted.secret_sha256,
        scope=membership.scope,
        role=role,
        inviter=access.person,
        known_by=tuple(known for known in membership.known_by if known.startswith("remote:")),
        expires_at=(clock.now() + INVITATION_MS) // 1_000,
    )
    table.transact([Put(invitation, Absent())])
    return minted.text


def accept(table: Table, clock: Clock, access: Access, code: str) -> Membership:
    """Join the scope that this code invites into.

    Raises not_found for a code that is unknown, used or expired, or whose inviter is an admin no
    more; conflict for a scope that the caller is in.
    """
    shown = presented("zmi", code)
    invitation = None if shown is None else table.get(Invitation, shown.public_id)
    if shown is None or not shown.proves(None if invitation is None else invitation.secret_sha256):
        raise _no_invitation()
    if invitation is None or invitation.expires_at * 1_000 <= clock.now():
        raise _no_invitation()
    have_room(access)

    def join(scope: Scope) -> tuple[Scope, list[Action]]:
        inviter = table.get(Member, scope.scope, invitation.inviter)
        if inviter is None or inviter.role != "admin":
            raise _no_invitation()
        if table.get(Member, scope.scope, access.person) is not None:
            raise conflict("You are in this scope already; describe_scope shows your role.")
        if table.get(Invitation, invitation.public_id) is None:
            raise _no_invitation()
        joined = Membership(
            person=access.person,
            scope=scope.scope,
            role=invitation.role,
            path=scope.path,
            kind=scope.kind,
            owner=scope.owner,
            name=scope.name,
            aliases=scope.aliases,
            known_by=tuple(each for each in invitation.known_by if each not in access.by_identity),
        )
        return scope, [
            Put(joined, Absent()),
            Put(Member(scope.scope, access.person, invitation.role), Absent()),
            Delete(ref(Invitation, invitation.public_id), Present()),
        ]

    _change(table, invitation.scope, join)
    return access_of(table, access.person).by_id[invitation.scope]


def set_role(table: Table, access: Access, path: str, person: str, role: Role) -> None:
    """Give a member another role.

    Raises not_found for a scope or member that is not there, and forbidden for anybody but an
    admin, and for the owner's role.
    """

    def change(scope: Scope) -> tuple[Scope, list[Action]]:
        _must_administer(table, scope, access.person)
        _not_the_owner(scope, person)
        membership = _membership(table, scope, person)
        changed = replace(membership, role=role, revision=membership.revision + 1)
        return scope, [
            Put(changed, RevisionIs(membership.revision)),
            Put(Member(scope.scope, person, role), Present()),
        ]

    _change(table, access.must(path).scope, change)


def remove(table: Table, access: Access, path: str, person: str) -> None:
    """Take a member out of a scope; what they wrote stays.

    Raises as `set_role` does.
    """

    def change(scope: Scope) -> tuple[Scope, list[Action]]:
        _must_administer(table, scope, access.person)
        return _without(table, scope, person)

    _change(table, access.must(path).scope, change)


def leave(table: Table, access: Access, path: str) -> None:
    """Leave a scope; what the caller wrote stays. Raises not_found, and forbidden for the owner."""
    _change(table, access.must(path).scope, lambda scope: _without(table, scope, access.person))


def hand_over(table: Table, access: Access, path: str, person: str) -> None:
    """Make another member the owner, and an admin; the caller stays an admin.

    Raises not_found for a scope or member that is not there, and forbidden for anybody but the
    owner.
    """
    membership = access.must(path)
    _not_private(membership)

    def change(scope: Scope) -> tuple[Scope, list[Action]]:
        if scope.owner != access.person:
            raise forbidden("Only its owner can hand a scope over. describe_scope names them.")
        heir = _membership(table, scope, person)
        if person == access.person:
            return scope, []
        promoted = replace(heir, role="admin", owner=person, revision=heir.revision + 1)
        return replace(scope, owner=person), [
            Put(promoted, RevisionIs(heir.revision)),
            Put(Member(scope.scope, person, "admin"), Present()),
        ]

    _change(table, membership.scope, change)
    _tell_members(table, membership.scope)


def rename(table: Table, access: Access, path: str, name: str) -> str:
    """Give a scope another name; its new path. Earlier paths go on leading to it.

    Interrupted, it is completed by calling it again. Raises not_found, forbidden for anybody but
    an admin, validation_failed for a name without a letter or digit, and conflict for a name that
    another scope under the same maker has or had.
    """
    membership = access.must(path)
    _not_private(membership)
    slug = _slug(name)

    def change(scope: Scope) -> tuple[Scope, list[Action]]:
        _must_administer(table, scope, access.person)
        new = renamed_path(scope.path, slug)
        if new == scope.path:
            return scope, []
        entry = table.get(ScopePath, new)
        if entry is not None and entry.scope != scope.scope:
            raise conflict("Another scope has or had this name. Choose another.")
        former = (*(alias for alias in scope.aliases if alias != new), scope.path)
        forgotten, kept = former[:-ALIASES], former[-ALIASES:]
        return replace(scope, path=new, name=slug, title=name, aliases=kept), [
            Put(ScopePath(new, scope.scope), Absent())
            if entry is None
            else Check(ref(ScopePath, new), AttributeIs("scope", scope.scope)),
            *(Delete(ref(ScopePath, alias)) for alias in forgotten),
        ]

    changed = _change(table, membership.scope, change)
    _tell_members(table, membership.scope)
    return changed.path


def _change(table: Table, scope_id: str, plan: _Plan) -> Scope:
    """Change a scope as planned from what stands now, again until nothing raced it."""
    while True:
        scope = table.get(Scope, scope_id)
        if scope is None:
            raise not_found(NO_SUCH_SCOPE)
        # Every change of members raises the revision, so what the plan reads holds if it does.
        changed, actions = plan(scope)
        if not actions:
            return scope
        changed = replace(changed, revision=scope.revision + 1)
        try:
            table.transact([Put(changed, RevisionIs(scope.revision)), *actions])
        except ConditionFailed:
            continue
        return changed


def _tell_members(table: Table, scope_id: str) -> None:
    """Bring what memberships repeat of their scope up to date."""
    for member in every(table, Member, scope_id):
        _tell(table, scope_id, member.person)


def _tell(table: Table, scope_id: str, person: str) -> None:
    while True:
        scope = table.get(Scope, scope_id)
        membership = table.get(Membership, person, scope_id)
        if scope is None or membership is None:
            return
        told = replace(
            membership,
            path=scope.path,
            owner=scope.owner,
            name=scope.name,
            aliases=scope.aliases,
        )
        if told == membership:
            return
        try:
            table.transact(
                [
                    Check(ref(Scope, scope_id), RevisionIs(scope.revision)),
                    Put(
                        replace(told, revision=membership.revision + 1),
                        RevisionIs(membership.revision),
                    ),
                ]
            )
        except ConditionFailed:
            continue
        return


def _must_administer(table: Table, scope: Scope, person: str) -> None:
    membership = table.get(Membership, person, scope.scope)
    if membership is None:
        raise not_found(NO_SUCH_SCOPE)
    can_admin(membership)


def _membership(table: Table, scope: Scope, person: str) -> Membership:
    membership = table.get(Membership, person, scope.scope)
    if membership is None:
        raise not_found("There is no such member. describe_scope names who is in a scope.")
    return membership


def _without(table: Table, scope: Scope, person: str) -> tuple[Scope, list[Action]]:
    _not_the_owner(scope, person)
    _membership(table, scope, person)
    return scope, [
        Delete(ref(Membership, person, scope.scope), Present()),
        Delete(ref(Member, scope.scope, person), Present()),
    ]


def _not_the_owner(scope: Scope, person: str) -> None:
    if person == scope.owner:
        raise forbidden(
            "A scope's owner stays in it as an admin. Hand it over to another member first."
        )


def _not_private(membership: Membership) -> None:
    if membership.kind in {"personal", "core"}:
        raise forbidden(
            "Your personal root and core are yours alone. Make a team, or use a project, to share."
        )


def _slug(name: str) -> str:
    slug = slug_of(name)
    if not slug:
        raise validation_failed("A name needs a letter or a digit.")
    return slug


def _no_invitation() -> Refusal:
    return not_found(
        "There is no such invitation: it was used, it expired, or the code is not complete. Ask "
        "an admin of the scope for a new one."
    )
