"""Who calls with an access token, and what a refusal tells their client, at the edge."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from tests.clock import ManualClock
from tests.contract.isolation.edge import PROTOCOL, Answer, Edge, Person, send
from tests.contract.oauth.issuer import Pool
from zero_memory.portability.departure import remove_person
from zero_memory.runtime.entry import oauth_handler
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import list_people, set_disabled
from zero_memory.scopes.logins import link_login, scope_of, unlink_login
from zero_memory.scopes.model import GRANTS, Login

READ, WRITE = "zero-memory/memory:read", "zero-memory/memory:write"
MCP = "https://memory.example/mcp"
METADATA = "https://memory.example/.well-known/oauth-protected-resource/mcp"


@pytest.fixture
def linked(at: Edge, pool: Pool, ada: Person) -> Person:
    """Ada, who may sign in."""
    link_login(at.table, ada.id, pool.url, pool.subject)
    return ada


def by(token: str) -> Person:
    return Person("", token)


def over_mcp(token: str, tool: str, **arguments: Any) -> Answer:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    return send(PROTOCOL, "/mcp", token, body, headers)


def ask(path: str) -> Answer:
    event = {
        "rawPath": path,
        "headers": {"host": "127.0.0.1"},
        "requestContext": {"http": {"method": "GET"}},
    }
    answer = oauth_handler()(event, None)
    return Answer(answer["statusCode"], answer["headers"], answer["body"])


def test_who_was_linked_calls_as_that_person(pool: Pool, linked: Person) -> None:
    signed = by(pool.signs(f"{READ} {WRITE}", aud=MCP))
    memory = signed.does("remember", content="Signed in", scope="personal")
    assert memory["scope"] == linked.personal
    assert linked.does("recall", ids=[memory["id"]])["memories"][0]["author"] == linked.id


def test_a_token_of_no_audience_does_when_it_holds_a_scope_of_ours(
    pool: Pool, linked: Person
) -> None:
    assert by(pool.signs(READ)).call("describe_scope").status == 200


def test_a_token_that_does_not_do_is_challenged_like_none(
    at: Edge, pool: Pool, linked: Person, clock: ManualClock
) -> None:
    tokens = (
        "nonsense",
        pool.signs(READ, aud="https://elsewhere.example/mcp"),
        pool.signs(READ, aud=["https://elsewhere.example/mcp", "https://other.example"]),
        pool.signs("memory:read"),
        pool.signs("elsewhere/memory:read"),
        pool.signs(READ, exp=clock.at // 1_000),
        pool.signs(READ, token_use="id"),
    )
    answers = [by(token).call("describe_scope") for token in tokens]
    assert {(each.status, each.text) for each in answers} == {(401, answers[0].text)}
    says = f'scope="{READ} {WRITE}", resource_metadata="{METADATA}"'
    for each in answers:
        challenge = each.headers["www-authenticate"]
        assert challenge == f'Bearer realm="zero-memory", error="invalid_token", {says}'
    none = send(PROTOCOL, "/mcp", "", {}, {"authorization": ""})
    assert none.status == 401
    assert none.headers["www-authenticate"] == f'Bearer realm="zero-memory", {says}'


def test_nobody_chooses_the_audience_by_a_header(at: Edge, pool: Pool, linked: Person) -> None:
    at.settings = structs.replace(at.settings, public_url="")
    token = pool.signs(READ, aud="https://elsewhere.example/mcp")
    forged = {"x-forwarded-host": "elsewhere.example"}
    assert send(PROTOCOL, "/mcp", token, {}, forged).status == 401


def test_a_call_for_which_somebody_did_not_sign_in_asks_for_its_scope(
    pool: Pool, linked: Person
) -> None:
    token = pool.signs(READ, aud=MCP)
    over_http = by(token).call("remember", content="x", scope="personal")
    for refused in (over_http, over_mcp(token, "remember", content="x", scope="personal")):
        assert refused.status == 403
        assert refused.json["error"]["code"] == "forbidden"
        assert refused.headers["www-authenticate"] == (
            f'Bearer realm="zero-memory", error="insufficient_scope", scope="{READ} {WRITE}", '
            f'resource_metadata="{METADATA}"'
        )


def test_what_no_client_can_ask_for_is_refused_without_a_challenge(
    pool: Pool, linked: Person
) -> None:
    token = pool.signs(f"{READ} {WRITE}", aud=MCP)
    over_http = by(token).call("delete_account", confirm="x")
    assert over_http.status == 403
    assert "www-authenticate" not in over_http.headers
    told = over_mcp(token, "delete_account", confirm="x")
    assert told.status == 200
    assert told.json["result"]["isError"]


def test_every_grant_has_its_scope(pool: Pool, linked: Person) -> None:
    everything = pool.signs(" ".join(map(scope_of, GRANTS)), aud=MCP)
    assert by(everything).call("manage_tokens", action="list").status == 200


def test_a_stranger_a_disabled_and_an_unlinked_person_are_refused_alike(
    at: Edge, pool: Pool, linked: Person
) -> None:
    token = pool.signs(READ, aud=MCP)
    stranger = by(pool.signs(READ, aud=MCP, sub="sub-nobody")).call("describe_scope")
    assert by(token).call("describe_scope").status == 200
    set_disabled(at.table, linked.id, disabled=True)
    disabled = by(token).call("describe_scope")
    set_disabled(at.table, linked.id, disabled=False)
    assert by(token).call("describe_scope").status == 200
    unlink_login(at.table, linked.id, pool.url, pool.subject)
    unlinked = by(token).call("describe_scope")
    for each in (stranger, disabled, unlinked):
        assert (each.status, each.text) == (403, stranger.text)
        assert "www-authenticate" not in each.headers


def test_the_subject_of_another_issuer_is_another(at: Edge, pool: Pool, ada: Person) -> None:
    link_login(at.table, ada.id, "https://elsewhere.example", pool.subject)
    assert by(pool.signs(READ)).call("describe_scope").status == 403


def test_with_sign_up_a_client_s_first_request_makes_one_person(at: Edge, pool: Pool) -> None:
    token = pool.signs(READ, aud=MCP)
    assert over_mcp(token, "describe_scope").status == 403
    at.settings = structs.replace(at.settings, oauth_sign_up=True)
    # Where a client begins; a tool's own function may write nothing.
    assert by(token).call("describe_scope").status == 403
    for _ in range(2):
        assert over_mcp(token, "describe_scope").status == 200
    assert by(token).call("describe_scope").status == 200
    assert len(list_people(at.table).records) == 1
    (person,) = list_people(at.table).records
    set_disabled(at.table, person.person, disabled=True)
    assert over_mcp(token, "describe_scope").status == 403


def test_sign_ins_go_with_the_account(at: Edge, pool: Pool, linked: Person) -> None:
    remove_person(at.table, linked.id)
    assert at.table.get(Login, pool.url, pool.subject) is None
    assert by(pool.signs(READ)).call("describe_scope").status == 403


def test_an_issuer_that_is_away_is_said_to_be(at: Edge, pool: Pool, linked: Person) -> None:
    pool.away = True
    answer = by(pool.signs(READ)).call("describe_scope")
    assert answer.status == 500
    assert "signed in" in answer.json["error"]["message"]
    assert linked.call("describe_scope").status == 200


def test_the_metadata_names_the_resource_and_where_people_sign_in(at: Edge, pool: Pool) -> None:
    root, mcp = (ask(f"/.well-known/oauth-protected-resource{path}") for path in ("", "/mcp"))
    assert root.json == mcp.json
    assert mcp.status == 200
    assert mcp.json == {
        "resource": MCP,
        "resource_name": "zero-memory",
        "authorization_servers": ["https://memory.example"],
        "scopes_supported": [READ, WRITE],
        "bearer_methods_supported": ["header"],
    }
    server = ask("/.well-known/oauth-authorization-server").json
    assert server["issuer"] == "https://memory.example"
    assert server["authorization_endpoint"] == f"{pool.url}/oauth2/authorize"
    assert server["registration_endpoint"] == "https://memory.example/oauth/register"
    assert "client_id_metadata_document_supported" not in server


def test_where_nobody_signs_in_nothing_is_said_of_it(at: Edge, pool: Pool, ada: Person) -> None:
    at.settings = Settings(log_level="CRITICAL")
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/oauth/register",
    ):
        assert ask(path).status == 404
    refused = by(pool.signs(READ)).call("describe_scope")
    assert refused.status == 401
    assert refused.headers["www-authenticate"] == 'Bearer realm="zero-memory"'


def test_a_personal_token_works_beside(at: Edge, linked: Person) -> None:
    assert linked.call("describe_scope").status == 200
    refused = replace(linked, token="zmt_nothing").call("describe_scope")
    assert refused.status == 401
    assert "resource_metadata" in refused.headers["www-authenticate"]
    assert "Sign in" not in refused.json["error"]["message"]
