"""Which project this is: the git remote of the working directory, and its repository's root."""

import re
import subprocess

TIMEOUT_S = 5.0

_NO_REMOTE = "no remote"
_LONGEST = 1_000
"""Characters that the service takes."""

_FETCHED = re.compile(r"^([^\t\n]+)\t(.+) \(fetch\)", re.MULTILINE)
"""A remote's name and URL, as git lists them."""


def project_hint() -> str | None:
    """A remote's URL without credentials, or `no remote`, and a root path on a line of its own.

    None outside of a repository. Git itself is asked, which knows worktrees, includes, hosts' short
    names (`insteadOf`) and `GIT_DIR`. Of several remotes it is `origin`, else the first.
    """
    root = _root()
    if not root:
        return None
    remotes: dict[str, str] = dict(_FETCHED.findall(_git("remote", "--verbose")))
    remote = _NO_REMOTE
    if remotes:
        remote = without_credentials(remotes.get("origin") or next(iter(remotes.values())))
    hint = f"{remote}\n{root}"
    return hint if len(hint) <= _LONGEST else root if remote == _NO_REMOTE else remote


def _root() -> str:
    """The repository's root path, one for all its worktrees; nothing outside of a repository."""
    folders = _git("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
    own, _, shared = folders.rstrip("\n").partition("\n")
    folder, _, name = shared.rpartition("/")
    if name.startswith("."):  # `.git`, or a bare repository beside its worktrees
        return folder
    if own != shared:  # a worktree of a bare repository, which has a root of its own
        return shared.removesuffix(".git")
    return _git("rev-parse", "--show-toplevel").rstrip("\n")


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
