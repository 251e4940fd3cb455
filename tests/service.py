"""A service of one's own, started as a person would start it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import httpx

from tests.samples import REPOSITORY

# Tests may themselves be run by make, which tells a make below it so, and that one tells everybody.
_OWN = {
    name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
}

ZM = Path(sys.executable).with_name("zm")
STOP_S = 30
CALL_S = 30


@dataclass(frozen=True)
class Service:
    """A running `zm serve --json`, by what its one line on standard output said.

    `process` is the command that started it: itself, or what waits for it.
    """

    process: subprocess.Popen[str]
    home: Path
    ready: dict[str, Any]
    http: httpx.Client

    @property
    def token(self) -> str:
        return Path(self.ready["token_file"]).read_text(encoding="utf-8").strip()

    @property
    def environment(self) -> dict[str, str]:
        """What makes a `zm` talk to this service."""
        return {**os.environ, "ZM_DATA_DIR": str(self.home)}

    def call(self, tool: str, arguments: Mapping[str, Any]) -> httpx.Response:
        return self.http.post(
            f"{self.ready['api_url']}/tools/{tool}",
            json=arguments,
            headers={"authorization": f"Bearer {self.token}"},
        )

    def kill(self) -> None:
        """As the machine would end it: at once, whatever it is doing."""
        os.kill(self.ready["pid"], signal.SIGKILL)
        self.process.wait(STOP_S)

    def stop(self) -> int:
        os.kill(self.ready["pid"], signal.SIGTERM)
        return self.process.wait(STOP_S)


@contextmanager
def running(home: Path, *arguments: str) -> Generator[Service]:
    """Start a service on a free port in `home`, and stop it in the end."""
    command = [ZM, "serve", "--home", home, "--port", "0", "--json", *arguments]
    with started(command, home) as service:
        yield service


@contextmanager
def started(
    command: Sequence[str | Path], home: Path, environment: Mapping[str, str] | None = None
) -> Generator[Service]:
    """The service that a command starts in `home`; `environment` goes over one's own."""
    errors = home.with_name(f"{home.name}.stderr")
    with errors.open("a", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env={**_OWN, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
    try:
        line = cast("IO[str]", process.stdout).readline()
        if not line:
            raise AssertionError(errors.read_text(encoding="utf-8"))
        # Loading certificates would take longer than most calls.
        with httpx.Client(verify=False, timeout=CALL_S) as http:  # noqa: S501 - plain HTTP
            yield Service(process, home, json.loads(line), http)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_S)
        cast("IO[str]", process.stdout).close()
        assert "zmt_" not in errors.read_text(encoding="utf-8"), "a token was logged"
