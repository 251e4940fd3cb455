"""A real OpenSearch node, as tests start it: one process, on loopback, its data in a folder."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pytest

INSTALLED = Path(__file__).parents[2] / ".work" / "opensearch"


def require_node() -> None:
    """Skip what needs OpenSearch where it can't run; in CI, fail."""
    missing = None
    if shutil.which("java") is None:
        missing = "Java is not installed"
    elif not (INSTALLED / "installed").exists():
        missing = "OpenSearch is not installed: make tools"
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)


@contextmanager
def running_node(folder: Path, *, heap: str = "512m", lasting: bool = False) -> Generator[str]:
    """Start a node that keeps its data in `folder`; yields its address, and kills it in the end.

    A lasting one compiles what it does often as well as Java can; others are over before that pays.
    """
    (folder / "config").mkdir(parents=True, exist_ok=True)
    command = [
        "java",
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *(() if lasting else ("-XX:TieredStopAtLevel=1",)),
        "-XX:+UseSerialGC",
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        "-cp",
        f"{INSTALLED}/classes:{INSTALLED}/lib/*:{INSTALLED}/knn/*",
        "SearchNode",
        str(folder),
    ]
    with (folder / "stderr").open("a") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        port = cast("IO[str]", process.stdout).readline().strip()
        if not port:
            raise AssertionError((folder / "stderr").read_text())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()  # nobody needs its data any more
        process.communicate()
