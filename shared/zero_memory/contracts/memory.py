"""Arguments and results of the tools that write and read memories."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from zero_memory.contracts.kinds import AuthorKind, Kind, LinkType
from zero_memory.contracts.model import (
    MAX_ENTITIES,
    MAX_LINKS,
    MAX_SUPERSEDES,
    Arguments,
    Content,
    Hint,
    MemoryId,
    Name,
    NoNul,
    Reason,
    Result,
)
from zero_memory.contracts.shapes import AUDIT_ID

ScopeName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    NoNul,
    Field(description="A scope's path, or core, or personal."),
]
TargetScope = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200),
    NoNul,
    Field(
        description=(
            "Where it goes: a scope's path, or core or personal. With a project attached these two "
            "are requests; routing_reason tells when the project took it instead."
        )
    ),
]
ProjectHint = Annotated[
    Hint,
    Field(
        description="Which project this is: git remote, repository root path, or name. Best both: "
        "the remote (or: no remote), a newline, the path."
    ),
]
Cursor = Annotated[str, StringConstraints(min_length=1, max_length=4_000)]
ThreadToken = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100),
    NoNul,
    Field(description="The thread of an earlier answer's session; echo it on every call."),
]


class SessionState(Result):
    """Where the caller stands.

    `newly`: the hint's project was made by this call, or was taken for it by its name alone.
    """

    attached_project: str | None
    thread: str | None = None
    newly: Literal["made", "taken"] | None = None
    line: str


class Link(Arguments):
    """A typed link from the new memory to an existing one."""

    type: LinkType
    target: MemoryId


class RememberArguments(Arguments):
    """What `remember` takes."""

    content: Annotated[
        Content,
        Field(description="One self-contained statement, in English, with its why."),
    ]
    kind: Kind = "fact"
    scope: TargetScope | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None
    entities: Annotated[
        list[Name] | None,
        Field(
            max_length=MAX_ENTITIES,
            description="Names that it is about: people, systems, files, error codes.",
        ),
    ] = None
    supersedes: Annotated[
        list[MemoryId] | None,
        Field(max_length=MAX_SUPERSEDES, description="Memories that this one replaces."),
    ] = None
    links: Annotated[list[Link], Field(max_length=MAX_LINKS)] | None = None
    original: Annotated[
        Content | None,
        Field(description="The words in the source language, when that was not English."),
    ] = None
    language: Annotated[
        Annotated[str, StringConstraints(min_length=1, max_length=35), NoNul] | None,
        Field(description="The language of original, such as de."),
    ] = None
    source: Annotated[
        dict[str, Any] | None,
        Field(description="Pointers to where it comes from, such as a path or a URL; no content."),
    ] = None
    agent_name: Annotated[Name | None, Field(description="The agent that writes.")] = None
    idempotency_key: Annotated[
        str | None,
        StringConstraints(min_length=1, max_length=200),
        Field(description="Repeat a call with the same key and it happens once."),
    ] = None


class SimilarMemory(Result):
    """A live memory near the new one, for the writer to judge."""

    id: str
    kind: str
    scope: str
    age: str
    preview: str


class SkippedSupersede(Result):
    """A declared supersede that did not apply, and why."""

    id: str
    reason: Literal["dead", "missing", "self"]


class LengthDirective(Result):
    """Says that a memory is long enough to be stored in several windows.

    `embedded` of its `windows` are compared by meaning; its words are all found.
    """

    characters: int
    windows: int
    embedded: int
    advice: str


class RememberResult(Result):
    """What `remember` answers."""

    id: str
    scope: str
    deduplicated: bool = False
    routed_to_project: bool = False
    routing_reason: str | None = None
    anchors: list[str] = Field(default_factory=list)
    superseded: list[str] = Field(default_factory=list)
    skipped_supersedes: list[SkippedSupersede] = Field(default_factory=list)
    similar_existing: list[SimilarMemory] = Field(default_factory=list)
    hint: str | None = None
    anchor_hint: str | None = None
    status_hint: str | None = None
    length_directive: LengthDirective | None = None
    session: SessionState


class RecallArguments(Arguments):
    """What `recall` takes: a query, or ids."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=8_000), NoNul] | None = None
    ids: Annotated[list[MemoryId], Field(min_length=1, max_length=20)] | None = None
    k: Annotated[int, Field(ge=1, le=50)] = 8
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=50)] | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=9)] | None = None
    as_of: Annotated[
        str | None,
        StringConstraints(min_length=1, max_length=40),
        Field(
            description="Answer what was stored and live at this moment (RFC 3339), or at a "
            "date's end (UTC).",
        ),
    ] = None
    explain: Annotated[
        bool, Field(description="Show in factors what each hit's score is made of.")
    ] = False


class LegRank(Result):
    """A leg that found a hit, and at what rank (1 is best)."""

    leg: Literal["lexical", "semantic"]
    rank: int


