"""Arguments and results of the tools that change, relate and explain stored memories."""

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from zero_memory.contracts.kinds import LinkType
from zero_memory.contracts.memory import Cursor, ProjectHint, ScopeName, SessionState, ThreadToken
from zero_memory.contracts.model import (
    Arguments,
    Content,
    MemoryId,
    NoNul,
    NotBlank,
    Reason,
    Result,
)

MAX_MOVED = 50


class ReviseArguments(Arguments):
    """What `revise` takes."""

    memory_id: MemoryId
    content: Annotated[Content, Field(description="The whole corrected statement, in English.")]
    thread: ThreadToken | None = None


class ReviseResult(Result):
    """What `revise` answers: `id` is the memory that holds the new wording.

    `audit_id` is the record of the old wording, the one in `superseded`: `restore_memory` of that
    one takes the revision back.
    """

    id: str
    scope: str
    superseded: list[str]
    changed: bool
    audit_id: str | None = None


class CloseLoopArguments(Arguments):
    """What `close_loop` takes."""

    memory_id: MemoryId
    outcome: Annotated[
        Content | None,
        Field(description="What came of it, as a statement of its own; stored as a fact."),
    ] = None
    thread: ThreadToken | None = None


class CloseLoopResult(Result):
    """What `close_loop` answers; `outcome_id` is the memory that holds the outcome."""

    id: str
    scope: str
    changed: bool
    outcome_id: str | None = None
    audit_id: str | None = None


class ChallengeArguments(Arguments):
    """What `challenge` takes."""

    memory_id: MemoryId
    reason: Reason
    evidence: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=4_000), NoNul, NotBlank] | None,
        Field(description="What speaks against it: output, a quotation, a path, a memory's id."),
    ] = None
    thread: ThreadToken | None = None


class ChallengeResult(Result):
    """What `challenge` answers; `changed` is false while an earlier dispute is open."""

    id: str
    scope: str
    dispute_id: str
    changed: bool
    audit_id: str | None = None


class LinkArguments(Arguments):
    """What `link` takes."""

    src: MemoryId
    dst: MemoryId
    type: LinkType
    reason: Reason | None = None
    thread: ThreadToken | None = None


class EraseArguments(Arguments):
    """What `erase_memory` takes."""

    memory_id: MemoryId
    confirm: Annotated[
        MemoryId, Field(description="The same id again: this can't be undone by anybody.")
    ]
    thread: ThreadToken | None = None


class EraseResult(Result):
    """What `erase_memory` answers: all that is kept of the memory."""

    id: str
    erased_at: str
    erased_by: str


class MoveArguments(Arguments):
    """What `move_memories` takes: ids, and a scope or a project."""

    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=MAX_MOVED)]
    scope: ScopeName | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None


class Moved(Result):
    """A memory that is in another scope now."""

    id: str
    audit_id: str


class NotMoved(Result):
    """A memory that stayed where it was, and why."""

    id: str
    code: str
    message: str


class MoveResult(Result):
    """What `move_memories` answers; `unchanged` were there already."""

    scope: str
    moved: list[Moved]
    unchanged: list[str]
    failed: list[NotMoved]


class EntitiesArguments(Arguments):
    """What `entities` takes; without a query, the newest memories' entities are answered."""

    query: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=1_000), NoNul, NotBlank] | None,
        Field(description="A name, a part of one, or a text that speaks names."),
    ] = None
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=50)] | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None


class EntityNode(Result):
    """An entity and the live memories that mention it: how many (`100+`), and the newest 20."""

    name: str
    memories: str
    memory_ids: list[str]


class EntityEdge(Result):
    """Two entities that `weight` live memories mention together."""

    one: str
    other: str
    weight: int


class EntitiesResult(Result):
    """What `entities` answers."""

    nodes: list[EntityNode]
    edges: list[EntityEdge]
    scopes: list[str]
    session: SessionState


class HistoryArguments(Arguments):
    """What `memory_history` takes."""

    memory_id: MemoryId
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None
    thread: ThreadToken | None = None


class LifeSpan(Result):
    """A stretch of time in which the memory was live."""

    start: str
    end: str | None = None


class Version(Result):
    """One of the memories that superseded each other."""

    id: str
    kind: str
    scope: str
    preview: str
    truncated: bool
    author: str
    created_at: str
    live: bool
    superseded_by: str | None = None
    disputed: bool | None = None


class LinkEnd(Result):
    """A typed link, by the memory at its other end."""

    type: LinkType
    id: str


class DisputeView(Result):
    """The open dispute about a memory."""

    id: str
    raised_at: str
    raised_by: str
    reason: str
    evidence: str | None = None


class AuditEntry(Result):
    """One change of the memory; `audit_id` is what `restore_memory` undoes it by.

    `before` and `after` hold what it changed.
    """

    audit_id: str
    action: str
    at: str
    by: str
    revision: int
    reason: str | None = None
    undoes: str | None = None
    before: dict[str, Any] | None = None
    after: dict[str, Any]


class HistoryResult(Result):
    """What `memory_history` answers; audit newest first, `cursor` continues behind it."""

    id: str
    scope: str
    live: bool
    lives: list[LifeSpan]
    versions: list[Version]
    links: list[LinkEnd]
    linked_from: list[LinkEnd]
    dispute: DisputeView | None = None
    audit: list[AuditEntry]
    cursor: str | None = None
