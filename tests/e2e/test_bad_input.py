"""Bad input over real HTTP, to a tool's own route and to MCP: a clear error, and nothing stored."""

import json
import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest

from tests.service import Service

MIB = 1_048_576
STALLED = 20
"""More requests than the service has threads for handlers."""


@pytest.fixture(autouse=True)
def nothing_stored_and_alive(service: Service) -> Generator[None]:
    """Lists what is stored before and after each test, by new connections."""
    before = _stored(service)
    yield
    assert _stored(service) == before


def _stored(service: Service) -> list[Any]:
    with httpx.Client(verify=False) as fresh:  # noqa: S501 - plain HTTP
        answer = fresh.post(
            f"{service.ready['api_url']}/tools/list_memories",
            json={"limit": 100},
            headers={"authorization": f"Bearer {service.token}"},
        )
    assert answer.status_code == 200, answer.text
    return answer.json()["memories"]


def post(
    service: Service, path: str, body: bytes, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    return service.http.post(
        service.ready["api_url"] + path,
        content=body,
        headers={
            "authorization": f"Bearer {service.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **(headers or {}),
        },
    )


def mcp_call(arguments: bytes, tool: str = "remember") -> bytes:
    """A `tools/call` as the 2025 revisions send it, around arguments that may be no JSON."""
    params = b'{"name": "%s", "arguments": %s}' % (tool.encode(), arguments)
    return b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": %s}' % params


def refusal(answer: httpx.Response) -> dict[str, Any]:
    """The error body of a tool's own route."""
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert body.keys() == {"error"}
    assert body["error"]["message"]
    return body["error"]


PERSONAL = b'"scope": "personal"'
STATEMENT = b'"content": "Shibboleth.", %s' % PERSONAL
"""The inside of arguments that would be taken, if they came alone."""


def test_what_the_bad_cases_start_from_is_good(service: Service) -> None:
    answer = post(service, "/tools/remember", b"{%s}" % STATEMENT)
    assert answer.status_code == 200
    forgets = {"memory_id": answer.json()["id"], "reason": "It was a test."}
    assert post(service, "/tools/forget", json.dumps(forgets).encode()).status_code == 200


def saying(content: bytes) -> bytes:
    """Arguments whose content is this JSON."""
    return b'{"content": %s, %s}' % (content, PERSONAL)


BAD_ARGUMENTS: dict[str, bytes] = {
    "none at all": b"{}",
    "no content": b"{%s}" % PERSONAL,
    "empty": saying(b'""'),
    "blank": saying(b'" \\n\\t "'),
    "32,001 characters": saying(b'"%s"' % (b"x" * 32_001)),
    "32,001 characters beyond ASCII": saying(('"' + "\U0001f9e0" * 32_001 + '"').encode()),
    "NUL": saying(b'"Shibbo\\u0000leth"'),
    "NUL in a key": b'{%s, "source": {"a\\u0000": 1}}' % STATEMENT,
    "high surrogate": saying(b'"Shibboleth \\ud83e"'),
    "low surrogate": saying(b'"\\udde0 Shibboleth"'),
    "surrogates the wrong way round": saying(b'"\\udde0\\ud83e Shibboleth"'),
    "surrogate deep within": b'{%s, "source": {"a": ["\\ud800"]}}' % STATEMENT,
    "a number": saying(b"5"),
    "null": saying(b"null"),
    "a list": saying(b'["Shibboleth."]'),
    "an object": saying(b'{"text": "Shibboleth."}'),
    "true": saying(b"true"),
    "a number for a list": b'{%s, "entities": 3}' % STATEMENT,
    "a string for a list": b'{%s, "entities": "Shibboleth"}' % STATEMENT,
    "too many entities": b'{%s, "entities": %s}' % (STATEMENT, json.dumps(["e"] * 33).encode()),
    "an empty entity": b'{%s, "entities": [""]}' % STATEMENT,
    "an unknown kind": b'{%s, "kind": "secret"}' % STATEMENT,
    "an unknown field": b'{%s, "contents": "Shibboleth."}' % STATEMENT,
    "an unknown field within": b'{%s, "links": [{"kind": "fact"}]}' % STATEMENT,
    "an id that is none": b'{%s, "supersedes": ["mem_1"]}' % STATEMENT,
    "a source of 4,097 bytes": b'{%s, "source": {"a": "%s"}}' % (STATEMENT, b"x" * 4_088),
    "no place to go": b'{"content": "Shibboleth."}',
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_fail_validation(service: Service, case: str) -> None:
    answer = post(service, "/tools/remember", BAD_ARGUMENTS[case])
    assert answer.status_code == 400
    error = refusal(answer)
    assert error["code"] == "validation_failed"
    assert "hibboleth" not in answer.text

    answer = post(service, "/mcp", mcp_call(BAD_ARGUMENTS[case]))
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert json.loads(result["content"][0]["text"])["error"] == error


BAD_RECALLS: dict[str, bytes] = {
    "neither query nor ids": b"{}",
    "both query and ids": b'{"query": "a", "ids": ["mem_01J00000000000000000000000"]}',
    "8,001 characters": b'{"query": "%s"}' % (b"x" * 8_001),
    "k of 0": b'{"query": "a", "k": 0}',
    "k of 51": b'{"query": "a", "k": 51}',
    "k of 10 to the 30": b'{"query": "a", "k": 1%s}' % (b"0" * 30),
    "k of 1.5": b'{"query": "a", "k": 1.5}',
    "k as a string": b'{"query": "a", "k": "5"}',
    "k as a truth value": b'{"query": "a", "k": true}',
    "no date": b'{"query": "a", "as_of": "yesterday"}',
    "a date before time": b'{"query": "a", "as_of": "-99999-01-01T00:00:00Z"}',
    "a foreign cursor": b'{"query": "a", "cursor": "x"}',
}


@pytest.mark.parametrize("case", BAD_RECALLS)
def test_bad_questions_fail_validation(service: Service, case: str) -> None:
    answer = post(service, "/tools/recall", BAD_RECALLS[case])
    assert (answer.status_code, refusal(answer)["code"]) == (400, "validation_failed")


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("forget", b'{"memory_id": "mem_01J00000000000000000000000", "reason": "a"}', 404, None),
        ("restore_memory", b'{"memory_id": "mem_01J00000000000000000000000"}', 404, None),
        ("describe_scope", b'{"scope": "proj.nobody.nothing"}', 404, None),
        ("remember", b'{"content": "Shibboleth.", "scope": "proj.nobody.nothing"}', 404, None),
        ("remember", b'{"content": "Shibboleth.", "scope": "a b"}', 404, None),
        ("list_memories", b'{"cursor": "shibboleth"}', 400, "validation_failed"),
        ("list_memories", b'{"limit": 101}', 400, "validation_failed"),
        ("list_memories", b'{"since": "tomorrow"}', 400, "validation_failed"),
    ],
)
def test_what_is_not_there_is_not_found(
    service: Service, tool: str, arguments: bytes, status: int, code: str | None
) -> None:
    answer = post(service, f"/tools/{tool}", arguments)
    assert (answer.status_code, refusal(answer)["code"]) == (status, code or "not_found")


