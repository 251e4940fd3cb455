"""People, scopes and who may do what in them, as the table keeps them.

Times are milliseconds since the epoch, but for `expires_at` of records that the table itself
removes: those are seconds, as its expiry wants them.
"""

from typing import Literal, get_args

from msgspec import Struct

ScopeKind = Literal["personal", "core", "project", "team"]
Role = Literal["reader", "writer", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)

Grant = Literal["memory:read", "memory:write", "rules:approve", "admin"]
GRANTS: tuple[Grant, ...] = get_args(Grant)


class Scope(Struct, frozen=True):
    """A place for memories. Its id is for ever; its path may change.

    Its owner is always an admin of it. Every change of who is in it, or of what its members'
    records repeat of it, raises `revision`, so that of two racing changes one sees the other.
    `aliases` are earlier paths, which still lead here. `name` is the slug that the scope was made
    or renamed under, before a number told equals apart.
    """

    scope: str
    path: str
    kind: ScopeKind
    owner: str
    created_at: int
    name: str = ""
    title: str = ""
    aliases: tuple[str, ...] = ()
    revision: int = 1


class ScopePath(Struct, frozen=True):
    """The directory entry of a path."""

    path: str
    scope: str


class Membership(Struct, frozen=True):
    """A person's role in a scope, stored with the person; every right follows from these.

    Path, kind, owner, name and aliases repeat the scope's, so that one query answers a request.
    `known_by` holds the identities (`remote:…`, `path:…`) under which this person's hints reach
    a project, oldest first.
    """

    person: str
    scope: str
    role: Role
    path: str
    kind: ScopeKind
    owner: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    known_by: tuple[str, ...] = ()
    revision: int = 1


class Member(Struct, frozen=True):
    """The same membership, stored with the scope."""

    scope: str
    person: str
    role: Role


class Invitation(Struct, frozen=True):
    """Lets whoever holds its code join a scope, once; of the secret only a SHA-256 is kept.

    `inviter` must still be an admin of the scope then. `known_by` holds the remotes of a project.
    """

    public_id: str
    secret_sha256: bytes
    scope: str
    role: Role
    inviter: str
    known_by: tuple[str, ...]
    expires_at: int


class Person(Struct, frozen=True):
    """A person. `seal_key` seals the cursors that are handed to them.

    `calls_a_minute` is their own quota, when an operator gave them one.
    """

    person: str
    created_at: int
    seal_key: bytes
    name: str = ""
    disabled: bool = False
    calls_a_minute: int | None = None
    revision: int = 1


class PersonEntry(Struct, frozen=True):
    """The directory's entry of a person."""

    person: str


class Token(Struct, frozen=True):
    """A personal access token by its public id; of the secret only a SHA-256 is kept."""

    public_id: str
    secret_sha256: bytes
    person: str
    principal: str
    grants: tuple[Grant, ...]
    created_at: int
    label: str = ""
    valid_until: int | None = None
    revoked_at: int | None = None


class PersonToken(Struct, frozen=True):
    """Says that a token is this person's, stored with the person."""

    person: str
    public_id: str


class Login(Struct, frozen=True):
    """Says that this subject of an OAuth issuer is this person."""

    issuer: str
    subject: str
    person: str


class PersonLogin(Struct, frozen=True):
    """The same, stored with the person."""

    person: str
    issuer: str
    subject: str


class Attachment(Struct, frozen=True):
    """The project that a conversation is attached to, for 24 hours since it was last renewed.

    `key` is a thread under its principal.
    """

    key: str
    person: str
    scope: str
    expires_at: int


class LeasedCalls(Struct, frozen=True):
    """How many calls of a principal processes have leased in a window of a minute.

    `window` numbers the minutes since the epoch.
    """

    principal: str
    window: str
    calls: int
    expires_at: int
