"""An HTTP exchange as plain data, and the JSON that it carries."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from msgspec import Struct, field

MAX_BODY_BYTES = 1_048_576
"""The longest body that is read: 1 MiB, below every limit on the way."""

MAX_DEPTH = 64
"""How deep JSON may nest; deeper than any tool's arguments."""

JSON_TYPE = "application/json"

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class HttpRequest(Struct, frozen=True):
    """A request. Header names are lower case, their values trimmed; the body is raw."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class HttpResponse(Struct, frozen=True):
    """A response; an empty body has no content type."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class UnreadableBodyError(ValueError):
    """A body that is not the JSON that was asked for; the message says why, without the body."""


def read_json(body: bytes) -> Any:
    """The JSON value of a body.

    Raises UnreadableBodyError for anything but UTF-8 JSON that nests at most `MAX_DEPTH` deep and
    names each field once.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise UnreadableBodyError(
            "The body is not valid UTF-8; encode it so and send it again."
        ) from error
    try:
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_each_name_once,
        )
    except UnreadableBodyError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnreadableBodyError(
            "The body is not valid JSON; check it and send it again."
        ) from error
    if _depth_exceeds(value, MAX_DEPTH):
        raise UnreadableBodyError(f"The body nests more than {MAX_DEPTH} levels deep; flatten it.")
    return value


def json_bytes(value: object) -> bytes:
    """A value as compact UTF-8 JSON, other scripts unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def json_response(status: int, value: object, headers: Mapping[str, str] = {}) -> HttpResponse:
    """A response that carries JSON."""
    return HttpResponse(status, json_bytes(value), {"content-type": JSON_TYPE, **headers})


def is_json_type(content_type: str | None) -> bool:
    """Whether a Content-Type says JSON, in UTF-8 where it names a charset."""
    media_type, _, parameters = (content_type or "").lower().partition(";")
    charset = parameters.replace(" ", "").replace('"', "")
    return media_type.strip() == JSON_TYPE and charset in {"", "charset=utf-8"}


def accepts_json(accept: str | None) -> bool:
    """Whether an Accept header admits a JSON answer; a missing one admits anything."""
    if not accept:
        return True
    ranges = {part.partition(";")[0].strip() for part in accept.lower().split(",")}
    return not ranges.isdisjoint({JSON_TYPE, "application/*", "*/*"})


def has_lone_surrogate(value: object) -> bool:
    """Whether a string somewhere in a JSON value, keys included, is no Unicode text."""
    return any(_LONE_SURROGATE.search(text) for text in _strings(value))


def has_nul(value: object) -> bool:
    """Whether a string somewhere in a JSON value, keys included, holds a NUL character."""
    return any("\x00" in text for text in _strings(value))


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("NaN and Infinity are not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number


def _each_name_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two values under one name, readers on the way may each have believed another."""
    value = dict(fields)
    if len(value) < len(fields):
        raise UnreadableBodyError("An object in the body names a field twice; name each once.")
    return value


def _strings(value: object) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
        elif isinstance(node, dict):
            waiting.extend(node)  # pyright: ignore[reportUnknownArgumentType]
            waiting.extend(node.values())  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(node, list):
            waiting.extend(node)  # pyright: ignore[reportUnknownArgumentType]
    return found


def _depth_exceeds(value: object, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit + 1):
        if not level:
            return False
        level = [child for node in level for child in _children(node)]
    return bool(level)


def _children(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return list(node.values())  # pyright: ignore[reportUnknownArgumentType]
    return node if isinstance(node, list) else []  # pyright: ignore[reportUnknownVariableType]