DEEP = 100_000
BAD_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{" + STATEMENT,
    "a trailing comma": b"{%s,}" % STATEMENT,
    "two values": b"{%s}{%s}" % (STATEMENT, STATEMENT),
    "invalid UTF-8": saying(b'"Shibboleth \xff"'),
    "an encoded surrogate": saying(b'"Shibboleth \xed\xa0\x80"'),
    "UTF-16": saying(b'"Shibboleth."').decode().encode("utf-16"),
    "a byte-order mark": b"\xef\xbb\xbf{%s}" % STATEMENT,
    "NaN": b'{%s, "source": {"a": NaN}}' % STATEMENT,
    "an infinite number": b'{%s, "source": {"a": 1e999}}' % STATEMENT,
    "a number of 5,000 digits": b'{%s, "source": {"a": %s}}' % (STATEMENT, b"1" * 5_000),
    "one key twice": b'{"content": "One.", %s}' % STATEMENT,
    "one key twice within": b'{%s, "source": {"a": 1, "a": 2}}' % STATEMENT,
    "100,000 levels": b'{%s, "source": {"a": %s%s}}' % (STATEMENT, b"[" * DEEP, b"]" * DEEP),
    "70 levels": b'{%s, "source": %s1%s}' % (STATEMENT, b'{"a":' * 70, b"}" * 70),
    "a control character": saying(b'"Shibbo\nleth"'),
    "10 MB": saying(b'"%s"' % (b"x" * 10 * MIB)),
}


