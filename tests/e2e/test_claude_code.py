"""Claude Code, as npm has it, against the service: the model is a script, all else is real."""

import json
import os
import platform
import re
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.claude_code.model import Calls, Says, ScriptedModel, scripted_model
from tests.e2e.made import readme_line
from tests.samples import REPOSITORY
from tests.service import Service

PACKAGES = REPOSITORY / ".work" / "claude-code" / "node_modules" / "@anthropic-ai"
SERVER = "zero-memory"
FACT = "The staging database is rebuilt on Mondays, because the fixtures of the week go stale."


def _program() -> Path | None:
    system = platform.system().lower()
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = (
        PACKAGES / f"claude-code-{system}-{machine}{libc}" / "claude" for libc in ("", "-musl")
    )
    return next((program for program in found if program.is_file()), None)


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with scripted_model() as started:
        yield started


class Person:
    """Somebody with a home of their own, whose Claude Code talks to the scripted model alone."""

    def __init__(self, home: Path, program: Path, model: ScriptedModel) -> None:
        self.home = home
        self.settings = home / ".claude" / ".claude.json"
        self.environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join((str(program.parent), "/usr/bin", "/bin")),
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": str(self.settings.parent),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "of-a-scripted-model",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            # Whatever would leave this machine meets a port where nothing listens.
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        }

    def types(self, line: str) -> str:
        """What a line in a shell says; it must succeed."""
        return self._run(["sh", "-c", line], self.home)

    def asks(self, prompt: str) -> str:
        """The answer to a prompt, in a new session in a folder of its own."""
        folder = self.home / re.sub(r"\W+", "-", prompt)
        folder.mkdir()
        return self._run(["claude", "-p", prompt, "--allowedTools", f"mcp__{SERVER}"], folder)

    def _run(self, command: list[str], folder: Path) -> str:
        done = subprocess.run(
            command,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def person(tmp_path: Path, model: ScriptedModel) -> Person:
    program = _program()
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Claude Code is not installed, and CI must have it: make tools")
        pytest.skip("Claude Code is not installed: make tools")
    return Person(tmp_path, program, model)


def line_that_connects(service: Service) -> str:
    """The README's line that registers the server, for this service."""
    line = readme_line("claude mcp add ")
    line, urls = re.subn(r"http://127\.0\.0\.1:\d+/mcp", service.ready["mcp_url"], line)
    line, files = re.subn(r"(?<=cat )[^)]*", service.ready["token_file"], line)
    assert (urls, files) == (1, 1), "The README's line names no URL, or no token file"
    return line


def loads(tool: str) -> Calls:
    """Claude Code names the tools of a server first, and tells the rest when it is asked."""
    return Calls("ToolSearch", {"query": f"select:mcp__{SERVER}__{tool}"})


def answers_of_tools(request: dict[str, Any]) -> list[str]:
    """What the newest message of a model request tells of tool calls."""
    content: Any = request["messages"][-1]["content"]
    return [json.dumps(block) for block in content if block["type"] == "tool_result"]


def test_what_one_session_remembers_another_recalls(
    service: Service, person: Person, model: ScriptedModel
) -> None:
    person.types(line_that_connects(service))
    assert SERVER in json.loads(person.settings.read_text(encoding="utf-8"))["mcpServers"]
    assert "Connected" in person.types("claude mcp list")

    remembers = {"content": FACT, "scope": "personal"}
    model.will(
        loads("remember"), Calls(f"mcp__{SERVER}__remember", remembers), Says("It is noted.")
    )
    assert "It is noted." in person.asks("Keep in mind when staging is rebuilt")
    (stored,) = answers_of_tools(model.requests[-1])
    (memory_id,) = re.findall(r"mem_\w{26}", stored)

    first_session = len(model.requests)
    asks = {"query": "which day does the test environment get fresh data?"}
    model.will(loads("recall"), Calls(f"mcp__{SERVER}__recall", asks), Says("On Mondays."))
    assert "On Mondays." in person.asks("When does staging get fresh data")
    assert FACT not in json.dumps(model.requests[first_session])
    (recalled,) = answers_of_tools(model.requests[-1])
    assert memory_id in recalled
    assert FACT in recalled


def test_the_model_is_told_what_the_memory_is_for(
    service: Service, person: Person, model: ScriptedModel
) -> None:
    person.types(line_that_connects(service))
    model.will(Says("Hello."))
    person.asks("Hello")
    told = json.dumps(model.requests[-1])
    assert "# MCP Server Instructions" in told
    assert f"## {SERVER}" in told
