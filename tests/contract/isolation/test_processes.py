"""Conversations and tokens over stateless requests, each of which may land on another process."""

import itertools
import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import pytest

from tests.clock import ManualClock
from tests.contract.isolation.edge import Answer
from tests.samples import REPOSITORY
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.scopes.identity import make_person, make_token
from zero_memory.scopes.model import GRANTS

NEW = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class Processes:
    """Two processes of one home, which take requests in turns."""

    processes: list["subprocess.Popen[str]"]
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.turns = itertools.cycle(self.processes)

    def post(
        self,
        tool: str | None,
        token: str,
        body: object,
        headers: Mapping[str, str] = {},
        process: "subprocess.Popen[str] | None" = None,
    ) -> Answer:
        """What the next process answers, or the one that is named."""
        chosen = process or next(self.turns)
        asked = {"at": self.clock.at, "tool": tool, "token": token, "body": body}
        cast("IO[str]", chosen.stdin).write(json.dumps({**asked, "headers": headers}) + "\n")
        cast("IO[str]", chosen.stdin).flush()
        return Answer(*json.loads(cast("IO[str]", chosen.stdout).readline()))


@dataclass(frozen=True)
class Agent:
    """Somebody's agent, over MCP without a session."""

    processes: Processes
    person: str
    token: str = field(repr=False)

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured result of a tool, or the body of its refusal."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": tool}
        result = self.processes.post(None, self.token, body, headers).json["result"]
        return json.loads(result["content"][0]["text"])

    def writes(self, content: str, **arguments: Any) -> str:
        """The scope that a write goes to, or the beginning of the refusal."""
        answer = self.call("remember", content=content, **arguments)
        return answer["scope"] if "scope" in answer else answer["error"]["message"].split()[0]

    def path(self, slug: str) -> str:
        return f"proj.{self.person}.{slug}"


@pytest.fixture(scope="module")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "table.sqlite3"


@pytest.fixture(scope="module")
def processes(table_file: Path) -> Generator[Processes]:
    command = [sys.executable, "-m", "tests.contract.isolation.process", str(table_file)]
    SqliteTable(table_file).close()
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    command,
                    cwd=REPOSITORY,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(2)
        ]
        yield Processes(started)


@pytest.fixture
def arrive(processes: Processes, table_file: Path) -> Generator[Any]:
    table = SqliteTable(table_file)

    def make() -> Agent:
        person = make_person(table, processes.clock)
        token = make_token(table, processes.clock, person, label="tests", grants=GRANTS)
        return Agent(processes, person.person, token)

    yield make
    table.close()


def test_a_thread_finds_its_project_in_every_process_and_renews_and_lapses(arrive: Any) -> None:
    ada: Agent = arrive()
    clock = ada.processes.clock
    ada.writes("Made", project_hint="git@github.com:acme/web.git")
    session = ada.call("recall", query="x", project_hint="https://github.com/acme/web")["session"]
    thread = session["thread"]
    for number in range(3):  # 60 hours in all: each use within 24 hours renews
        clock.advance(hours=20)
        assert ada.writes(f"Fact {number}", thread=thread) == ada.path("web")
    clock.advance(hours=24, seconds=1)
    assert ada.writes("Too late", thread=thread) == "scope_target_required:"
    assert ada.writes("Again", thread=thread, project_hint="web") == ada.path("web")
    assert ada.writes("And on", thread=thread) == ada.path("web")


def test_another_accounts_thread_is_nothing(arrive: Any) -> None:
    ada, ben = arrive(), arrive()
    thread = ada.call("remember", content="Made", project_hint="web")["session"]["thread"]
    assert ada.writes("Mine", thread=thread) == ada.path("web")
    assert ben.writes("Not mine", thread=thread) == "scope_target_required:"
    answer = ben.call("recall", query="x", thread=thread)
    assert answer["session"]["attached_project"] is None


def test_scope_then_hint_then_thread_say_where_a_write_goes(arrive: Any) -> None:
    ada: Agent = arrive()
    thread = ada.call("remember", content="Made", project_hint="web")["session"]["thread"]
    ada.writes("Another", project_hint="api")
    api, shop = ada.path("api"), ada.path("shop")
    assert ada.writes("A", thread=thread, project_hint="api", scope=shop) == shop
    assert ada.writes("B", thread=thread, project_hint="api") == api
    ada.call("recall", query="x", thread=thread, project_hint="api")
    assert ada.writes("C", thread=thread) == ada.path("web")
    refused = ada.writes("D", thread=thread, project_hint="/")
    assert refused == "project_hint_unresolvable:"


def test_a_transport_session_finds_its_project_in_every_process(arrive: Any) -> None:
    ada: Agent = arrive()
    version = {"mcp-protocol-version": "2025-11-25"}
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    session = ada.processes.post(None, ada.token, body).headers["mcp-session-id"]
    for number, hint in enumerate(("web", None, None)):
        arguments = {"content": f"Fact {number}", **({"project_hint": hint} if hint else {})}
        call = {"name": "remember", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        answer = ada.processes.post(None, ada.token, body, {**version, "mcp-session-id": session})
        assert answer.json["result"]["structuredContent"]["scope"] == ada.path("web")


def test_one_path_on_two_machines_may_be_two_projects(arrive: Any) -> None:
    ada: Agent = arrive()
    scopes = [
        ada.processes.post(
            "remember",
            ada.token,
            {"content": f"On {machine}", "project_hint": "/src/web"},
            {"zm-machine": machine},
        ).json["scope"]
        for machine in ("desk", "laptop", "desk")
    ]
    assert scopes[0] == scopes[2]
    long = ada.processes.post("describe_scope", ada.token, {}, {"zm-machine": "x" * 201})
    assert long.status == 400


def test_a_revoked_token_fails_in_every_process_within_five_seconds(arrive: Any) -> None:
    ada: Agent = arrive()
    here, there = ada.processes.processes
    made = ada.processes.post(
        "manage_tokens", ada.token, {"action": "make", "grants": ["memory:read"], "label": "agent"}
    ).json["token"]
    for process in (here, there):
        assert ada.processes.post("describe_scope", made, {}, process=process).status == 200
    public_id = made.split("_")[1]
    revoke = {"action": "revoke", "public_id": public_id}
    assert ada.processes.post("manage_tokens", ada.token, revoke, process=here).status == 200
    assert ada.processes.post("describe_scope", made, {}, process=here).status == 401
    ada.processes.clock.advance(seconds=5)
    assert ada.processes.post("describe_scope", made, {}, process=there).status == 401


def test_a_token_gives_another_no_more_than_it_holds_and_its_grants_are_enforced(
    arrive: Any,
) -> None:
    ada: Agent = arrive()
    make = {"action": "make", "grants": ["admin", "memory:read"], "days": 1}
    lesser = ada.processes.post("manage_tokens", ada.token, make).json["token"]
    more = {"action": "make", "grants": ["memory:write"]}
    assert ada.processes.post("manage_tokens", lesser, more).status == 403
    assert ada.processes.post("remember", lesser, {"content": "x", "scope": "core"}).status == 403
    listed = ada.processes.post("manage_tokens", ada.token, {"action": "list"})
    assert lesser not in listed.text
    assert lesser.split("_")[2] not in listed.text
    ada.processes.clock.advance(hours=24)
    assert ada.processes.post("describe_scope", lesser, {}).status == 401
