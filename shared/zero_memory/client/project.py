"""Which project this is: the git remote of the working directory, else its repository's root."""

import re
import subprocess

TIMEOUT_S = 5.0


def project_hint() -> str | None:
    """A remote's URL without credentials, or a root path; None outside of a repository.

    Git itself is asked, which knows worktrees, includes and `GIT_DIR`. Of several remotes it is
    `origin`, else the first.
    """
    remotes = dict(
        line.split("\n", 1)
        for line in _git("config", "--null", "--get-regexp", r"^remote\..*\.url$").split("\0")
        if "\n" in line
    )
    if remotes:
        return without_credentials(remotes.get("remote.origin.url") or next(iter(remotes.values())))
    # Each worktree has its own root; what they share is the folder with the common `.git`.
    shared = _git("rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n")
    if shared.endswith("/.git"):
        return shared.removesuffix("/.git")
    return _git("rev-parse", "--show-toplevel").rstrip("\n") or None


def without_credentials(remote: str) -> str:
    """A remote's URL without user, password, query and fragment; other forms carry none."""
    return re.sub(
        r"^([a-z][a-z0-9+.-]*://)(?:[^/@]*@)*([^?#]*).*$", r"\1\2", remote, flags=re.IGNORECASE
    )


def _git(*arguments: str) -> str:
    """What git prints, or nothing when it has no answer or is not installed."""
    try:
        answer = subprocess.run(  # noqa: S603 - no part of it comes from outside
            ["git", *arguments],  # noqa: S607 - the git that the person uses
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
            encoding="utf-8",
        )
    except (OSError, UnicodeDecodeError, subprocess.SubprocessError):
        return ""
    return answer.stdout
