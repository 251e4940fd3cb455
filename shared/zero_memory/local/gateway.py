"""API Gateway's HTTP API on one machine: requests to events of payload 2.0, answers back.

Where the documentation of the payload format is silent, this does what API Gateway was seen to do.
"""

import base64
import json
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import parse_qsl

from msgspec import Struct

from zero_memory.local.deployment import Route
from zero_memory.local.functions import ACCOUNT

# Media types whose bodies API Gateway passes on as text; all others come in base64.
_TEXT_TYPES = ("text/", "application/json", "application/javascript", "application/xml")


class HttpRequest(Struct, frozen=True):
    """One request as it came. Header names and values are bytes, in their order."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    protocol: str
    source_ip: str


class HttpAnswer(Struct, frozen=True):
    """One answer; header names are lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


NOT_FOUND = HttpAnswer(404, (("content-type", "application/json"),), b'{"message":"Not Found"}')
SERVER_ERROR = HttpAnswer(
    500, (("content-type", "application/json"),), b'{"message":"Internal Server Error"}'
)


class MalformedAnswer(Exception):
    """A handler's answer that API Gateway would not take."""


def find_route(routes: Iterable[Route], method: str, path: str) -> Route | None:
    """The route of a request: paths to the letter before variables, its own method before `ANY`."""
    matching = [route for route in routes if route.method in {method, "ANY"} and _is(route, path)]
    return min(matching, key=lambda route: ("{" in route.path, route.method == "ANY"), default=None)


def _is(route: Route, path: str) -> bool:
    """Whether a path is a route's; `{name}` in it stands for one segment."""
    wanted, given = route.path.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        here == there or (here.startswith("{") and bool(there))
        for here, there in zip(wanted, given, strict=True)
    )


def http_event(request: HttpRequest, route: Route) -> dict[str, Any]:
    """The event of payload format 2.0 that API Gateway makes of this request."""
    headers, cookies = _headers(request.headers)
    now = time.time()
    domain = headers.get("host", "")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT,
            "apiId": "local",
            "domainName": domain,
            "domainPrefix": domain.partition(".")[0],
            "http": {
                "method": request.method,
                "path": request.path,
                "protocol": request.protocol,
                "sourceIp": request.source_ip,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": uuid.uuid4().hex[:15] + "=",
            "routeKey": route.key,
            "stage": "$default",
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if request.query:
        event["queryStringParameters"] = _query(request.query)
    if request.body:
        event["body"], event["isBase64Encoded"] = _body(
            request.body, headers.get("content-type", "")
        )
    return event


def http_answer(result: Any) -> HttpAnswer:
    """The HTTP answer that API Gateway makes of a handler's result.

    A result without `statusCode` is the body of a 200, as JSON. Raises MalformedAnswer.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        body = result if isinstance(result, str) else json.dumps(result)
        return HttpAnswer(200, (("content-type", "application/json"),), body.encode())
    answer = cast("Mapping[str, Any]", result)
    try:
        status = int(answer["statusCode"])
        given = {str(name).lower(): str(value) for name, value in _pairs(answer.get("headers"))}
        headers = {"content-type": "text/plain;charset=utf-8"} | given
        cookies = tuple(("set-cookie", str(cookie)) for cookie in answer.get("cookies") or ())
        text: str = answer.get("body") or ""
        encoded = bool(answer.get("isBase64Encoded"))
        body = base64.b64decode(text, validate=True) if encoded else text.encode()
    except (AttributeError, TypeError, ValueError) as error:
        raise MalformedAnswer("the handler's answer is not of payload format 2.0") from error
    headers.pop("content-length", None)
    return HttpAnswer(status, (*headers.items(), *cookies), body)


def _pairs(headers: Mapping[str, Any] | None) -> Iterable[tuple[str, Any]]:
    return headers.items() if headers else ()


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> tuple[dict[str, str], list[str]]:
    """Headers in lower case, repeated ones joined by a comma; cookies stand apart."""
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name == "cookie":
            cookies.extend(part.strip() for part in value.split(";") if part.strip())
        else:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers, cookies


def _query(raw: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, value in parse_qsl(raw, keep_blank_values=True):
        parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
    return parameters


def _body(body: bytes, content_type: str) -> tuple[str, bool]:
    """The event's body and whether it is base64: text when its media type and its bytes are."""
    if content_type.lower().startswith(_TEXT_TYPES):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass  # the handler says what is wrong with it, which it can only with every byte
    return base64.b64encode(body).decode("ascii"), True
