"""What headers must say: revision and name as in the body, a Host and Origin of ours, a token."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from tests.contract.mcp.fixtures import META, NOTE, TOOLS, Client
from zero_memory.runtime import bootstrap
from zero_memory.runtime.entry import lambda_for, mcp_handler

HEADER_MISMATCH = -32020
UNSUPPORTED = -32022
NEW = "2026-07-28"
CALL = {"name": "note", "arguments": {"text": "x"}}


def encoded(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-method": None},
        {"mcp-method": "tools/list"},
        {"mcp-method": "TOOLS/CALL"},
        {"mcp-method": "tools/call,tools/call"},
        {"mcp-name": None},
        {"mcp-name": "fail"},
        {"mcp-name": encoded("fail")},
        {"mcp-name": "=?base64?bm90ZQ?="},
        {"mcp-name": "=?base64?!!!?="},
        {"mcp-name": "=?base64?bm90ZR==?="},
        {"mcp-name": "=?BASE64?bm90ZQ==?="},
        {"mcp-protocol-version": None},
        {"mcp-protocol-version": "2025-11-25"},
        {"mcp-protocol-version": "v999"},
    ],
)
def test_a_header_that_differs_from_the_body_is_refused(
    client: Client, headers: dict[str, str | None]
) -> None:
    answer = client.rpc(NEW, "tools/call", CALL, headers)
    assert answer.status == 400
    assert answer.json["error"]["code"] == HEADER_MISMATCH
    assert answer.json["id"] == 7


@pytest.mark.parametrize("name", ["note", "  note  ", encoded("note")])
def test_a_name_may_come_padded_or_encoded(client: Client, name: str) -> None:
    answer = client.rpc(NEW, "tools/call", CALL, {"Mcp-Name": name})
    assert answer.json["result"]["isError"] is False


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        "text",
        {key: value for key, value in META.items() if not key.endswith("protocolVersion")},
        {key: value for key, value in META.items() if not key.endswith("clientCapabilities")},
        {**META, "io.modelcontextprotocol/clientCapabilities": []},
    ],
)
def test_2026_07_28_needs_its_meta(client: Client, meta: Any) -> None:
    answer = client.rpc(NEW, "tools/list", {"_meta": meta})
    assert answer.status == 400
    assert answer.json["error"]["code"] == -32602


def test_a_client_may_keep_its_name_to_itself(client: Client) -> None:
    meta = {key: value for key, value in META.items() if not key.endswith("clientInfo")}
    assert client.rpc(NEW, "tools/list", {"_meta": meta}).status == 200


@pytest.mark.parametrize("version", ["v999.0.0", "2027-01-01"])
def test_an_unknown_revision_is_told_those_that_are_spoken(client: Client, version: str) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
    answer = client.rpc(NEW, "tools/list", {"_meta": meta}, {"mcp-protocol-version": version})
    assert answer.status == 400
    error = answer.json["error"]
    assert error["code"] == UNSUPPORTED
    assert error["data"] == {
        "supported": ["2026-07-28", "2025-11-25", "2025-06-18"],
        "requested": version,
    }


@pytest.mark.parametrize("version", ["2025-03-26", "2024-11-05", "v999"])
def test_an_older_revision_is_not_served_by_its_header(client: Client, version: str) -> None:
    answer = client.rpc(version, "tools/list")
    assert answer.status == 400
    assert answer.json["error"]["code"] == UNSUPPORTED


def test_without_a_version_header_2025_06_18_is_served(client: Client) -> None:
    answer = client.rpc("", "tools/list", headers={"mcp-protocol-version": None})
    assert answer.status == 200
    assert "resultType" not in answer.json["result"]


def test_an_initialize_negotiates_whatever_its_header_says(client: Client) -> None:
    params: dict[str, Any] = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
    answer = client.rpc("2025-03-26", "initialize", params)
    assert answer.json["result"]["protocolVersion"] == "2025-06-18"


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25", None])
def test_a_notification_is_accepted_without_an_answer(client: Client, version: str | None) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = client.send(body, {"mcp-protocol-version": version})
    assert (answer.status, answer.text) == (202, "")
    assert client.send(body, {"mcp-protocol-version": "v999"}).status == 400


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD", "PUT", "OPTIONS"])
def test_other_methods_are_not_allowed_and_say_what_is(client: Client, method: str) -> None:
    answer = client.send(b"", method=method)
    assert answer.status == 405
    assert answer.headers["allow"] == "POST"
    assert (answer.text == "") is (method == "HEAD")


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (None, 200),
        ("*/*", 200),
        ("application/*;q=0.5", 200),
        ("application/json", 200),
        ("text/event-stream", 406),
        ("text/html", 406),
    ],
)
def test_answers_are_json_for_those_who_take_it(
    client: Client, accept: str | None, status: int
) -> None:
    answer = client.rpc("2025-11-25", "tools/list", headers={"accept": accept})
    assert answer.status == status


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example.com"},
        {"host": "evil.example.com:8000"},
        {"host": "127.0.0.1.evil.example.com"},
        {"host": "127.0.0.1@evil.example.com"},
        {"host": "evil.example.com@127.0.0.1"},
        {"host": "127.0.0.1/evil.example.com"},
        {"host": "localhost:port"},
        {"host": ""},
        {"host": None},
        {"origin": "http://evil.example.com"},
        {"origin": "http://127.0.0.1.evil.example.com"},
        {"origin": "http://127.0.0.1@evil.example.com"},
        {"origin": "http://evil.example.com@127.0.0.1"},
        {"origin": "http://127.0.0.1/evil.example.com"},
        {"origin": "null"},
        {"origin": ""},
    ],
)
def test_a_foreign_host_or_origin_is_forbidden(
    client: Client, headers: dict[str, str | None]
) -> None:
    for token in (client.token, "nonsense"):
        answer = client.rpc(NEW, "tools/list", headers={**headers, "authorization": token})
        assert answer.status == 403
        assert answer.json["error"]["code"] == "forbidden"


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8000", "origin": "http://localhost:3000"},
        {"host": "LOCALHOST"},
        {"host": "[::1]:8000", "origin": "https://[::1]:8000"},
        {"origin": None},
    ],
)
def test_this_machine_may_call(client: Client, headers: dict[str, str | None]) -> None:
    assert client.rpc(NEW, "tools/list", headers=headers).status == 200


@pytest.fixture
def behind_an_api(home: bootstrap.Composition) -> Iterator[None]:
    origins = ("https://board.example",)
    bootstrap.use(replace(home.settings, allowed_hosts=(), allowed_origins=origins))
    yield
    bootstrap.use(home.settings)


@pytest.mark.usefixtures("behind_an_api")
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("https://api.example", 200),
        ("https://board.example", 200),
        ("https://evil.example", 403),
    ],
)
def test_behind_an_api_ones_own_origin_and_the_welcome_ones_may_call(
    token: str, origin: str | None, status: int
) -> None:
    client = Client(mcp_handler(TOOLS), token, host="api.example")
    assert client.rpc(NEW, "tools/list", headers={"origin": origin}).status == status


@pytest.mark.usefixtures("behind_an_api")
@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://edge.example", 200), ("https://api.example", 200), ("https://evil.example", 403)],
)
def test_behind_an_edge_the_origin_that_it_was_asked_for_is_ones_own(
    token: str, origin: str, status: int
) -> None:
    client = Client(mcp_handler(TOOLS), token, host="api.example")
    headers = {"origin": origin, "x-forwarded-host": "edge.example"}
    assert client.rpc(NEW, "tools/list", headers=headers).status == status


def test_on_a_machine_a_forwarded_host_makes_no_origin_welcome(client: Client) -> None:
    headers = {"origin": "https://evil.example", "x-forwarded-host": "evil.example"}
    assert client.rpc(NEW, "tools/list", headers=headers).status == 403


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Basic Zm9vOmJhcg==", "Bearer nonsense", "Bearer zmt_a_b"],
)
def test_nobody_gets_in_without_a_token(client: Client, authorization: str | None) -> None:
    answer = client.rpc(NEW, "tools/list", headers={"authorization": authorization})
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json["error"]["code"] == "unauthorized"


def test_a_token_gives_only_what_it_holds(client: Client) -> None:
    result = client.rpc(NEW, "tools/call", {"name": "admin_only"}).json["result"]
    assert result["isError"] is True
    assert '"code": "forbidden"' in result["content"][0]["text"]


class TestOneToolsOwnPlace:
    @pytest.fixture
    def place(self, token: str) -> Client:
        return Client(lambda_for(NOTE), token, path="/mcp/tools/note")

    def test_it_answers_the_call_that_a_router_sent(self, place: Client) -> None:
        result = place.rpc(NEW, "tools/call", CALL).json["result"]
        assert result["structuredContent"]["text"] == "x"

    def test_it_checks_the_headers_itself(self, place: Client) -> None:
        answer = place.rpc(NEW, "tools/call", CALL, {"mcp-name": "fail"})
        assert answer.json["error"]["code"] == HEADER_MISMATCH

    def test_it_knows_no_other_tool_and_no_other_method(self, place: Client) -> None:
        other = place.rpc(NEW, "tools/call", {"name": "fail"})
        assert other.json["error"]["code"] == -32602
        for method in ("tools/list", "server/discover", "initialize"):
            assert place.rpc(NEW, method).json["error"]["code"] == -32601
