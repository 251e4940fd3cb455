"""Arguments and results of the tools by which people manage their scopes and tokens."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from zero_memory.contracts.memory import ScopeName
from zero_memory.contracts.model import Arguments, Name, NotBlank, Result
from zero_memory.contracts.shapes import PERSON_ID, PUBLIC_ID

ScopeAction = Literal[
    "make_team", "invite", "accept", "set_role", "remove", "leave", "hand_over", "rename"
]
RoleName = Literal["reader", "writer", "admin"]
GrantName = Literal["memory:read", "memory:write", "rules:approve", "admin"]
PersonId = Annotated[str, StringConstraints(pattern=PERSON_ID)]
PublicId = Annotated[str, StringConstraints(pattern=PUBLIC_ID)]


class ManageScopeArguments(Arguments):
    """What `manage_scope` takes: an action, and what it needs.

    `make_team` needs `name`; `invite` `scope` and `role`; `accept` `code`; `set_role` `scope`,
    `person` and `role`; `remove` and `hand_over` `scope` and `person`; `leave` `scope`; `rename`
    `scope` and `name`.
    """

    action: ScopeAction
    scope: ScopeName | None = None
    name: Annotated[Name, NotBlank] | None = None
    person: PersonId | None = None
    role: RoleName | None = None
    code: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None


class ManageScopeResult(Result):
    """What `manage_scope` answers: the scope's path.

    `code` is that of an invitation, shown once; `role` is what one accepted to be.
    """

    scope: str
    code: str | None = None
    role: str | None = None


class ManageTokensArguments(Arguments):
    """What `manage_tokens` takes.

    `make` needs `grants`, among those of the token that calls; `revoke` needs `public_id`.
    """

    action: Literal["list", "make", "revoke"]
    label: Annotated[str, StringConstraints(max_length=200)] = ""
    grants: Annotated[list[GrantName], Field(min_length=1, max_length=4)] | None = None
    days: Annotated[int, Field(ge=1, le=3_650, description="How long it lasts.")] | None = None
    public_id: PublicId | None = None


class TokenCard(Result):
    """A token as its person sees it, without the secret."""

    public_id: str
    label: str
    grants: list[str]
    created_at: str
    expires_at: str | None = None
    revoked_at: str | None = None


class ManageTokensResult(Result):
    """What `manage_tokens` answers: the tokens that it is about, and a new one, shown once."""

    tokens: list[TokenCard]
    token: str | None = None
