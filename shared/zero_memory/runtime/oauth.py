"""OAuth for MCP clients: where people sign in, what a challenge says, and who registers.

People sign in at a Cognito user pool. What it lacks of what MCP clients ask for is told here: the
metadata of this resource (RFC 9728) and of the authorization server (RFC 8414), which names the
pool's own endpoints, and the registration of public clients (RFC 7591).
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from zero_memory.contracts.errors import ErrorCode, not_found
from zero_memory.mcp.http import (
    MAX_BODY_BYTES,
    HttpRequest,
    HttpResponse,
    UnreadableBodyError,
    json_bytes,
    json_response,
    read_json,
)
from zero_memory.ports.oauth_clients import ClientsUnavailable, OAuthClients
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.logins import OFFERED, scope_of
from zero_memory.scopes.model import Grant

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
REGISTRATION = "/oauth/register"

_MCP = "/mcp"
_OWN_MACHINE = frozenset(("localhost", "127.0.0.1", "::1"))
"""All that Cognito takes without TLS."""

_REALM = 'Bearer realm="zero-memory"'
_LATER = "temporarily_unavailable"
_NOT_STORED = {"cache-control": "no-store"}
_CACHED = {"cache-control": "public, max-age=300"}


def public_url(headers: Mapping[str, str], settings: Settings) -> str:
    """Where the client reaches the service.

    Never by what a proxy says: a token that was made out to somebody else would do.
    """
    return settings.public_url or f"https://{headers.get('host', '')}"


def resource(headers: Mapping[str, str], settings: Settings) -> str:
    """What access tokens are asked for: the MCP endpoint's URL."""
    return public_url(headers, settings) + _MCP


def challenge(
    code: ErrorCode,
    headers: Mapping[str, str],
    settings: Settings,
    wanted: Iterable[Grant],
) -> str:
    """What `WWW-Authenticate` says beside a 401, and beside a 403 for a lack of scopes."""
    if not settings.oauth_issuer:
        return _REALM
    error = "insufficient_scope" if code is ErrorCode.FORBIDDEN else "invalid_token"
    # Who sent nothing made no error.
    says = f', error="{error}"' if headers.get("authorization") else ""
    metadata = public_url(headers, settings) + RESOURCE_METADATA + _MCP
    return f'{_REALM}{says}, scope="{_scopes(wanted)}", resource_metadata="{metadata}"'


def tell(request: HttpRequest, settings: Settings) -> HttpResponse:
    """The metadata that a client asks for, before it knows anybody. Raises not_found."""
    if not settings.oauth_issuer:
        raise not_found(
            "People do not sign in here. Send a personal access token as Authorization: Bearer "
            "zmt_…; whoever runs the service makes one by zm admin."
        )
    base = public_url(request.headers, settings)
    if request.path == SERVER_METADATA:
        return json_response(200, _server(base, settings), _CACHED)
    return json_response(200, _resource(base), _CACHED)


def _resource(base: str) -> dict[str, Any]:
    return {
        "resource": base + _MCP,
        "resource_name": "zero-memory",
        "authorization_servers": [base],
        "scopes_supported": [scope_of(grant) for grant in OFFERED],
        "bearer_methods_supported": ["header"],
    }


def _server(base: str, settings: Settings) -> dict[str, Any]:
    at = settings.oauth_login_url
    return {
        "issuer": base,
        "authorization_endpoint": f"{at}/oauth2/authorize",
        "token_endpoint": f"{at}/oauth2/token",
        "revocation_endpoint": f"{at}/oauth2/revoke",
        "registration_endpoint": base + REGISTRATION,
        "scopes_supported": [scope_of(grant) for grant in OFFERED],
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }


def _scopes(grants: Iterable[Grant]) -> str:
    return " ".join(map(scope_of, grants))


class _Registration(BaseModel):
    """What a client says of itself; what it can't choose here is answered as it is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    redirect_uris: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=1_000)]],
        Field(min_length=1, max_length=10),
    ]
    client_name: Annotated[str, StringConstraints(max_length=200)] = ""


class _NotRegistered(Exception):
    """An error of RFC 7591, as that specification words and codes them."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.status = status
        self.body = {"error": error, "error_description": description}


def register(request: HttpRequest, settings: Settings, clients: OAuthClients) -> HttpResponse:
    """Register a public client (RFC 7591).

    Its codes go to the person's own machine, or where the operator allowed: Cognito asks nobody for
    consent, so that a stranger's client could have them sent to itself.
    """
    try:
        asked = _registration(request)
        client_id = _registered(asked, settings, clients)
    except _NotRegistered as refused:
        return json_response(refused.status, refused.body, _NOT_STORED)
    return json_response(
        201,
        {
            "client_id": client_id,
            "client_name": asked.client_name,
            "redirect_uris": asked.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": _scopes(OFFERED),
        },
        _NOT_STORED,
    )


def _registration(request: HttpRequest) -> _Registration:
    asks = _NotRegistered(
        "invalid_client_metadata",
        "Send JSON with redirect_uris, 1 to 10 of at most 1,000 characters, and a client_name "
        f"of at most 200, in at most {MAX_BODY_BYTES} bytes.",
    )
    if len(request.body) > MAX_BODY_BYTES:
        raise asks
    try:
        return _Registration.model_validate_json(json_bytes(read_json(request.body)))
    except (UnreadableBodyError, ValidationError):
        raise asks from None


def _registered(asked: _Registration, settings: Settings, clients: OAuthClients) -> str:
    if not all(_is_allowed(uri, settings) for uri in asked.redirect_uris):
        raise _NotRegistered(
            "invalid_redirect_uri",
            "Codes are sent to the person's own machine alone (http://127.0.0.1, http://localhost, "
            "http://[::1]). Whoever runs the service may allow other places.",
        )
    try:
        scopes = [scope_of(grant) for grant in OFFERED]
        client_id = clients.register(asked.client_name, asked.redirect_uris, scopes)
    except ClientsUnavailable:
        raise _NotRegistered(_LATER, "Try again in a moment.", 503) from None
    if client_id is None:
        raise _NotRegistered(
            _LATER, "There is no room for another client. Ask whoever runs the service.", 503
        )
    return client_id


def _is_allowed(uri: str, settings: Settings) -> bool:
    if uri in settings.oauth_redirect_uris:
        return True
    try:
        parts: SplitResult = urlsplit(uri)
        _ = parts.port
        own = parts.hostname in _OWN_MACHINE
    except ValueError:
        return False
    plain = uri.isascii() and uri.isprintable() and not set(uri) & set(" @#")
    return own and parts.scheme == "http" and plain
