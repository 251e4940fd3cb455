"""The tool `manage_tokens`, for people: it is not offered to models."""

from zero_memory.contracts.errors import forbidden, unauthorized, validation_failed
from zero_memory.contracts.people import ManageTokensArguments, ManageTokensResult, TokenCard
from zero_memory.memory.ages import timestamp
from zero_memory.memory.guard import refuse_secrets
from zero_memory.scopes.access import ACCOUNT_GONE
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import list_tokens, make_token, revoke_token
from zero_memory.scopes.model import Person, Token
from zero_memory.scopes.secret import presented
from zero_memory.tools.services import Services
from zero_memory.tools.tool import Annotations, Tool

_DAY_MS = 24 * 3_600_000


def run(services: Services, caller: Caller, arguments: ManageTokensArguments) -> ManageTokensResult:
    """List, make or revoke tokens of the caller's own person."""
    match arguments.action:
        case "list":
            tokens = list_tokens(services.table, caller.person)
            return ManageTokensResult(tokens=[token_card(token) for token in tokens])
        case "make":
            made = _make(services, caller, arguments)
            return ManageTokensResult(tokens=_cards(services, made), token=made)
        case "revoke":
            if arguments.public_id is None:
                raise validation_failed("This action needs public_id; the list shows them.")
            token = revoke_token(services.table, services.clock, caller.person, arguments.public_id)
            return ManageTokensResult(tokens=[token_card(token)])


def _make(services: Services, caller: Caller, arguments: ManageTokensArguments) -> str:
    refuse_secrets([("label", arguments.label)])
    grants = arguments.grants
    if grants is None:
        raise validation_failed("This action needs grants; pass those that the token is to hold.")
    if not caller.grants.issuperset(grants):
        raise forbidden(
            "A token gives another only what it holds itself: leave the rest out, or use one "
            "that does."
        )
    person = services.table.get(Person, caller.person)
    if person is None:
        raise unauthorized(ACCOUNT_GONE)
    now = services.clock.now()
    return make_token(
        services.table,
        services.clock,
        person,
        label=arguments.label,
        grants=grants,
        expires_at=None if arguments.days is None else now + arguments.days * _DAY_MS,
    )


def _cards(services: Services, made: str) -> list[TokenCard]:
    """The card of a token that was just made."""
    shown = presented("zmt", made)
    token = None if shown is None else services.table.get(Token, shown.public_id)
    return [] if token is None else [token_card(token)]


def token_card(token: Token) -> TokenCard:
    """A token without its secret."""
    return TokenCard(
        public_id=token.public_id,
        label=token.label,
        grants=list(token.grants),
        created_at=timestamp(token.created_at),
        expires_at=None if token.valid_until is None else timestamp(token.valid_until),
        revoked_at=None if token.revoked_at is None else timestamp(token.revoked_at),
    )


TOOL = Tool(
    name="manage_tokens",
    title="Manage access tokens",
    description="List, make and revoke access tokens of one's own.",
    input=ManageTokensArguments,
    output=ManageTokensResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=False),
    grant="admin",
    needs=frozenset(("table",)),
    run=run,
)
