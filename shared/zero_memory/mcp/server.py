"""The protocol: an HTTP request in, an HTTP response out.

Serves 2026-07-28, and 2025-11-25 and 2025-06-18, on one endpoint; answers in JSON, never as a
stream. What a call does is the host's business.
"""

import json
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from msgspec import Struct

from zero_memory import __version__
from zero_memory.contracts.errors import ErrorCode, Refusal, not_found
from zero_memory.mcp.http import (
    MAX_BODY_BYTES,
    HttpRequest,
    HttpResponse,
    accepts_json,
    is_json_type,
    json_response,
)
from zero_memory.mcp.instructions import instructions_for
from zero_memory.mcp.jsonrpc import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND_2025,
    UNSUPPORTED_PROTOCOL_VERSION,
    Message,
    ProtocolError,
    error_body,
    read_message,
    result_body,
)
from zero_memory.mcp.resource import ResourceTemplate
from zero_memory.mcp.revision import (
    META_CLIENT,
    META_SERVER,
    REVISIONS,
    SESSION_HEADER,
    STATELESS,
    ClientInfo,
    Revision,
    client_of,
    negotiated,
    revision_of,
)
from zero_memory.mcp.schema import tool_definition
from zero_memory.memory.guard import find_secret
from zero_memory.tools.tool import Tool

LIST_TTL_MS = 300_000
"""How long a client may keep a list: they change with a deployment only."""

_SERVER_INFO = {"name": "zero-memory", "title": "Zero Memory", "version": __version__}

_HTTP_STATUS = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""2026-07-28's statuses. The 2025 clients take any but 200 for a broken transport, so their
methods' errors come with 200."""

_SESSION_ID = re.compile(r"[\x21-\x7e]{1,128}")

AnyTool = Tool[Any, Any]


class Peer(Struct, frozen=True):
    """Who sends a message, as far as the message says.

    `session` is the transport session of the 2025 revisions; it selects state and proves nothing.
    """

    client: ClientInfo | None
    session: str | None


