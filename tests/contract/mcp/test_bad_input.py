"""Bad input: a clear error of the right code, nothing said back, and the service alive."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_types.jsonrpc import JSONRPCError, JSONRPCResponse

from tests.contract.mcp.fixtures import FAIL, NOTE, SECRET, Client
from zero_memory.runtime import bootstrap
from zero_memory.runtime.entry import lambda_for
from zero_memory.runtime.settings import Settings

MIB = 1_048_576


@pytest.fixture
def plain(token: str) -> Client:
    """Calls one tool as hooks and scripts do."""
    return Client(lambda_for(NOTE), token, path="/tools/note")


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What the service logs."""
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    keep, logger = Keep(), logging.getLogger("zero-memory")
    logger.addHandler(keep)
    yield records
    logger.removeHandler(keep)


BAD_ARGUMENTS: dict[str, tuple[Any, str]] = {
    "empty": ({"text": ""}, "text"),
    "missing": ({}, "text"),
    "too long": ({"text": "x" * 32_001}, "text"),
    "NUL": ({"text": "a\x00b"}, "NUL"),
    "NUL in a key": ({"text": "a", "source": {"a\x00": 1}}, "NUL"),
    "lone surrogate": ({"text": "a\ud800"}, "surrogate"),
    "lone surrogate deep within": ({"text": "a", "source": {"k": ["\udfff"]}}, "surrogate"),
    "wrong type": ({"text": 5}, "text"),
    "wrong type within": ({"text": "a", "places": [{"shelf": 3}]}, "places[0].shelf"),
    "out of range": ({"text": "a", "places": [{"shelf": "s", "row": 0}]}, "places[0].row"),
    "unknown field": ({"text": "a", "texxt": "shibboleth"}, "texxt"),
    "unknown field within": ({"text": "a", "places": [{"shelf": "s", "nope": 1}]}, "nope"),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_are_a_validation_error_that_names_the_field(
    plain: Client, client: Client, case: str
) -> None:
    arguments, named = BAD_ARGUMENTS[case]
    answer = plain.send(arguments)
    assert answer.status == 400
    assert answer.json["error"]["code"] == "validation_failed"
    assert named in answer.json["error"]["message"]
    assert "shibboleth" not in answer.text

    params = {"name": "note", "arguments": arguments}
    result = client.rpc("2026-07-28", "tools/call", params).json["result"]
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"]) == answer.json


@pytest.mark.parametrize("name", ["ghp_0123456789abcdefABCDEF", "a b", "x" * 40, "пароль"])
def test_a_name_that_is_no_field_name_is_not_said_back(plain: Client, name: str) -> None:
    answer = plain.send({"text": "a", name: 1})
    assert answer.json["error"]["code"] == "validation_failed"
    assert name not in answer.text
    assert "text, places, source" in answer.json["error"]["message"]


BAD_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "two values": b"{}{}",
    "invalid UTF-8": b'{"text": "\xff"}',
    "UTF-16": '{"text": "a"}'.encode("utf-16"),
    "NaN": b'{"text": NaN}',
    "infinite number": b'{"text": 1e999}',
    "a number with 5,000 digits": b'{"text": ' + b"1" * 5_000 + b"}",
    "nested 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
    "a field twice": b'{"text": "a", "text": "b"}',
    "a list": b"[]",
    "a string": b'"text"',
    "null": b"null",
    "10 MB": b'{"text": "' + b"x" * 10 * MIB + b'"}',
}


@pytest.mark.parametrize("case", BAD_BODIES)
def test_a_bad_body_is_a_validation_error_to_a_tool(plain: Client, case: str) -> None:
    answer = plain.send(BAD_BODIES[case])
    assert answer.status == 400
    assert answer.json["error"]["code"] == "validation_failed"
    assert plain.send({"text": "alive"}).json["text"] == "alive"


