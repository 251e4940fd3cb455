"""Every answer of every method, at every revision, against the official wire types."""

import json
from collections.abc import Mapping
from typing import Any

import mcp_types
import pytest
from mcp_types import methods
from mcp_types.jsonrpc import JSONRPCError, JSONRPCResponse

from tests.contract.mcp.fixtures import RESOURCES, TOOLS, Client

REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18")
HANDSHAKE = REVISIONS[1:]
NOTED = {"name": "note", "arguments": {"text": "grün 🌱"}}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("tools/call", NOTED),
    ("tools/call", {"name": "test_error_handling"}),
    ("tools/call", {"name": "fail", "arguments": {}}),
    ("tools/call", {"name": "note", "arguments": {"text": 3}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "test://static-text"}),
)


def result_of(
    client: Client, revision: str, method: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    answer = client.rpc(revision, method, params)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    response = JSONRPCResponse.model_validate_json(answer.text)
    assert response.id == 7
    methods.parse_server_result(method, revision, response.result)
    return response.result


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("method", "params"), CALLS, ids=lambda value: str(value)[:40])
def test_every_result_is_of_its_revisions_wire_type(
    client: Client, revision: str, method: str, params: dict[str, Any]
) -> None:
    result = result_of(client, revision, method, params)
    stateless = revision == "2026-07-28"
    assert ("resultType" in result) is stateless
    assert ("ttlMs" in result) is (stateless and method != "tools/call")


def test_discover_answers_what_initialize_does_without_a_handshake(client: Client) -> None:
    result = result_of(client, "2026-07-28", "server/discover", {})
    assert result["supportedVersions"] == list(REVISIONS)
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "zero-memory"
    assert set(result["capabilities"]) == {"tools", "resources"}


@pytest.mark.parametrize(
    ("offered", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-06-18"),
        ("2024-11-05", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
    ],
)
def test_initialize_answers_the_nearest_revision_and_a_session(
    client: Client, offered: str, answered: str
) -> None:
    params = {
        "protocolVersion": offered,
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = client.send(body)
    assert answer.status == 200
    result = JSONRPCResponse.model_validate_json(answer.text).result
    methods.parse_server_result("initialize", answered, result)
    assert result["protocolVersion"] == answered
    assert len(answer.headers["mcp-session-id"]) >= 32
    assert client.send(body).headers["mcp-session-id"] != answer.headers["mcp-session-id"]


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_ping_is_answered_where_it_exists(client: Client, revision: str) -> None:
    assert result_of(client, revision, "ping", {}) == {}


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "nonsense"])
def test_a_method_that_a_revision_lacks_is_not_found(client: Client, method: str) -> None:
    answer = client.rpc("2026-07-28", method)
    assert answer.status == 404
    assert JSONRPCError.model_validate_json(answer.text).error.code == mcp_types.METHOD_NOT_FOUND


@pytest.mark.parametrize("method", ["prompts/list", "server/discover", "nonsense"])
def test_the_2025_revisions_say_the_same_in_a_working_transport(
    client: Client, method: str
) -> None:
    answer = client.rpc("2025-11-25", method)
    assert answer.status == 200
    assert JSONRPCError.model_validate_json(answer.text).error.code == mcp_types.METHOD_NOT_FOUND


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_unknown_tool_is_a_protocol_error(client: Client, revision: str) -> None:
    answer = client.rpc(revision, "tools/call", {"name": "shibboleth", "arguments": {}})
    error = JSONRPCError.model_validate_json(answer.text)
    assert error.error.code == mcp_types.INVALID_PARAMS
    assert error.id == 7
    assert "note" in error.error.message
    assert "shibboleth" not in answer.text
    assert answer.status == (400 if revision == "2026-07-28" else 200)


@pytest.mark.parametrize(("revision", "code"), [("2026-07-28", -32602), ("2025-11-25", -32002)])
def test_an_unknown_resource_is_named_in_the_errors_data(
    client: Client, revision: str, code: int
) -> None:
    uri = "test://static-nothing"
    answer = client.rpc(revision, "resources/read", {"uri": uri})
    error = JSONRPCError.model_validate_json(answer.text).error
    assert error.code == code
    assert error.data["uri"] == uri