class Host(Protocol):
    """The process around the protocol: knows the caller, runs tools, reads resources.

    Both answer JSON objects and raise Refusal. What else they raise is for the host itself: it goes
    through the protocol as it is.
    """

    def call(self, tool: AnyTool, arguments: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """The tool's structured result."""
        ...

    def read(self, template: ResourceTemplate, uri: str, peer: Peer) -> dict[str, Any]:
        """The resource's value."""
        ...


class _Exchange(Struct, frozen=True):
    """One request on its way to its method."""

    server: "Server"
    host: Host
    message: Message
    revision: Revision
    peer: Peer


Method = Callable[[_Exchange], dict[str, Any]]


class Server(Struct, frozen=True):
    """What is offered: tools, sorted by name, resources, and the methods that reach them."""

    tools: tuple[AnyTool, ...]
    resources: tuple[ResourceTemplate, ...]
    methods: Mapping[Revision, Mapping[str, Method]]

    @property
    def capabilities(self) -> dict[str, Any]:
        """Nothing that changes while the server runs, so nothing to listen to."""
        return {"tools": {}, "resources": {}} if self.resources else {"tools": {}}


def offer(tools: tuple[AnyTool, ...], resources: tuple[ResourceTemplate, ...]) -> Server:
    """The whole protocol over these tools and resources."""
    shared = {**_TOOL_METHODS, **_RESOURCE_METHODS} if resources else _TOOL_METHODS
    handshake = {"initialize": _initialize, "ping": _ping, **shared}
    methods: dict[Revision, Mapping[str, Method]] = {
        "2026-07-28": {"server/discover": _discover, **shared},
        "2025-11-25": handshake,
        "2025-06-18": handshake,
    }
    return Server(tuple(sorted(tools, key=lambda tool: tool.name)), resources, methods)


def offer_call(tool: AnyTool) -> Server:
    """`tools/call` of one tool and no other method: what a router sends to a tool's own place."""
    call = {"tools/call": _call_tool}
    return Server((tool,), (), {revision: call for revision in REVISIONS})  # noqa: C420


def answer(server: Server, host: Host, request: HttpRequest) -> HttpResponse:
    """The response to a request at the MCP endpoint, whose caller the host knows."""
    if request.method != "POST":
        return _not_allowed(request)
    try:
        _check_transport(request)
        message = read_message(request.body)
    except _TransportError as error:
        return json_response(error.status, error_body(error))
    except ProtocolError as error:
        return json_response(_HTTP_STATUS[error.code], error_body(error))
    try:
        revision = revision_of(message, request.headers)
        peer = _peer(message, revision, request.headers)
    except ProtocolError as error:
        error.id = message.id
        return json_response(_HTTP_STATUS[error.code], error_body(error))
    if message.id is None:
        return HttpResponse(202)
    return _respond(_Exchange(server, host, message, revision, peer))


class _TransportError(ProtocolError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(INVALID_REQUEST, message)
        self.status = status


def _not_allowed(request: HttpRequest) -> HttpResponse:
    """No stream to GET, and no session to DELETE: one only selects state, and lapses by itself."""
    allow = {"allow": "POST"}
    if request.method == "HEAD":
        return HttpResponse(405, headers=allow)
    error = ProtocolError(INVALID_REQUEST, "This endpoint takes POST only, and keeps no stream.")
    return json_response(405, error_body(error), allow)


def _check_transport(request: HttpRequest) -> None:
    if not is_json_type(request.headers.get("content-type")):
        raise _TransportError(415, "Send the message as Content-Type: application/json in UTF-8.")
    if not accepts_json(request.headers.get("accept")):
        raise _TransportError(406, "Answers are JSON: list application/json in Accept.")
    if len(request.body) > MAX_BODY_BYTES:
        raise _TransportError(413, f"A body may have at most {MAX_BODY_BYTES} bytes.")


def _peer(message: Message, revision: Revision, headers: Mapping[str, str]) -> Peer:
    if revision == STATELESS:
        meta = cast("dict[str, Any]", message.params.get("_meta", {}))
        return Peer(client_of(meta.get(META_CLIENT)), None)
    session = headers.get(SESSION_HEADER)
    if session is not None and not _SESSION_ID.fullmatch(session):
        raise ProtocolError(INVALID_REQUEST, "Mcp-Session-Id must be as initialize issued it.")
    return Peer(client_of(message.params.get("clientInfo")), session)


def _respond(exchange: _Exchange) -> HttpResponse:
    message, stateless = exchange.message, exchange.revision == STATELESS
    try:
        result = _method(exchange)(exchange)
    except ProtocolError as error:
        error.id = message.id
        status = _HTTP_STATUS.get(error.code, 200) if stateless else 200
        return json_response(status, error_body(error))
    if stateless:
        result = {"resultType": "complete", **result, "_meta": {META_SERVER: _SERVER_INFO}}
    # Opaque and unguessable, so that nobody finds another's by counting.
    issued = message.method == "initialize"
    headers = {SESSION_HEADER: secrets.token_urlsafe(24)} if issued else {}
    return json_response(200, result_body(message.id, result), headers)


def _method(exchange: _Exchange) -> Method:
    methods = exchange.server.methods[exchange.revision]
    if exchange.message.method not in methods:
        raise ProtocolError(METHOD_NOT_FOUND, "This server does not have that method.")
    return methods[exchange.message.method]


def _initialize(exchange: _Exchange) -> dict[str, Any]:
    return {
        "protocolVersion": negotiated(exchange.message.params.get("protocolVersion")),
        "capabilities": exchange.server.capabilities,
        "serverInfo": _SERVER_INFO,
        "instructions": instructions_for(exchange.peer.client),
    }


def _discover(exchange: _Exchange) -> dict[str, Any]:
    return {
        "supportedVersions": list(REVISIONS),
        "capabilities": exchange.server.capabilities,
        "instructions": instructions_for(exchange.peer.client),
        # Clients are told what they can show, so one's answer is not another's.
        **_cached("private"),
    }


def _ping(_exchange: _Exchange) -> dict[str, Any]:
    return {}


def _list_tools(exchange: _Exchange) -> dict[str, Any]:
    return _listed(exchange, "tools", [tool_definition(tool) for tool in exchange.server.tools])


def _list_resources(exchange: _Exchange) -> dict[str, Any]:
    """Memories are found by recall; there are too many to list."""
    return _listed(exchange, "resources", [])


def _list_resource_templates(exchange: _Exchange) -> dict[str, Any]:
    shown = [
        {
            "uriTemplate": template.uri_template,
            "name": template.name,
            "title": template.title,
            "description": template.description,
            "mimeType": "application/json",
        }
        for template in exchange.server.resources
    ]
    return _listed(exchange, "resourceTemplates", shown)


def _listed(exchange: _Exchange, name: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    if exchange.message.params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Lists have one page: leave cursor out.")
    hints = _cached("public") if exchange.revision == STATELESS else {}
    return {name: items, **hints}


def _cached(scope: str, ttl_ms: int = LIST_TTL_MS) -> dict[str, Any]:
    return {"ttlMs": ttl_ms, "cacheScope": scope}


def _call_tool(exchange: _Exchange) -> dict[str, Any]:
    params = exchange.message.params
    name, arguments = params.get("name"), params.get("arguments")
    if arguments is None:
        arguments = {}
    if not isinstance(name, str):
        raise ProtocolError(INVALID_PARAMS, "tools/call must name a tool.")
    if not isinstance(arguments, dict):
        raise ProtocolError(INVALID_PARAMS, "A tool's arguments must be an object.")
    tool = next((tool for tool in exchange.server.tools if tool.name == name), None)
    if tool is None:
        known = ", ".join(tool.name for tool in exchange.server.tools)
        raise ProtocolError(INVALID_PARAMS, f"Unknown tool. This server has: {known}.")
    try:
        structured = exchange.host.call(tool, cast("dict[str, Any]", arguments), exchange.peer)
    except Refusal as refusal:
        # No structured content: clients would hold it against the tool's output schema.
        return {"content": [_text(refusal.body())], "isError": True}
    return {"content": [_text(structured)], "structuredContent": structured, "isError": False}


def _text(value: dict[str, Any]) -> dict[str, Any]:
    """The same words in the same order as text, in lines, since some clients cut by the line."""
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False, indent=1)}


def _read_resource(exchange: _Exchange) -> dict[str, Any]:
    uri = exchange.message.params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "resources/read must name a uri.")
    stateless = exchange.revision == STATELESS
    template = _template(exchange, uri)
    try:
        value = exchange.host.read(template, uri, exchange.peer)
    except Refusal as refusal:
        code = _resource_error_code(refusal.code, exchange.revision)
        raise ProtocolError(code, refusal.message, data={"uri": uri, **refusal.body()}) from refusal
    content = {"uri": uri, "mimeType": "application/json", "text": _text(value)["text"]}
    hints = _cached("private", 0) if stateless else {}
    return {"contents": [content], **hints}


def _template(exchange: _Exchange, uri: str) -> ResourceTemplate:
    for template in exchange.server.resources:
        if template.names(uri):
            return template
    refusal = not_found("There is no such resource; resources/templates/list shows what there is.")
    code = _resource_error_code(refusal.code, exchange.revision)
    # Clients expect the URI back, but what stands in the place of an id may be a secret.
    named = {} if find_secret(uri) else {"uri": uri}
    raise ProtocolError(code, refusal.message, data={**named, **refusal.body()})


def _resource_error_code(code: ErrorCode, revision: Revision) -> int:
    if code is ErrorCode.NOT_FOUND and revision != STATELESS:
        return RESOURCE_NOT_FOUND_2025
    return INTERNAL_ERROR if code is ErrorCode.INTERNAL else INVALID_PARAMS


_TOOL_METHODS: Mapping[str, Method] = {"tools/list": _list_tools, "tools/call": _call_tool}
_RESOURCE_METHODS: Mapping[str, Method] = {
    "resources/list": _list_resources,
    "resources/templates/list": _list_resource_templates,
    "resources/read": _read_resource,
}
