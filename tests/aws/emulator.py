"""AWS on loopback, with real concurrency, as tests start it: one process, all in its memory."""

import os
import socket
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import get_session

COMMAND = Path(__file__).parents[2] / ".work" / "venv-aws" / "bin" / "ministack"
START_S = 60


def require_emulator() -> None:
    """Skip what needs the emulator where it is not installed; in CI, fail."""
    if COMMAND.exists():
        return
    missing = "the AWS emulator is not installed: make tools"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


@contextmanager
def running_emulator(folder: Path, settings: Mapping[str, str] | None = None) -> Generator[str]:
    """Start an emulator on a free port; yields its address, and kills it in the end.

    `settings` are environment variables of its own.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "emulator.log").open("wb") as log:
        process = subprocess.Popen(
            [COMMAND],
            cwd=folder,
            env={
                **os.environ,
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(port),
                "LAMBDA_EXECUTOR": "local",
                **(settings or {}),
            },
            stdout=log,
            stderr=log,
        )
    try:
        _wait_until_it_answers(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextmanager
def emulated_dynamodb(folder: Path, config: Config) -> Generator[Any]:
    """A client of DynamoDB in an emulator of its own; skips where it is not installed."""
    require_emulator()
    with running_emulator(folder) as url:
        session: Any = get_session()
        session.set_credentials("test", "test")
        yield session.create_client(
            "dynamodb", region_name="eu-central-1", endpoint_url=url, config=config
        )


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the AWS emulator did not start; see its emulator.log")
