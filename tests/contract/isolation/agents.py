"""Agents whose requests, over MCP without a session, land on one process after the other."""

import itertools
import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

from tests.clock import ManualClock
from tests.contract.isolation.edge import Answer
from tests.samples import REPOSITORY
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.scopes.identity import make_person, make_token
from zero_memory.scopes.model import GRANTS

NEW = "2026-07-28"
OLD = "2025-11-25"
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
    """Somebody's agent, over MCP: without a session, or with one of the 2025 revisions."""

    processes: Processes
    person: str
    token: str = field(repr=False)
    session: str | None = None

    def connects(self) -> "Agent":
        """The same agent in a new transport session."""
        hello = {
            "protocolVersion": OLD,
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        answer = self.processes.post(None, self.token, body)
        return replace(self, session=answer.headers["mcp-session-id"])

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured result of a tool, or the body of its refusal."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if self.session is None:
            params["_meta"] = META
            headers = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": tool}
        else:
            headers = {"mcp-protocol-version": OLD, "mcp-session-id": self.session}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result = self.processes.post(None, self.token, body, headers).json["result"]
        return json.loads(result["content"][0]["text"])

    def attached(self, **arguments: Any) -> str | None:
        """The project that a read finds attached."""
        return self.call("recall", query="x", **arguments)["session"]["attached_project"]

    def writes(self, content: str, **arguments: Any) -> str:
        """The scope that a write goes to, or the beginning of the refusal."""
        answer = self.call("remember", content=content, **arguments)
        return answer["scope"] if "scope" in answer else answer["error"]["message"].split()[0]

    def path(self, slug: str) -> str:
        return f"proj.{self.person}.{slug}"


@contextmanager
def two_processes(table_file: Path) -> Generator[Processes]:
    """Start two over one home's table."""
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


def arrives_at(table: SqliteTable, processes: Processes) -> Agent:
    """The agent of a further person."""
    person = make_person(table, processes.clock)
    token = make_token(table, processes.clock, person, label="tests", grants=GRANTS)
    return Agent(processes, person.person, token)
