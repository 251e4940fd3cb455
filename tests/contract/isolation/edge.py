"""The service's handlers in this process, and people who call them as API Gateway would."""

import json
import re
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.clock import ManualClock
from tests.hashing_embedder import HashingEmbedder
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.mcp.memory_resource import MEMORY
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.entry import lambda_for, mcp_handler
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import make_person, make_token
from zero_memory.scopes.model import GRANTS
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

HANDLERS = {tool.name: lambda_for(tool) for tool in (*TOOLS, *PEOPLES_TOOLS)}
PROTOCOL = mcp_handler(TOOLS, (MEMORY,))

VIEWS_BEHIND = 5


class Edge(Composition):
    """A process's ports, with a clock that stands still and an embedder that costs nothing."""

    def __init__(
        self,
        table: Table,
        index: SearchIndex,
        clock: ManualClock,
        folder: Path,
        settings: Settings | None = None,
    ) -> None:
        given = settings or Settings(log_level="CRITICAL")
        super().__init__(replace(given, data_dir=folder))
        self._manual = clock
        self._given_table = table
        self._given_index = index
        self.late_views = False

    @property
    def clock(self) -> ManualClock:
        return self._manual

    @property
    def table(self) -> Table:
        return self._given_table

    @property
    def index(self) -> SearchIndex:
        return self._given_index

    @property
    def embedder(self) -> HashingEmbedder:
        return HashingEmbedder()


@contextmanager
def edge(
    home: str, clock: ManualClock | None = None, settings: Settings | None = None
) -> Generator[Edge]:
    """The handlers of this process answer from a home of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if home.startswith("dynamodb"):
            from tests.homes import dynamo_home, dynamodb

            table: Table = dynamo_home(stack.enter_context(dynamodb()))
        else:
            behind = VIEWS_BEHIND if "late views" in home else 0
            table = SqliteTable(folder / "table.sqlite3", view_delay_writes=behind)
            stack.callback(table.close)
        if home.endswith("no index"):
            index: SearchIndex = TableIndex(table, limit=5_000)
        else:
            index = LocalIndex(folder / "index")
            stack.callback(index.close)
        made = Edge(table, index, clock or ManualClock(), folder, settings)
        made.late_views = "late views" in home
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bootstrap, "_composition", made)
            yield made


@dataclass(frozen=True)
class Answer:
    """An HTTP answer: status, headers, body as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def same(self) -> str:
        """The body without what differs from call to call: a fresh thread, a request's id."""
        return re.sub(r"thr_[0-9A-Z]+", "thr_", self.text)


@dataclass(frozen=True)
class Person:
    """Somebody who calls with a token of theirs."""

    id: str
    token: str = field(repr=False)

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        return send(HANDLERS[tool], f"/tools/{tool}", self.token, arguments)

    def does(self, tool: str, /, **arguments: Any) -> Any:
        """The result of a call that must work."""
        answer = self.call(tool, **arguments)
        assert answer.status == 200, (tool, arguments, answer.text)
        return answer.json

    def reads(self, uri: str) -> Answer:
        """A resource, over MCP without a session."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "resources/read",
            "params": {"uri": uri, "_meta": meta},
        }
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "resources/read",
            "mcp-name": uri,
        }
        return send(PROTOCOL, "/mcp", self.token, body, headers)

    @property
    def personal(self) -> str:
        return f"user.{self.id}"


def send(
    handler: Any, path: str, token: str, body: object, headers: Mapping[str, str] = {}
) -> Answer:
    event = {
        "version": "2.0",
        "routeKey": f"POST {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {
            "host": "127.0.0.1:8000",
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json",
            **headers,
        },
        "requestContext": {
            "http": {"method": "POST", "path": path, "sourceIp": "127.0.0.1"},
            "requestId": "req-1",
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }
    answer = handler(event, None)
    return Answer(answer["statusCode"], answer["headers"], answer["body"])


def arrives(at: Edge) -> Person:
    """A further person with a token that may do everything."""
    person = make_person(at.table, at.clock)
    token = make_token(at.table, at.clock, person, label="tests", grants=GRANTS)
    return Person(person.person, token)
