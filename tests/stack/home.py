"""A home of the service as its callers see it, and a person there."""

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import httpx
import httpx2
import mcp.client.session
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from zero_memory.adapters.clock import SystemClock
from zero_memory.memory.model import PendingMarker
from zero_memory.ports.table import Table
from zero_memory.scopes.identity import make_person, make_token
from zero_memory.scopes.model import GRANTS

Revision = Literal["2026-07-28", "2025-11-25", "2025-06-18"]

CALL_S = 60
SETTLED_S = 90
POLL_S = 0.25


@dataclass(frozen=True)
class Home:
    """Where the service is, what it says of its search, and the table that it keeps all in."""

    api_url: str
    search: Literal["local", "none", "domain"]
    table: Table

    def someone(self) -> "Someone":
        """A new person with a token that may do everything."""
        clock = SystemClock()
        person = make_person(self.table, clock)
        token = make_token(self.table, clock, person, label="tests", grants=GRANTS)
        return Someone(self, token)


@dataclass(frozen=True)
class Someone:
    """A person, and their token."""

    home: Home
    token: str

    def asks(self, tool: str, **arguments: Any) -> httpx.Response:
        """What the service answers to a tool's call over plain HTTP."""
        return httpx.post(
            f"{self.home.api_url}/tools/{tool}",
            json=arguments,
            headers=self._headers,
            timeout=CALL_S,
        )

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that succeeds."""
        answer = self.asks(tool, **arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def remembers(self, content: str, **arguments: Any) -> str:
        """The id of what is remembered now, in the personal scope."""
        return self.call("remember", content=content, scope="personal", **arguments)["id"]

    def finds(self, query: str, **arguments: Any) -> list[str]:
        """The ids of a recall's hits, which was not degraded."""
        found = self.call("recall", query=query, **arguments)
        assert not found["degraded"], found["degraded_reason"]
        return [hit["id"] for hit in found["hits"]]

    def scopes(self) -> list[str]:
        """The ids of the person's scopes."""
        return [scope["id"] for scope in self.call("describe_scope")["scopes"]]

    def settle(self) -> None:
        """Wait until the index and the views of the table have all of the person's writes."""
        scopes = self.scopes()
        deadline = time.monotonic() + SETTLED_S
        while any(self.home.table.query(PendingMarker, scope).records for scope in scopes):
            assert time.monotonic() < deadline, "the index stays behind"
            time.sleep(POLL_S)

    @asynccontextmanager
    async def connected(
        self, revision: Revision, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncGenerator[Client]:
        """The official client, which speaks a revision."""
        mode = "legacy"
        if revision == "2026-07-28":
            mode = revision
        else:
            # A client offers its newest revision with a handshake; an older one had this.
            monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", revision)
        async with (
            httpx2.AsyncClient(headers=self._headers, timeout=CALL_S) as http,
            Client(
                streamable_http_client(f"{self.home.api_url}/mcp", http_client=http), mode=mode
            ) as client,
        ):
            assert client.protocol_version == revision
            yield client

    @property
    def _headers(self) -> Mapping[str, str]:
        return {"authorization": f"Bearer {self.token}"}


async def result(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return cast("dict[str, Any]", answer.structured_content)
