"""Git repositories that tests make, untouched by the machine's own settings."""

import os
import subprocess
from pathlib import Path

import pytest


def without_own_settings(patch: pytest.MonkeyPatch) -> None:
    """Git answers from the repository alone."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        patch.delenv(name)
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)
