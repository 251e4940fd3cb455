"""What a project hint says: a git remote, a repository's root path, or a name.

Or a checkout, in two lines: its remote, or `no remote`, and its root path. That says all that a
repository is known by, so that nothing about it need be guessed from its name.

Spellings of one repository fold into one identity: `git@github.com:Acme/api.git`,
`ssh://git@ssh.github.com:443/acme/api` and `https://x:y@github.com/acme/api/` are all
`remote:github.com/acme/api`.
"""

import re
from hashlib import sha256
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from zero_memory.scopes.paths import slug_of

_URL = re.compile(r"(?:git\+)?(?:ssh|https?|git|ftps?)(?:\+git)?://", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^?#]*@|^(?![^/]*://)[^/?#]*@")
"""What stands before a host, in URLs up to the last `@`, so that no password is ever kept."""
NO_PORT = r"(?!\d{0,5}(?:[/?#\s]|$))"
"""A pattern: what follows the colon behind a host or a user is no port, so it is a password."""
_URL_USER = re.compile(rf"://(?:[^\r\n/?#]*@|[^\s/?#@:]*:{NO_PORT}[^\s@]{{1,256}}@)+")
_PART_USER = re.compile(
    r"^\s*[^\s/\\@:]*:[^\s/\\][^\r\n/\\]*@"
    r"|(?<=[/\\])(?![a-zA-Z]:[/\\])[^\s/\\@:]*:(?!\d{1,5}[/?#])[^\s@]{1,256}@"
)
"""A user with a password at the beginning of a part, which no drive and no host with a port is."""
_SCP = re.compile(r"(?P<host>[^/@:\s\\]{2,}):(?!//)(?P<path>[^\\\s]+)")
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:(?:[/\\]|$)", re.IGNORECASE)

_SAME_HOST = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
}
"""Where hosts serve git over ssh on port 443, or under a second name (their documentation)."""

_OWNER_AND_NAME = frozenset(("github.com", "bitbucket.org", "codeberg.org"))
"""Hosts whose repositories have two-part paths; what follows is a page of theirs."""


NO_REMOTE = "no remote"
"""The first line of a checkout's hint that has none."""


REMOTE = "remote:"
"""How the marks of remotes begin."""


class Mark(Struct, frozen=True):
    """What a repository is known by: the folded `remote:…` or `path:…`.

    `sort` is how all begin that could stand in its place: other remotes, or other paths on the same
    machine.
    """

    sort: str
    identity: str


class Hint(Struct, frozen=True):
    """A hint that names a project.

    `marks` are what it is known by, the strongest first; a bare name has none. `name` is what the
    project would be called. `checkout`: the hint says all that its repository is known by.
    """

    marks: tuple[Mark, ...]
    name: str
    checkout: bool = False

    @property
    def slug(self) -> str:
        """The name as a path's last part; never empty."""
        return slug_of(self.name)


def strip_credentials(hint: str) -> str:
    """A project hint without the user and password of a remote; anything else is as it was.

    The user goes too, since `https://<token>@host` keeps its token there; `git@host:path` stays.
    A user with a password goes wherever a part begins, since no path or misspelt URL needs one.
    """
    while (stripped := _PART_USER.sub("", _URL_USER.sub("://", hint))) != hint:
        hint = stripped
    return hint


def read_hint(text: str, machine: str) -> Hint | None:
    """What a hint names, None when it names nothing (blank, `/`, `.`, `~`, punctuation alone)."""
    remote, _, path = map(str.strip, strip_credentials(text).strip().partition("\n"))
    place = _path_hint(path, machine) if _is_path(path) else None
    if place is not None and remote == NO_REMOTE:
        hint = replace(place, checkout=True)
    else:
        hint = _line_hint(remote, machine)
        if place is not None:
            hint = _checkout(hint, place)
    return hint if hint is not None and hint.slug else None


def _checkout(remote: Hint | None, place: Hint) -> Hint:
    if remote is None or not remote.marks:  # a remote of a form that is not known here
        return place
    return Hint((*remote.marks, *place.marks), remote.name, checkout=True)


def _line_hint(text: str, machine: str) -> Hint | None:
    if _is_path(text):
        return _path_hint(text, machine)
    text = _USER.sub("", text, count=1)
    remote = _remote(text)
    return Hint((), text) if remote is None else _remote_hint(*remote)


def _remote(text: str) -> tuple[str, str] | None:
    """Host and path of a remote without user, as written; None when the text is something else."""
    if _URL.match(text):
        try:
            url = urlsplit(text)
        except ValueError:
            return "", ""
        return url.hostname or "", url.path
    scp = _SCP.fullmatch(text)
    if scp is not None:
        return scp["host"], scp["path"]
    host, _, path = text.partition("/")
    return (host, path) if "/" in path and _HOST.fullmatch(host) else None


def _remote_hint(host: str, path: str) -> Hint | None:
    """A remote's hint; None without a path.

    Paths fold their case: every large host does, and a repository whose remote is spelt in two
    ways is far commoner than two that differ by case alone.
    """
    host = _SAME_HOST.get(host.lower(), host.lower())
    parts = [part for part in unquote(path).split("/") if part]
    if "-" in parts[1:]:  # GitLab puts a repository's pages behind `/-/`
        parts = parts[: parts.index("-", 1)]
    if host in _OWNER_AND_NAME:
        parts = parts[:2]
    elif host == "dev.azure.com":  # `v3/org/project/repo` by ssh, `org/project/_git/repo` by https
        parts = [part for part in parts if part not in {"v3", "_git"}]
    if not parts or not host:
        return None
    parts[-1] = re.sub(r"\.git$", "", parts[-1], flags=re.IGNORECASE)
    mark = Mark(REMOTE, f"{REMOTE}{host}/{'/'.join(parts).casefold()}")
    return Hint((mark,), parts[-1])


def _is_path(text: str) -> bool:
    return _URL.match(text) is None and (
        text.startswith(("/", "~", "./", "../"))
        or text in {".", ".."}
        or text.lower().startswith("file:")
        or _on_windows(text)
    )


def _on_windows(path: str) -> bool:
    return _DRIVE.match(path) is not None or ("\\" in path and not path.startswith("/"))


def _path_hint(text: str, machine: str) -> Hint | None:
    """A path's hint; its identity holds a digest, since paths tell names of people.

    None for a root or a home folder, and for a path that depends on where the caller happens to be.
    """
    if text.lower().startswith("file:"):
        text = strip_credentials(unquote(urlsplit(text).path))
        text = text[1:] if _DRIVE.match(text[1:]) else text
    windows = _on_windows(text)
    parts = [part for part in re.split(r"[/\\]" if windows else "/", text) if part not in {"", "."}]
    if not parts or text.startswith(".") or ".." in parts:
        return None
    if len(parts) == 1 and (text.startswith("~") or _DRIVE.match(text)):
        return None
    folded = "/".join(parts).casefold() if windows else "/".join(parts)
    sort = f"path:{_digest(machine)}:"
    return Hint((Mark(sort, f"{sort}{_digest(folded)}"),), parts[-1])


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]
