"""The grammar of scope paths: `user.<id>`, `user.<id>.core`, `proj.<owner>.<slug>`, `team.…`.

The second part is the opaque id of the person who made the scope, so that equal names of two
people never meet.
"""

import re
from collections.abc import Iterator
from itertools import count
from typing import Literal

SLUG_LENGTH = 60

_SLUG = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{SLUG_LENGTH - 2}}}[a-z0-9])?")
_PATH = re.compile(r"(?:user|proj|team)\.p_[0-9A-Z]{26}(?:\..*)?")
_SEPARATORS = re.compile(r"[^a-z0-9]+")

Root = Literal["proj", "team"]


def personal_path(person: str) -> str:
    """The path of a person's private root."""
    return f"user.{person}"


def core_path(person: str) -> str:
    """The path of a person's core."""
    return f"user.{person}.core"


def shared_path(root: Root, maker: str, slug: str) -> str:
    """The path of a project or team that `maker` made."""
    return f"{root}.{maker}.{slug}"


def slug_of_path(path: str) -> str:
    """The last part of a path."""
    return path.rpartition(".")[2]


def renamed_path(path: str, slug: str) -> str:
    """The path of a project or team under another name; it keeps its maker's id."""
    return f"{path.rpartition('.')[0]}.{slug}"


def looks_like_path(text: str) -> bool:
    """Whether this is meant as a scope's path, anybody's."""
    return _PATH.fullmatch(text) is not None


def own_slug(path: str, person: str, root: Root = "proj") -> str | None:
    """The slug of a well-formed path of this root under this person's id, else None."""
    prefix = shared_path(root, person, "")
    slug = path.removeprefix(prefix)
    return slug if path.startswith(prefix) and _SLUG.fullmatch(slug) else None


def slug_of(name: str) -> str:
    """A name in lower-case ASCII letters, digits and hyphens, at most 60 characters.

    Other scripts are transliterated. Empty when the name has neither letter nor digit.
    """
    if not name.isascii():
        # 30 ms of import that no cold start should pay, since nearly all names are ASCII.
        from anyascii import anyascii  # noqa: PLC0415

        name = anyascii(name)
    return _SEPARATORS.sub("-", name.lower()).strip("-")[:SLUG_LENGTH].rstrip("-")


def paths_for(root: Root, maker: str, slug: str) -> Iterator[str]:
    """The paths that a name may get, first choice first: `slug`, `slug-2` and so on."""
    yield shared_path(root, maker, slug)
    for number in count(2):
        suffix = f"-{number}"
        yield shared_path(root, maker, slug[: SLUG_LENGTH - len(suffix)].rstrip("-") + suffix)