class Hit(Result):
    """A memory that answers the query; `shared`: it lives elsewhere and is shared to `scope`.

    `stale_days`: it is portable knowledge that nobody has checked for so many days.
    """

    id: str
    kind: str
    scope: str
    shared: bool | None = None
    score: float
    excerpt: str
    truncated: bool
    created_at: str
    age: str
    legs: Annotated[
        list[LegRank],
        Field(description="What found it, by words or by meaning, and at which rank (1 is best)."),
    ]
    stale_days: int | None = None
    disputed: bool | None = None
    superseded_by: str | None = None
    factors: dict[str, float] | None = None


class WholeMemory(Result):
    """A memory, whole.

    `shared`: it lives elsewhere and is shared to `scope`. `shared_to` holds the paths of those
    scopes of the caller that it is shared to; `shared_elsewhere` counts others, for members of the
    scope that it lives in.
    """

    id: str
    kind: str
    scope: str
    shared: bool | None = None
    shared_to: list[str] | None = None
    shared_elsewhere: int | None = None
    content: str
    original: str | None = None
    language: str | None = None
    entities: list[str]
    author: str
    author_kind: AuthorKind
    agent_name: str | None = None
    authority: int
    created_at: str
    age: str
    live: bool
    invalidated_at: str | None = None
    invalidated_reason: str | None = None
    superseded_by: str | None = None
    disputed: bool | None = None
    revision: int
    source: dict[str, Any] | None = None


class RecallResult(Result):
    """What `recall` answers: hits of a query, or whole memories by id.

    `unreadable` belong here but are damaged where they are stored; `missing` are not there.
    """

    hits: list[Hit] = Field(default_factory=list)
    memories: list[WholeMemory] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    unreadable: list[str] | None = None
    scopes: list[str] = Field(default_factory=list)
    degraded: bool = False
    degraded_reason: str | None = None
    note: str | None = None
    session: SessionState


class ForgetArguments(Arguments):
    """What `forget` takes."""

    memory_id: MemoryId
    reason: Reason
    thread: ThreadToken | None = None


class RestoreArguments(Arguments):
    """What `restore_memory` takes."""

    memory_id: MemoryId
    audit_id: Annotated[str, StringConstraints(pattern=AUDIT_ID)] | None = None
    thread: ThreadToken | None = None


class StateResult(Result):
    """A memory's state after a change of it.

    `also_ended`: what the undone gesture had written in its place, and holds no more.
    `also_restored`: what an undone undoing had so ended, and holds again.
    """

    id: str
    scope: str
    live: bool
    revision: int
    audit_id: str | None = None
    also_ended: list[str] | None = None
    also_restored: list[str] | None = None
    changed: bool = True


class ListArguments(Arguments):
    """What `list_memories` takes."""

    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=50)] | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=9)] | None = None
    author: Annotated[Name | None, Field(description="An author as answers show it.")] = None
    since: Annotated[
        str | None,
        StringConstraints(max_length=40),
        Field(description="From this moment on (RFC 3339), or from a date's begin (UTC)."),
    ] = None
    until: Annotated[
        str | None,
        StringConstraints(max_length=40),
        Field(description="Up to this moment (RFC 3339), or to a date's end (UTC)."),
    ] = None
    entity: Name | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Cursor | None = None


class ListedMemory(Result):
    """A memory in a list; `shared`: it lives elsewhere and is shared to `scope`."""

    id: str
    kind: str
    scope: str
    shared: bool | None = None
    preview: str
    truncated: bool
    author: str
    entities: list[str]
    created_at: str
    age: str
    disputed: bool | None = None


class ListResult(Result):
    """What `list_memories` answers; `cursor` continues behind it, None when this was the end.

    `unreadable` may belong on this page but are damaged where they are stored.
    """

    memories: list[ListedMemory]
    unreadable: list[str] | None = None
    cursor: str | None = None
    session: SessionState


class DescribeScopeArguments(Arguments):
    """What `describe_scope` takes; `cursor` goes on with the members of `scope`."""

    scope: ScopeName | None = None
    cursor: Cursor | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None


class ScopeMember(Result):
    """A person in a scope."""

    person: str
    name: str
    role: str


class ScopeDescription(Result):
    """A scope: what it is, who is in it, and what it holds.

    `cursor` continues behind these members, None when they were the last.
    """

    path: str
    id: str
    kind: str
    role: str
    owner: str
    created_at: str
    members: list[ScopeMember]
    cursor: str | None = None
    counts: dict[str, str]


class Home(Result):
    """Where memories live, and what finds them there."""

    table: str
    search: str
    embedder: str
    dimensions: int
    languages: list[str]


class DescribeScopeResult(Result):
    """What `describe_scope` answers: one scope, or those that the caller may read.

    Of many, the first are described and the others named in `more_scopes`.
    """

    scopes: list[ScopeDescription]
    more_scopes: list[str]
    home: Home
    limits: dict[str, int]
    session: SessionState