@pytest.mark.parametrize(("revision", "code"), [("2026-07-28", -32602), ("2025-11-25", -32002)])
@pytest.mark.parametrize("uri", ["test://{}", "test://static-{}", "test://template/{}/data"])
def test_a_uri_that_holds_a_secret_is_not_repeated(
    client: Client, revision: str, code: int, uri: str
) -> None:
    secret = "ghp_" + "0aZ9bY8cX7dW6eV5fU4gT3hS2iR1jQ0kP9lO"
    answer = client.rpc(revision, "resources/read", {"uri": uri.format(secret)})
    assert JSONRPCError.model_validate_json(answer.text).error.code == code
    assert secret not in answer.text


def test_lists_have_one_page(client: Client) -> None:
    answer = client.rpc("2026-07-28", "tools/list", {"cursor": "x"})
    assert answer.json["error"]["code"] == mcp_types.INVALID_PARAMS


def test_tools_are_listed_by_name_with_what_they_may_do(client: Client) -> None:
    tools = result_of(client, "2025-11-25", "tools/list", {})["tools"]
    assert [tool["name"] for tool in tools] == sorted(tool.name for tool in TOOLS)
    note = next(tool for tool in tools if tool["name"] == "note")
    assert note["annotations"] == {
        "title": "Note",
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": False,
        "openWorldHint": False,
    }
    assert note["outputSchema"]["required"] == ["text", "places", "session"]


def test_resource_templates_are_listed(client: Client) -> None:
    listed = result_of(client, "2026-07-28", "resources/templates/list", {})
    shown = [template["uriTemplate"] for template in listed["resourceTemplates"]]
    assert shown == [template.uri_template for template in RESOURCES]


def test_text_and_structured_content_say_the_same_in_the_same_order(client: Client) -> None:
    arguments = {"text": "grün 🌱 é", "places": [{"shelf": "a"}, {"shelf": "b", "row": 2}]}
    result = result_of(client, "2025-11-25", "tools/call", {"name": "note", "arguments": arguments})
    (block,) = result["content"]
    assert json.dumps(json.loads(block["text"])) == json.dumps(result["structuredContent"])
    assert result["structuredContent"]["places"] == ["a/1", "b/2"]
    assert "grün 🌱 é" in block["text"]


def test_a_refused_call_carries_the_error_body_as_text_alone(client: Client) -> None:
    result = result_of(client, "2026-07-28", "tools/call", {"name": "test_error_handling"})
    assert result["isError"] is True
    assert "structuredContent" not in result
    assert json.loads(result["content"][0]["text"]) == {
        "error": {
            "code": "conflict",
            "message": "The state changed. Read again.",
            "details": {"holder": "mem_1"},
        }
    }


def test_an_optional_field_that_says_nothing_is_left_out_and_a_required_one_is_null(
    client: Client,
) -> None:
    answer = client.rpc("2025-11-25", "tools/call", NOTED)
    structured = answer.json["result"]["structuredContent"]
    assert structured == {"text": "grün 🌱", "places": [], "session": None}


def test_a_session_of_the_2025_revisions_reaches_the_tool_whatever_it_is(client: Client) -> None:
    answer = client.rpc("2025-11-25", "tools/call", NOTED, {"Mcp-Session-Id": "of-another-life"})
    assert answer.json["result"]["structuredContent"]["session"] == "of-another-life"


def test_2026_07_28_knows_no_session_and_names_its_client_each_time(client: Client) -> None:
    answer = client.rpc("2026-07-28", "tools/call", NOTED, {"Mcp-Session-Id": "ignored"})
    structured = answer.json["result"]["structuredContent"]
    assert structured["session"] is None
    assert structured["client"] == "tests/1"
    assert "mcp-session-id" not in answer.headers
