"""Which revision of MCP a message is served under, and what its headers must say.

2026-07-28 carries everything in each request and repeats it in headers for routers; the 2025
revisions open with `initialize`.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from msgspec import Struct

from zero_memory.mcp.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_PROTOCOL_VERSION,
    Message,
    ProtocolError,
)

Revision = Literal["2026-07-28", "2025-11-25", "2025-06-18"]
REVISIONS: tuple[Revision, ...] = get_args(Revision)
"""Newest first."""

STATELESS: Revision = "2026-07-28"
HANDSHAKE_REVISIONS: tuple[Revision, ...] = ("2025-11-25", "2025-06-18")
"""Newest first: those that open with `initialize`."""

OLDEST: Revision = "2025-06-18"
"""What a client gets that offers an older revision, or says nothing at all."""

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
SESSION_HEADER = "mcp-session-id"

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER = "io.modelcontextprotocol/serverInfo"

_NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
"""The parameter that `Mcp-Name` repeats, by method."""

_ENCODED_PREFIX, _ENCODED_SUFFIX = "=?base64?", "?="


class ClientInfo(Struct, frozen=True):
    """What a client calls itself; for display and for the length of what it is told."""

    name: str
    version: str


def revision_of(message: Message, headers: Mapping[str, str]) -> Revision:
    """The revision that this message is served under; raises ProtocolError when it is none.

    A message that says 2026-07-28 in its header or in its `_meta` must say it fully and alike.
    """
    header, meta = headers.get(VERSION_HEADER), _meta(message)
    if message.id is None:
        return OLDEST if header is None else _known(header)
    if header == STATELESS or meta.get(META_VERSION, OLDEST) not in HANDSHAKE_REVISIONS:
        _check_stateless(message, meta, headers)
        return STATELESS
    # An initialize negotiates in its body; what its header says comes from another session.
    if header is None or message.method == "initialize":
        return OLDEST
    return _known(header)


def negotiated(offered: object) -> Revision:
    """The answer to an `initialize`: what is offered, where we speak it; else the nearest we do.

    Raises ProtocolError when nothing is offered.
    """
    if not isinstance(offered, str):
        raise ProtocolError(INVALID_PARAMS, "initialize must offer a protocolVersion, a string.")
    for revision in HANDSHAKE_REVISIONS:
        if offered >= revision:
            return revision
    return OLDEST


def client_of(value: object) -> ClientInfo | None:
    """A client's name and version, where it gives both."""
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    name, version = fields.get("name"), fields.get("version")
    if isinstance(name, str) and isinstance(version, str):
        return ClientInfo(name, version)
    return None


def decoded_name(value: str) -> str | None:
    """The name in an `Mcp-Name` header, plain or base64 in its marks; None when malformed."""
    if not (value.startswith(_ENCODED_PREFIX) and value.endswith(_ENCODED_SUFFIX)):
        return value
    payload = value.removeprefix(_ENCODED_PREFIX).removesuffix(_ENCODED_SUFFIX)
    try:
        decoded = base64.b64decode(payload, validate=True)
        # Two spellings of one name would let a router and this check disagree.
        canonical = base64.b64encode(decoded).decode() == payload
        return decoded.decode() if canonical else None
    except (binascii.Error, ValueError):
        return None


def _meta(message: Message) -> dict[str, Any]:
    meta = message.params.get("_meta")
    return cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}


def _known(version: str) -> Revision:
    if version in REVISIONS:
        return version
    raise ProtocolError(
        UNSUPPORTED_PROTOCOL_VERSION,
        "This server does not speak that protocol version.",
        data={"supported": list(REVISIONS), "requested": version},
    )


def _check_stateless(message: Message, meta: Mapping[str, Any], headers: Mapping[str, str]) -> None:
    version = meta.get(META_VERSION)
    if not isinstance(version, str):
        raise ProtocolError(INVALID_PARAMS, f"params._meta must hold {META_VERSION}, a string.")
    if not isinstance(meta.get(META_CAPABILITIES), dict):
        raise ProtocolError(
            INVALID_PARAMS, f"params._meta must hold {META_CAPABILITIES}, an object."
        )
    if headers.get(VERSION_HEADER) != version:
        raise _mismatch("MCP-Protocol-Version", f"params._meta {META_VERSION}")
    _known(version)
    if headers.get(METHOD_HEADER) != message.method:
        raise _mismatch("Mcp-Method", "method")
    parameter = _NAMED_BY.get(message.method)
    named = message.params.get(parameter) if parameter else None
    if isinstance(named, str) and decoded_name(headers.get(NAME_HEADER, "")) != named:
        raise _mismatch("Mcp-Name", f"params.{parameter}")


def _mismatch(header: str, body_field: str) -> ProtocolError:
    return ProtocolError(
        HEADER_MISMATCH, f"The {header} header must be sent, and equal to the body's {body_field}."
    )
