"""What a person may do where: their memberships, and the refusals that follow from them."""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from zero_memory.contracts.errors import forbidden, not_found, unauthorized
from zero_memory.ports.table import Table, every
from zero_memory.scopes.model import Membership

ACCOUNT_GONE = "This account was deleted; ask whoever runs the service for a new one."

NO_SUCH_SCOPE = (
    "There is no such scope among yours. describe_scope lists the scopes that you can use; "
    "core and personal always work."
)


class Access(Struct, frozen=True, dict=True):
    """A person's memberships, as one consistent read found them."""

    person: str
    memberships: tuple[Membership, ...]

    @cached_property
    def by_id(self) -> Mapping[str, Membership]:
        """Memberships by scope id."""
        return {membership.scope: membership for membership in self.memberships}

    @cached_property
    def by_path(self) -> Mapping[str, Membership]:
        """Memberships by path, earlier paths included; a path of today wins over an earlier one."""
        former = {alias: each for each in self.memberships for alias in each.aliases}
        return former | {each.path: each for each in self.memberships}

    @cached_property
    def by_identity(self) -> Mapping[str, Membership]:
        """Memberships by the identities that the person's hints reach them under."""
        return {identity: each for each in self.memberships for identity in each.known_by}

    @cached_property
    def personal(self) -> Membership:
        """The person's private root."""
        return next(each for each in self.memberships if each.kind == "personal")

    @cached_property
    def core(self) -> Membership:
        """The person's portable knowledge, read in every session."""
        return next(each for each in self.memberships if each.kind == "core")

    def named(self, name: str) -> Membership | None:
        """The membership of a path, or of the short names `core` and `personal`."""
        if name == "core":
            return self.core
        if name == "personal":
            return self.personal
        return self.by_path.get(name)

    def must(self, name: str) -> Membership:
        """The membership of a path or short name.

        Raises not_found for what the caller is not in, as if it did not exist.
        """
        membership = self.named(name)
        if membership is None:
            raise not_found(NO_SUCH_SCOPE)
        return membership


def access_of(table: Table, person: str) -> Access:
    """A person's memberships, read consistently. Raises unauthorized when the account is gone."""
    memberships = tuple(every(table, Membership, person))
    if not memberships:
        raise unauthorized(ACCOUNT_GONE)
    return Access(person, memberships)


def can_write(membership: Membership) -> None:
    """Raises forbidden for a reader."""
    if membership.role == "reader":
        raise forbidden(
            "You may read this scope, not write to it. Ask one of its admins for the role of "
            "writer, or name another scope."
        )


def can_admin(membership: Membership) -> None:
    """Raises forbidden for anybody but an admin."""
    if membership.role != "admin":
        raise forbidden("Only an admin of this scope may do this. describe_scope names them.")