@pytest.mark.parametrize("case", BAD_BODIES)
def test_a_bad_body_is_a_protocol_error_to_mcp(client: Client, case: str) -> None:
    answer = client.send(BAD_BODIES[case])
    assert answer.status == (413 if case == "10 MB" else 400)
    error = JSONRPCError.model_validate_json(answer.text)
    assert error.id is None
    assert error.error.code in {-32700, -32600}
    assert client.rpc("2026-07-28", "tools/list").status == 200


def nested(depth: int) -> dict[str, Any]:
    """Arguments of this many levels."""
    value: Any = "x"
    for _ in range(depth - 1):
        value = {"k": value}
    return {"text": "a", "source": value}


def test_arguments_nest_only_so_deep(plain: Client, client: Client) -> None:
    assert plain.send(nested(64)).status == 200
    answer = plain.send(nested(65))
    assert answer.json["error"]["code"] == "validation_failed"
    assert "deep" in answer.json["error"]["message"]
    params = {"name": "note", "arguments": nested(65)}
    assert client.rpc("2025-11-25", "tools/call", params).json["error"]["code"] == -32700


BAD_MESSAGES: dict[str, tuple[Any, int]] = {
    "batch": ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], -32600),
    "no version": ({"id": 1, "method": "ping"}, -32600),
    "old version": ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
    "null id": ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
    "fractional id": ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
    "boolean id": ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
    "lone surrogate in the id": ({"jsonrpc": "2.0", "id": "\ud800", "method": "ping"}, -32600),
    "no method": ({"jsonrpc": "2.0", "id": 1}, -32600),
    "a response": ({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600),
    "lone surrogate in the method": ({"jsonrpc": "2.0", "id": 1, "method": "\udfff"}, -32600),
    "params as a list": ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32602),
}


@pytest.mark.parametrize("case", BAD_MESSAGES)
def test_a_message_that_is_no_request_is_refused(client: Client, case: str) -> None:
    message, code = BAD_MESSAGES[case]
    answer = client.send(message)
    assert answer.status == 400
    assert JSONRPCError.model_validate_json(answer.text).error.code == code


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 3},
        {"name": "note", "arguments": []},
        {"name": "note", "arguments": "text"},
    ],
)
def test_a_malformed_call_is_a_protocol_error(client: Client, params: dict[str, Any]) -> None:
    answer = client.rpc("2026-07-28", "tools/call", params)
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32602


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/x-www-form-urlencoded"]
)
def test_another_content_type_is_refused(
    plain: Client, client: Client, content_type: str | None
) -> None:
    headers = {"content-type": content_type}
    assert plain.send({"text": "a"}, headers).json["error"]["code"] == "validation_failed"
    answer = client.rpc("2026-07-28", "tools/list", headers=headers)
    assert answer.status == 415
    assert answer.json["error"]["code"] == -32600


def test_a_charset_may_be_named_when_it_is_utf_8(plain: Client) -> None:
    for content_type, status in (
        ("application/json; charset=utf-8", 200),
        ('Application/JSON;charset="UTF-8"', 200),
        ("application/json; charset=latin-1", 400),
    ):
        assert plain.send({"text": "a"}, {"content-type": content_type}).status == status


@pytest.mark.parametrize(
    "text",
    ["\u00e9", "e\u0301", "日本語", "👩‍👩‍👧", "ﷺ", "\u202eabc", "a\r\nb\tc"],
)
def test_any_script_comes_back_byte_for_byte(plain: Client, client: Client, text: str) -> None:
    answer = plain.send(json.dumps({"text": text}, ensure_ascii=False))
    assert answer.json["text"] == text
    assert json.dumps(text, ensure_ascii=False) in answer.text
    params = {"name": "note", "arguments": {"text": text}}
    result = client.rpc("2025-11-25", "tools/call", params).json["result"]
    assert result["structuredContent"]["text"] == text
    assert json.loads(result["content"][0]["text"])["text"] == text


