"""The Lambda entry points: API Gateway v2 events in, responses out.

Owns, once for every function: who may ask, who asks, what is asked, how errors look, and what is
logged. `lambda_for` serves one tool, `mcp_handler` the whole protocol.
"""

import base64
import binascii
import time
import uuid
from collections.abc import Callable, Collection
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel

from zero_memory.contracts.errors import (
    DAMAGED,
    ErrorCode,
    Refusal,
    forbidden,
    not_found,
    validation_failed,
)
from zero_memory.mcp.http import (
    MAX_BODY_BYTES,
    HttpRequest,
    HttpResponse,
    UnreadableBodyError,
    is_json_type,
    json_response,
    read_json,
)
from zero_memory.mcp.resource import ResourceTemplate
from zero_memory.mcp.server import AnyTool, Peer, Server, answer, offer, offer_call
from zero_memory.ports.access_tokens import IssuerUnavailable
from zero_memory.ports.table import DamagedRecord, TableUnavailable
from zero_memory.runtime import oauth
from zero_memory.runtime.arguments import parse_arguments
from zero_memory.runtime.bootstrap import Composition, services
from zero_memory.runtime.perimeter import bearer_token, check_addressed_here, machine_of
from zero_memory.runtime.telemetry import Outcome, record, record_failure
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import authenticate
from zero_memory.scopes.limits import count_call
from zero_memory.scopes.logins import OFFERED, sign_in
from zero_memory.scopes.model import GRANTS, Grant
from zero_memory.tools.services import Services

_TABLE_AWAY = (
    "The table does not answer: it is busy, out of reach, or its disk is full. Try again later; "
    "with an idempotency_key, a write that is sent again happens once."
)

Event = dict[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]


def lambda_for(tool: AnyTool) -> Handler:
    """The handler of one tool's function.

    `POST /tools/<name>` takes the arguments as a JSON object and answers the structured result,
    or the error body with its HTTP status. `POST /mcp/tools/<name>` is an MCP `tools/call` that a
    router sent here by its headers.
    """
    protocol = offer_call(tool)

    def serve(visit: "_Visit") -> HttpResponse:
        if visit.request.path.endswith(f"/mcp/tools/{tool.name}"):
            return answer(protocol, visit, visit.request)
        return json_response(200, visit.call(tool, _arguments(visit.request), Peer(None, None)))

    return _handler(lambda request, request_id, here: serve(_visit(request, request_id, here)))


def mcp_handler(
    tools: tuple[AnyTool, ...], resources: tuple[ResourceTemplate, ...] = ()
) -> Handler:
    """The handler of the MCP endpoint over these tools and resources.

    It also tells who calls a tool over plain HTTP that no function serves what there is.
    """
    protocol: Server = offer(tools, resources)

    def serve(visit: "_Visit") -> HttpResponse:
        if visit.request.path.startswith("/tools/"):
            names = ", ".join(tool.name for tool in protocol.tools)
            raise not_found(f"There is no such tool; call one of these: {names}.")
        return answer(protocol, visit, visit.request)

    # A client begins here, whatever it calls later; so here people who sign in first become one.
    return _handler(
        lambda request, request_id, here: serve(_visit(request, request_id, here, sign_up=True))
    )


def oauth_handler() -> Handler:
    """The handler of what clients ask before anybody has signed in."""

    def serve(request: HttpRequest, _request_id: str, here: Composition) -> HttpResponse:
        check_addressed_here(request.headers, here.settings)
        told = oauth.tell(request, here.settings)
        if request.path == oauth.REGISTRATION:
            return oauth.register(request, here.settings, here.oauth_clients)
        return told

    return _handler(serve)


class _LacksScope(Exception):
    """Somebody signed in for less than a call needs: an answer to the client, not to the model."""

    def __init__(self, refusal: Refusal, wanted: frozenset[Grant]) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.wanted = wanted


