"""HTTP requests become the events that API Gateway would send, and answers come back."""

import base64
import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.samples import sample
from zero_memory.local.deployment import Function, Route
from zero_memory.local.gateway import (
    HttpRequest,
    MalformedAnswer,
    find_route,
    http_answer,
    http_event,
)

FUNCTION = Function("recall", Path("app.py"), "handler", 512, 10)
ROUTE = Route("POST", "/tools/recall", FUNCTION)


def request(
    body: bytes = b"", *, query: str = "", headers: tuple[tuple[bytes, bytes], ...] = ()
) -> HttpRequest:
    return HttpRequest("POST", "/tools/recall", query, headers, body, "HTTP/1.1", "127.0.0.1")


def shape(value: Any) -> Any:
    """The names and types of an event, whatever it says."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: shape(held) for name, held in fields.items() if name != "headers"}
    return type(value).__name__


def as_request(event: dict[str, Any]) -> HttpRequest:
    http = event["requestContext"]["http"]
    headers = tuple((name.encode(), value.encode()) for name, value in event["headers"].items())
    return HttpRequest(
        http["method"],
        http["path"],
        event["rawQueryString"],
        headers,
        event["body"].encode(),
        http["protocol"],
        http["sourceIp"],
    )


@pytest.mark.parametrize("name", ["http_tool", "http_mcp"])
def test_an_event_has_the_shape_and_words_of_the_sample_that_the_cloud_sends(name: str) -> None:
    wanted = sample(name)
    method, path = wanted["routeKey"].split(" ")
    route = Route(method, path, FUNCTION)

    event = http_event(as_request(wanted), route)

    assert shape(event) == shape(wanted)
    for same in ("version", "routeKey", "rawPath", "headers", "body", "isBase64Encoded"):
        assert event[same] == wanted[same]
    assert event["requestContext"]["http"] == wanted["requestContext"]["http"]


def test_header_names_are_lower_case_and_repeated_ones_are_joined() -> None:
    event = http_event(request(headers=((b"X-One", b"a"), (b"x-one", b"b"))), ROUTE)

    assert event["headers"] == {"x-one": "a,b"}


def test_cookies_stand_apart_from_headers() -> None:
    event = http_event(request(headers=((b"Cookie", b"a=1; b=2"), (b"cookie", b"c=3"))), ROUTE)

    assert event["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in event["headers"]


def test_query_parameters_are_decoded_and_repeated_ones_are_joined() -> None:
    event = http_event(request(query="q=%C3%A4&q=b&empty="), ROUTE)

    assert event["rawQueryString"] == "q=%C3%A4&q=b&empty="
    assert event["queryStringParameters"] == {"q": "ä,b", "empty": ""}


def test_a_request_without_body_query_or_cookies_has_no_such_fields() -> None:
    event = http_event(request(), ROUTE)

    assert event.keys().isdisjoint({"body", "queryStringParameters", "cookies"})


def test_a_binary_body_comes_in_base64() -> None:
    body = bytes(range(256))

    event = http_event(request(body, headers=((b"content-type", b"image/png"),)), ROUTE)

    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == body


def test_json_that_is_not_utf8_reaches_the_handler_byte_for_byte() -> None:
    event = http_event(
        request(b"\xff\xfe", headers=((b"content-type", b"application/json"),)), ROUTE
    )

    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == b"\xff\xfe"


def test_an_answer_carries_status_headers_cookies_and_body() -> None:
    answer = http_answer(
        {
            "statusCode": 201,
            "headers": {"Content-Type": "application/json", "X-One": 1},
            "cookies": ["a=1; HttpOnly", "b=2"],
            "body": "ä",
        }
    )

    assert answer.status == 201
    assert answer.body == "ä".encode()
    assert answer.headers == (
        ("content-type", "application/json"),
        ("x-one", "1"),
        ("set-cookie", "a=1; HttpOnly"),
        ("set-cookie", "b=2"),
    )


def test_a_base64_answer_is_decoded() -> None:
    body = base64.b64encode(b"\x00\xff").decode()

    assert (
        http_answer({"statusCode": 200, "body": body, "isBase64Encoded": True}).body == b"\x00\xff"
    )


def test_a_result_without_status_is_the_json_body_of_a_200() -> None:
    answer = http_answer({"hits": []})

    assert (answer.status, json.loads(answer.body)) == (200, {"hits": []})


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "many"},
        {"statusCode": 200, "headers": ["a"]},
        {"statusCode": 200, "body": "%", "isBase64Encoded": True},
        {"statusCode": 200, "body": {"a": 1}},
    ],
)
def test_an_answer_that_api_gateway_would_not_take_is_malformed(result: object) -> None:
    with pytest.raises(MalformedAnswer):
        http_answer(result)


def test_a_route_of_the_method_comes_before_any_and_paths_match_to_the_letter() -> None:
    every = Route("ANY", "/mcp", FUNCTION)
    post = Route("POST", "/mcp", FUNCTION)

    assert find_route((every, post), "POST", "/mcp") is post
    assert find_route((every, post), "HEAD", "/mcp") is every
    assert find_route((every, post), "POST", "/mcp/") is None
    assert find_route((post,), "GET", "/mcp") is None


def test_a_variable_stands_for_one_segment_and_gives_way_to_the_letter() -> None:
    named = Route("POST", "/tools/recall", FUNCTION)
    other = Route("POST", "/tools/{tool}", FUNCTION)

    assert find_route((other, named), "POST", "/tools/recall") is named
    assert find_route((other, named), "POST", "/tools/recal") is other
    assert find_route((other, named), "POST", "/tools/") is None
    assert find_route((other, named), "POST", "/tools/a/b") is None