def test_an_unexpected_exception_says_nothing_but_an_id(
    token: str, client: Client, logged: list[logging.LogRecord]
) -> None:
    answer = Client(lambda_for(FAIL), token, path="/tools/fail").send({})
    assert answer.status == 500
    error = answer.json["error"]
    assert error["code"] == "internal"
    assert error["details"]["request_id"] in error["message"]
    assert error["details"]["request_id"] == answer.headers["x-request-id"]

    result = client.rpc("2026-07-28", "tools/call", {"name": "fail"}).json["result"]
    assert json.loads(result["content"][0]["text"])["error"]["code"] == "internal"

    said = json.dumps([record.__dict__ for record in logged], default=str)
    assert "RuntimeError" in said
    assert "fixtures.py:" in said
    for secret in (SECRET, "shibboleth", token):
        assert secret not in said + answer.text + json.dumps(result)


def test_a_failure_alone_is_counted_over_mcp_too_where_its_answer_is_a_200(
    home: bootstrap.Composition,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(home, "settings", Settings(home="aws"))
    for tool in ("fail", "note"):
        assert client.rpc("2026-07-28", "tools/call", {"name": tool}).status == 200

    (failures,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert failures["Failures"] == [1.0]
    assert failures["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]


def test_a_call_is_logged_without_what_was_in_it(
    plain: Client, token: str, logged: list[logging.LogRecord]
) -> None:
    plain.send({"text": "shibboleth"})
    plain.send({"text": "shibboleth", "more": 1})
    calls = [record.__dict__ for record in logged if record.msg == "call"]
    assert [(call["tool"], call["code"]) for call in calls] == [
        ("note", "ok"),
        ("note", "validation_failed"),
    ]
    said = json.dumps(calls, default=str)
    assert "shibboleth" not in said
    assert token not in said


def test_standard_output_is_left_alone(plain: Client, capfd: pytest.CaptureFixture[str]) -> None:
    plain.send({"text": "a"})
    assert capfd.readouterr().out == ""


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": st.integers() | st.text(max_size=8) | JSON_VALUES,
        "method": st.sampled_from(
            ["tools/call", "tools/list", "initialize", "server/discover", "resources/read", "ping"]
        )
        | JSON_VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.sampled_from(["note", "fail"]) | JSON_VALUES,
                "arguments": st.fixed_dictionaries({"text": JSON_VALUES}) | JSON_VALUES,
                "uri": JSON_VALUES,
                "cursor": JSON_VALUES,
                "protocolVersion": JSON_VALUES,
                "clientInfo": JSON_VALUES,
                "_meta": st.dictionaries(
                    st.sampled_from(
                        [
                            "io.modelcontextprotocol/protocolVersion",
                            "io.modelcontextprotocol/clientCapabilities",
                            "io.modelcontextprotocol/clientInfo",
                        ]
                    ),
                    st.sampled_from(["2026-07-28", "2025-11-25"]) | JSON_VALUES,
                )
                | JSON_VALUES,
            },
        )
        | JSON_VALUES,
    },
)
BODIES = (
    st.binary(max_size=200)
    | JSON_VALUES.map(lambda value: json.dumps(value).encode())
    | MESSAGES.map(lambda value: json.dumps(value).encode())
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.sampled_from(["2026-07-28", "2025-11-25", "", "v9"]),
        "mcp-method": st.sampled_from(["tools/call", "tools/list", ""]),
        "mcp-name": st.sampled_from(["note", "=?base64?bm90ZQ==?=", "=?base64??="]),
        "mcp-session-id": st.text(st.characters(codec="latin-1"), max_size=10),
    },
)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=BODIES, headers=HEADERS)
def test_whatever_comes_the_answer_is_valid(
    client: Client, body: bytes, headers: dict[str, str | None]
) -> None:
    answer = client.send(body, headers)
    if answer.status == 202:
        assert answer.text == ""
    elif answer.status == 200:
        model = JSONRPCError if "error" in answer.json else JSONRPCResponse
        model.model_validate_json(answer.text)
    else:
        assert answer.status in {400, 404}
        JSONRPCError.model_validate_json(answer.text)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=BODIES)
def test_whatever_comes_a_tool_answers_or_says_why_not(plain: Client, body: bytes) -> None:
    answer = plain.send(body)
    assert answer.status in {200, 400}
    assert (answer.status == 400) is ("error" in answer.json)