class _Visit(Struct, frozen=True):
    """One request of a known caller; the protocol's host."""

    request: HttpRequest
    request_id: str
    composition: Composition
    caller: Caller
    signed_in: bool

    def call(self, tool: AnyTool, arguments: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """The tool's structured result; raises Refusal only."""

        def run(ports: Services, caller: Caller) -> BaseModel:
            return tool.run(ports, caller, parse_arguments(tool.input, arguments))

        return self._recorded(tool.name, tool.grant, peer, run)

    def read(self, template: ResourceTemplate, uri: str, peer: Peer) -> dict[str, Any]:
        """The resource's value; raises Refusal only."""
        name = f"resource:{template.name}"
        return self._recorded(
            name, template.grant, peer, lambda ports, caller: template.read(ports, caller, uri)
        )

    def _recorded(
        self,
        name: str,
        grant: Grant,
        peer: Peer,
        run: Callable[[Services, Caller], BaseModel],
    ) -> dict[str, Any]:
        started = time.perf_counter()
        code: str | None = None
        try:
            return self._granted(grant, peer, run)
        except Refusal as refusal:
            code = refusal.code.value
            raise
        except _LacksScope as lack:
            code = lack.refusal.code.value
            raise
        finally:
            elapsed_ms = (time.perf_counter() - started) * 1_000
            outcome = Outcome(name, self.request_id, elapsed_ms, self.caller.principal, code)
            record(outcome, self.composition.settings)

    def _granted(
        self, grant: Grant, peer: Peer, run: Callable[[Services, Caller], BaseModel]
    ) -> dict[str, Any]:
        if grant not in self.caller.grants:
            refusal = forbidden(f"This token does not hold {grant}: use one that does.")
            if self.signed_in and grant in OFFERED:
                wanted: frozenset[Grant] = frozenset((*self.caller.grants, grant))
                raise _LacksScope(refusal, wanted)
            raise refusal
        client = peer.client and f"{peer.client.name}/{peer.client.version}"[:200]
        caller = replace(self.caller, client=client, transport_session=peer.session)
        try:
            return run(self.composition, caller).model_dump(mode="json")
        except Refusal:
            raise
        except Exception as error:
            raise _internal(error, self.request_id, self.composition) from error


def _handler(serve: Callable[[HttpRequest, str, Composition], HttpResponse]) -> Handler:
    def handle(event: Event, _context: object) -> dict[str, Any]:
        composition = services()
        request_id = _request_id(event)
        try:
            response = serve(_request(event), request_id, composition)
        except _LacksScope as lack:
            response = _refused(lack.refusal, event, composition, lack.wanted)
        except Refusal as refusal:
            response = _refused(refusal, event, composition)
        except Exception as error:  # noqa: BLE001 - the last boundary: nothing may escape unsaid
            response = _refused(_internal(error, request_id, composition), event, composition)
        return {
            "statusCode": response.status,
            "headers": {**response.headers, "x-request-id": request_id},
            "body": response.body.decode(),
            "isBase64Encoded": False,
        }

    return handle


def _visit(
    request: HttpRequest, request_id: str, composition: Composition, *, sign_up: bool = False
) -> _Visit:
    """The request with who sends it, when they may."""
    settings = composition.settings
    check_addressed_here(request.headers, settings)
    token = bearer_token(request.headers)
    signed_in = bool(settings.oauth_issuer) and not token.startswith("zmt_")
    if signed_in:
        caller = sign_in(
            composition.table,
            composition.clock,
            composition.access_tokens.read(token),
            resource=oauth.resource(request.headers, settings),
            sign_up=sign_up and settings.oauth_sign_up,
        )
    else:
        caller = authenticate(composition.table, composition.clock, token)
    count_call(
        composition.table,
        composition.clock,
        caller.principal,
        calls_a_minute=caller.calls_a_minute or settings.calls_a_minute,
    )
    caller = replace(caller, machine=machine_of(request.headers))
    return _Visit(request, request_id, composition, caller, signed_in)


def _request(event: Event) -> HttpRequest:
    text: str = event.get("body") or ""
    try:
        encoded = event.get("isBase64Encoded")
        body = base64.b64decode(text, validate=True) if encoded else text.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise validation_failed(
            "The body could not be decoded; send it as JSON in UTF-8."
        ) from error
    return HttpRequest(
        method=event["requestContext"]["http"]["method"],
        path=event["rawPath"],
        headers=_headers(event),
        body=body,
    )


def _headers(event: Event) -> dict[str, str]:
    given = cast("dict[str, str]", event.get("headers") or {})
    return {name.lower(): value.strip() for name, value in given.items()}


def _request_id(event: Event) -> str:
    given = event.get("requestContext", {}).get("requestId")
    return given if isinstance(given, str) and given else uuid.uuid4().hex


def _arguments(request: HttpRequest) -> dict[str, Any]:
    if not is_json_type(request.headers.get("content-type")):
        raise validation_failed("Send the arguments as Content-Type: application/json in UTF-8.")
    if len(request.body) > MAX_BODY_BYTES:
        raise validation_failed(f"A body may have at most {MAX_BODY_BYTES} bytes.")
    try:
        arguments = read_json(request.body)
    except UnreadableBodyError as error:
        raise validation_failed(str(error)) from error
    if not isinstance(arguments, dict):
        raise validation_failed("The body must be a JSON object that holds the arguments.")
    return cast("dict[str, Any]", arguments)


def _internal(error: Exception, request_id: str, composition: Composition) -> Refusal:
    record_failure(error, request_id, composition.settings)
    what = "Something failed here."
    if isinstance(error, TableUnavailable):
        what = _TABLE_AWAY
    elif isinstance(error, DamagedRecord):
        what = DAMAGED
    elif isinstance(error, IssuerUnavailable):
        what = "Where you signed in does not answer. Try again later."
    return Refusal(
        ErrorCode.INTERNAL,
        f"{what} When you report it, quote {request_id}.",
        {"request_id": request_id},
    )


def _refused(
    refusal: Refusal,
    event: Event,
    composition: Composition,
    lacking: Collection[Grant] = (),
) -> HttpResponse:
    headers: dict[str, str] = {}
    if refusal.code is ErrorCode.UNAUTHORIZED or lacking:
        wanted: list[Grant] = [grant for grant in GRANTS if grant in (lacking or OFFERED)]
        headers["www-authenticate"] = oauth.challenge(
            refusal.code, _headers(event), composition.settings, wanted
        )
    if refusal.code is ErrorCode.RATE_LIMITED and refusal.details is not None:
        headers["retry-after"] = str(refusal.details["retry_after_s"])
    return json_response(refusal.code.http_status, refusal.body(), headers)
