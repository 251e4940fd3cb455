"""The two commands, around what they set up: nothing but the service speaks on standard output."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.samples import REPOSITORY

# These tests may themselves be run by make, which tells the makes below it so.
_OWN = {
    name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was set up before, with a `zm` that prints what it was called with."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "requirements").mkdir()
    for name in ("run.txt", "dev.txt"):
        (tmp_path / "requirements" / name).touch()
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name in ("zm", "pytest"):
        (binaries / name).write_text('#!/bin/sh\nprintf "%s|" "$0" "$@"\n', encoding="utf-8")
        (binaries / name).chmod(0o755)
    for stamp in ("serve", "test"):
        (tmp_path / ".venv" / f"{stamp}.stamp").touch()
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=_OWN,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def outdate(checkout: Path) -> None:
    later = time.time() + 10
    os.utime(checkout / "requirements" / "run.txt", (later, later))


def test_what_was_set_up_starts_at_once_with_the_arguments_and_no_other_word(
    checkout: Path,
) -> None:
    made = make(checkout, "serve", "ARGS=--home '/a b' --port 0 --json")

    assert made.stdout == ".venv/bin/zm|serve|--home|/a b|--port|0|--json|"
    assert made.stderr == ""


def test_tests_take_arguments_too(checkout: Path) -> None:
    made = make(checkout, "test", "ARGS=-k name")

    assert made.stdout == ".venv/bin/pytest|-n|auto|--dist|worksteal|-k|name|"


def test_setting_up_speaks_on_standard_error_and_its_failure_is_one(checkout: Path) -> None:
    outdate(checkout)
    (checkout / "python").write_text("#!/bin/sh\necho noise\n", encoding="utf-8")
    (checkout / "python").chmod(0o755)

    made = make(checkout, "serve", "PYTHON=./python")

    assert made.returncode != 0
    assert made.stdout == ""
    assert "noise" in made.stderr


def test_a_python_that_is_too_old_is_named(checkout: Path) -> None:
    outdate(checkout)
    (checkout / "python").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (checkout / "python").chmod(0o755)

    made = make(checkout, "serve", "PYTHON=./python")

    assert made.returncode != 0
    assert made.stdout == ""
    assert "./python is older than 3.11" in made.stderr
