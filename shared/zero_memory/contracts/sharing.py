"""Arguments and results of the tools that share memories."""

from typing import Annotated

from pydantic import Field, StringConstraints

from zero_memory.contracts.memory import ThreadToken
from zero_memory.contracts.model import Arguments, MemoryId, NoNul, Result

SharedScope = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    NoNul,
    Field(description="The path of a project or team."),
]


class ShareArguments(Arguments):
    """What `share` takes."""

    memory_id: MemoryId
    scope: SharedScope
    thread: ThreadToken | None = None


class UnshareArguments(Arguments):
    """What `unshare` takes; without a scope, the sharing to all of them ends."""

    memory_id: MemoryId
    scope: SharedScope | None = None
    thread: ThreadToken | None = None


class SharingResult(Result):
    """Where a memory is shared to now.

    `shared_to` holds the paths of the caller's scopes among these, `shared_elsewhere` counts the
    others.
    """

    id: str
    shared_to: list[str]
    shared_elsewhere: int
    audit_id: str | None = None
    changed: bool
