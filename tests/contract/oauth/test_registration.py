"""Clients that register themselves, and the official one from the first refusal to a call."""

import asyncio
import json
from collections.abc import Generator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client as SdkClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from moto import mock_aws
from pydantic import AnyUrl
from typing_extensions import override

from tests.contract.isolation.edge import PROTOCOL, Answer, Edge, Person
from tests.contract.oauth.issuer import Pool
from tests.samples import REPOSITORY
from zero_memory.adapters import cognito
from zero_memory.adapters.cognito import CognitoClients, cognito_client
from zero_memory.local.deployment import read_deployment, read_template
from zero_memory.local.gateway import HttpRequest, find_route, http_answer, http_event
from zero_memory.mcp.http import MAX_BODY_BYTES
from zero_memory.ports.oauth_clients import ClientsUnavailable
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.entry import oauth_handler
from zero_memory.scopes.logins import RESOURCE_SERVER, link_login, scope_of
from zero_memory.scopes.model import GRANTS

BASE = "https://memory.example"
HERE = "http://127.0.0.1:43210/callback"
OAUTH = oauth_handler()


@pytest.fixture
def idp(monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    for name, value in (
        ("AWS_DEFAULT_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
    ):
        monkeypatch.setenv(name, value)
    with mock_aws():
        yield cognito_client()


@pytest.fixture
def user_pool(idp: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The pool of the stack, where this process registers clients."""
    made: str = idp.create_user_pool(PoolName="people")["UserPool"]["Id"]
    scopes = [{"ScopeName": grant, "ScopeDescription": grant} for grant in GRANTS]
    idp.create_resource_server(
        UserPoolId=made, Identifier=RESOURCE_SERVER, Name=RESOURCE_SERVER, Scopes=scopes
    )
    clients = CognitoClients(idp, made)
    monkeypatch.setattr(Composition, "oauth_clients", property(lambda _: clients))
    return made


def registers(body: object) -> Answer:
    event = {
        "rawPath": "/oauth/register",
        "headers": {"host": "127.0.0.1", "content-type": "application/json"},
        "requestContext": {"http": {"method": "POST"}},
        "body": body if isinstance(body, str) else json.dumps(body),
    }
    answer = OAUTH(event, None)
    return Answer(answer["statusCode"], answer["headers"], answer["body"])


def test_a_client_without_a_secret_is_made_for_what_it_may_have(
    at: Edge, idp: Any, user_pool: str
) -> None:
    asked = {
        "client_name": "An agent",
        "redirect_uris": [HERE, "https://agent.example/callback"],
        "token_endpoint_auth_method": "client_secret_post",
        "scope": "zero-memory/admin",
        "logo_uri": "https://agent.example/logo",
    }
    answer = registers(asked)
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json
    assert told["token_endpoint_auth_method"] == "none"
    assert told["scope"] == "zero-memory/memory:read zero-memory/memory:write"
    assert "client_secret" not in told
    made = idp.describe_user_pool_client(UserPoolId=user_pool, ClientId=told["client_id"])
    client = made["UserPoolClient"]
    assert "ClientSecret" not in client
    assert client["CallbackURLs"] == asked["redirect_uris"]
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["AllowedOAuthScopes"] == told["scope"].split()


def test_the_same_client_is_made_once_and_there_is_room_for_so_many(
    at: Edge, user_pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cognito, "MAX_CLIENTS", 63)  # more than a page
    asked = {"client_name": "An agent", "redirect_uris": [HERE]}
    first = registers(asked).json["client_id"]
    assert registers(asked).json["client_id"] == first
    assert registers({**asked, "client_name": "Another"}).json["client_id"] != first
    for number in range(61):
        assert registers({**asked, "client_name": f"Number {number}"}).status == 201
    full = registers({**asked, "client_name": "One too many"})
    assert (full.status, full.json["error"]) == (503, "temporarily_unavailable")
    assert registers(asked).json["client_id"] == first


@pytest.mark.parametrize(
    "uri",
    [
        "https://stranger.example/callback",
        "http://stranger.example/callback",
        "http://127.0.0.1.stranger.example/callback",
        "http://localhost@stranger.example/",
        "http://127.0.0.1:1@stranger.example/",
        "http://127.0.0.1:x/",
        "http://[::1/",
        "https://agent.example/callback/../x",
        "https://agent.example",
        "https://127.0.0.1/callback",
        "http://127.0.0.1/#x",
        "javascript:alert(1)",
        "myapp://callback",
    ],
)
def test_codes_go_to_nobody_else(at: Edge, user_pool: str, uri: str) -> None:
    answer = registers({"redirect_uris": [HERE, uri]})
    assert (answer.status, answer.json["error"]) == (400, "invalid_redirect_uri")
    assert uri not in answer.text


@pytest.mark.parametrize(
    "uri", ["http://localhost:3000/cb", "http://[::1]:8080/", "https://agent.example/callback"]
)
def test_codes_go_to_one_s_own_machine_and_where_the_operator_allowed(
    at: Edge, user_pool: str, uri: str
) -> None:
    assert registers({"redirect_uris": [uri]}).status == 201


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        {},
        {"redirect_uris": []},
        {"redirect_uris": HERE},
        {"redirect_uris": [HERE] * 11},
        {"redirect_uris": [HERE + "x" * 1_000]},
        {"redirect_uris": [HERE], "client_name": "x" * 201},
        "[" * 100_000,
        {"redirect_uris": [HERE], "logo_uri": "x" * MAX_BODY_BYTES},
    ],
)
def test_what_is_no_registration_is_said_to_be_none(at: Edge, user_pool: str, body: object) -> None:
    answer = registers(body)
    assert (answer.status, answer.json["error"]) == (400, "invalid_client_metadata")


def test_a_pool_that_does_not_answer_is_tried_later(at: Edge, user_pool: str, idp: Any) -> None:
    idp.delete_user_pool(UserPoolId=user_pool)
    with pytest.raises(ClientsUnavailable):
        CognitoClients(idp, user_pool).register("x", [HERE], [])
    assert registers({"redirect_uris": [HERE]}).status == 503


def test_the_pool_of_the_stack_knows_every_grant() -> None:
    declared = read_template(REPOSITORY / "infra", "identity.yaml")["Resources"]["ResourceServer"]
    server = declared["Properties"]
    assert server["Identifier"] == RESOURCE_SERVER
    named = {f"{RESOURCE_SERVER}/{each['ScopeName']}" for each in server["Scopes"]}
    assert named == set(map(scope_of, GRANTS))


class Service(httpx2.AsyncBaseTransport):
    """The stack's routes, with this process's handlers behind them."""

    def __init__(self) -> None:
        self.handlers = {"mcp": PROTOCOL, "oauth": OAUTH}
        self.routes = read_deployment(REPOSITORY).routes
        self.asked: list[str] = []

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked.append(f"{request.method} {path}")
        route = find_route(self.routes, request.method, path)
        if route is None:
            return httpx2.Response(404, request=request)
        # The API's own host name is not the one that the client knows.
        others = (pair for pair in request.headers.raw if pair[0].lower() != b"host")
        got = HttpRequest(
            method=request.method,
            path=path,
            query="",
            headers=(*others, (b"host", b"127.0.0.1")),
            body=await request.aread(),
            protocol="HTTP/1.1",
            source_ip="127.0.0.1",
        )
        answer = http_answer(self.handlers[route.function.name](http_event(got, route), None))
        return httpx2.Response(
            answer.status, headers=list(answer.headers), content=answer.body, request=request
        )


class Kept:
    """Where the client keeps what it was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def test_the_official_client_discovers_registers_signs_in_and_calls(
    at: Edge, pool: Pool, ada: Person, idp: Any, user_pool: str
) -> None:
    link_login(at.table, ada.id, pool.url, pool.subject)
    pool.redirects = lambda client: idp.describe_user_pool_client(
        UserPoolId=user_pool, ClientId=client
    )["UserPoolClient"]["CallbackURLs"]
    service = Service()
    scope = asyncio.run(remembers(service))
    assert scope == ada.personal
    assert [each for each in service.asked if "/mcp" not in each or "well-known" in each] == [
        "GET /.well-known/oauth-protected-resource/mcp",
        "GET /.well-known/oauth-authorization-server",
        "POST /oauth/register",
    ]


async def remembers(service: Service) -> str:
    """Where a memory goes that the SDK's client stores, signing in as it is told to."""
    back: list[str] = []

    async def browse(url: str) -> None:
        async with httpx2.AsyncClient() as browser:
            back.append((await browser.get(url)).headers["location"])

    async def called_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(back.pop()).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])

    auth = OAuthClientProvider(
        server_url=f"{BASE}/mcp",
        client_metadata=OAuthClientMetadata(
            client_name="The official client", redirect_uris=[AnyUrl(HERE)]
        ),
        storage=Kept(),
        redirect_handler=browse,
        callback_handler=called_back,
    )
    async with (
        httpx2.AsyncClient(auth=auth, mounts={BASE: service}) as http,
        SdkClient(streamable_http_client(f"{BASE}/mcp", http_client=http)) as client,
    ):
        arguments = {"content": "Signed in by OAuth", "scope": "personal"}
        result = await client.call_tool("remember", arguments)
        assert result.structured_content is not None
        return result.structured_content["scope"]