@pytest.mark.parametrize("case", [*BAD_BODIES, "a list", "a string", "null"])
def test_a_body_that_is_no_json_object_fails_validation(service: Service, case: str) -> None:
    others = {"a list": b"[{%s}]" % STATEMENT, "a string": b'"Shibboleth."', "null": b"null"}
    answer = post(service, "/tools/remember", (BAD_BODIES | others)[case])
    assert (answer.status_code, refusal(answer)["code"]) == (400, "validation_failed")


@pytest.mark.parametrize("case", BAD_BODIES)
def test_a_message_that_cannot_be_read_is_a_protocol_error(service: Service, case: str) -> None:
    body = mcp_call(BAD_BODIES[case]) if BAD_BODIES[case] else b""
    if case == "UTF-16":
        body = mcp_call(saying(b'"Shibboleth."')).decode().encode("utf-16")
    answer = post(service, "/mcp", body)
    assert answer.status_code == (413 if case == "10 MB" else 400)
    message = answer.json()
    assert message["jsonrpc"] == "2.0"
    assert message["error"]["code"] in {-32700, -32600}
    assert message["error"]["message"]
    assert "hibboleth" not in answer.text


BAD_MESSAGES: dict[str, tuple[bytes, int, int]] = {
    "a batch": (b"[%s]" % mcp_call(b"{%s}" % STATEMENT), 400, -32600),
    "an empty batch": (b"[]", 400, -32600),
    "null": (b"null", 400, -32600),
    "no version": (b'{"id": 1, "method": "tools/call"}', 400, -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', 400, -32600),
    "an id that is an object": (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', 400, -32600),
    "an unknown tool": (mcp_call(b"{%s}" % STATEMENT, tool="rember"), 200, -32602),
    "an unknown method": (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/sell"}', 200, -32601),
    "arguments as a list": (mcp_call(b"[]"), 200, -32602),
    "arguments as a string": (mcp_call(b'"Shibboleth"'), 200, -32602),
}


@pytest.mark.parametrize("case", BAD_MESSAGES)
def test_a_message_that_asks_for_nothing_there_is_says_so(service: Service, case: str) -> None:
    body, status, code = BAD_MESSAGES[case]
    answer = post(service, "/mcp", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "hibboleth" not in answer.text


@pytest.mark.parametrize("path", ["/tools/rember", "/tools/", "/tools/remember/", "/"])
def test_a_path_that_is_no_tools_is_not_found(service: Service, path: str) -> None:
    assert post(service, path, b"{%s}" % STATEMENT).status_code == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_a_tools_route_takes_post_alone(service: Service, method: str) -> None:
    url = f"{service.ready['api_url']}/tools/remember"
    assert service.http.request(method, url).status_code == 404


FOREIGN: tuple[dict[str, str], ...] = (
    {"host": "evil.example"},
    {"host": "evil.example:80"},
    {"host": "127.0.0.1.evil.example"},
    {"origin": "https://evil.example"},
    {"origin": "http://127.0.0.1.evil.example"},
    {"origin": "null"},
)


@pytest.mark.parametrize("path", ["/tools/remember", "/mcp", "/mcp/tools/remember"])
@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_foreign_host_or_origin_is_forbidden(
    service: Service, path: str, headers: dict[str, str]
) -> None:
    body = b"{%s}" % STATEMENT if path == "/tools/remember" else mcp_call(b"{%s}" % STATEMENT)
    answer = post(service, path, body, headers)
    assert (answer.status_code, refusal(answer)["code"]) == (403, "forbidden")


@pytest.mark.parametrize("path", ["/tools/remember", "/mcp"])
@pytest.mark.parametrize("value", ["", "Bearer", "Basic YTpi", "Bearer zmt_a_b", "Bearer \xff"])
def test_nobody_gets_in_without_the_token(service: Service, path: str, value: str) -> None:
    answer = service.http.post(
        service.ready["api_url"] + path,
        content=b"{%s}" % STATEMENT,
        headers={
            b"content-type": b"application/json",
            b"authorization": value.encode("latin-1"),
        },
    )
    assert (answer.status_code, refusal(answer)["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


CONTENT_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/jsonp",
    "",
)


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_another_content_type_is_refused(service: Service, content_type: str) -> None:
    headers = {"content-type": content_type}
    answer = post(service, "/tools/remember", b"{%s}" % STATEMENT, headers)
    assert (answer.status_code, refusal(answer)["code"]) == (400, "validation_failed")
    answer = post(service, "/mcp", mcp_call(b"{%s}" % STATEMENT), headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32600)


def connect(service: Service) -> socket.socket:
    port = int(service.ready["api_url"].rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def request(service: Service, body: bytes, *, announced: int | None = None) -> bytes:
    """A request by hand, whose body may be shorter than it announces."""
    lines = (
        "POST /tools/remember HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {service.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if announced is None else announced}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_bodies_that_do_not_come_hold_nobody_up(service: Service) -> None:
    body = saying(b'""')
    with ExitStack() as stack:
        stalled = [stack.enter_context(connect(service)) for _ in range(STALLED)]
        for each in stalled:
            each.sendall(request(service, body[:5], announced=len(body)))
        assert isinstance(_stored(service), list)
        for each in stalled:
            each.sendall(body[5:])
            assert status(each.recv(65_536)) == 400


def test_who_closes_its_half_is_answered(service: Service) -> None:
    with connect(service) as half_closed:
        half_closed.sendall(request(service, saying(b'""')))
        half_closed.shutdown(socket.SHUT_WR)
        answer = half_closed.recv(65_536)
        assert status(answer) == 400
        while half_closed.recv(65_536):
            pass


def test_a_body_that_ends_early_is_nothing(service: Service) -> None:
    body = b"{%s}" % STATEMENT
    with connect(service) as gone:
        gone.sendall(request(service, body, announced=len(body) + 1))
    with connect(service) as half_closed:
        half_closed.sendall(request(service, body, announced=len(body) + 1))
        half_closed.shutdown(socket.SHUT_WR)
        answer = half_closed.recv(65_536)
        assert answer == b"" or status(answer) == 400


NOT_HTTP: dict[str, bytes] = {
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
    "no host": b"POST /tools/remember HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "a negative length": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n"
    b"Content-Length: 3\r\n\r\n",
    "a chunk of no length": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n",
    "a header of 1 MB": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: %s\r\n\r\n" % (b"x" * MIB),
}


@pytest.mark.parametrize("case", NOT_HTTP)
def test_what_is_no_http_is_answered_and_dropped(service: Service, case: str) -> None:
    with connect(service) as stranger:
        stranger.sendall(NOT_HTTP[case])
        assert status(stranger.recv(65_536)) == 400
        with suppress(ConnectionResetError):  # it was still sending
            while stranger.recv(65_536):
                pass
