"""People, scopes and who may do what in them, as the table keeps them."""

from dataclasses import dataclass
from typing import Literal, get_args

ScopeKind = Literal["personal", "core", "project", "team"]
Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

Grant = Literal["memory:read", "memory:write", "rules:approve", "admin"]
GRANTS: tuple[Grant, ...] = get_args(Grant)


@dataclass(frozen=True)
class Scope:
    """A place for memories. Its id is for ever; its path may change."""

    scope: str
    path: str
    kind: ScopeKind
    owner: str
    created_at: int
    title: str = ""


@dataclass(frozen=True)
class ScopePath:
    """The directory entry of a path."""

    path: str
    scope: str


@dataclass(frozen=True)
class Membership:
    """A person's role in a scope, stored with the person; every right follows from these."""

    person: str
    scope: str
    role: Role
    path: str
    kind: ScopeKind
    owner: str


@dataclass(frozen=True)
class Member:
    """The same membership, stored with the scope."""

    scope: str
    person: str
    role: Role


@dataclass(frozen=True)
class ProjectIdentity:
    """What a person's project is known by.

    `identity` is the folded remote, path or name, as
    `remote:…`, `path:…` or `name:…`.
    """

    person: str
    identity: str
    scope: str


@dataclass(frozen=True)
class Person:
    """A person. `seal_key` seals the cursors that are handed to them."""

    person: str
    created_at: int
    seal_key: bytes
    name: str = ""
    disabled: bool = False


@dataclass(frozen=True)
class Token:
    """A personal access token by its public id; of the secret only a SHA-256 is kept.

    `expires_at` and `revoked_at` in milliseconds.
    """

    public_id: str
    secret_sha256: bytes
    person: str
    principal: str
    grants: tuple[Grant, ...]
    created_at: int
    label: str = ""
    expires_at: int | None = None
    revoked_at: int | None = None


@dataclass(frozen=True)
class Attachment:
    """The project that a thread or a transport session is attached to, for 24 hours.

    `key` is the thread's token or the transport session's id under its principal; `expires_at` is
    in seconds since the epoch, as the table's expiry wants it.
    """

    key: str
    person: str
    scope: str
    expires_at: int
