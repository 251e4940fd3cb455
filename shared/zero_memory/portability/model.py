r"""What a memory is outside of any home.

Ids of memories and audit records stay what they are everywhere. Ids of scopes and of the exporting
person belong to a home, and have portable names instead (`portability.names`). Times are RFC 3339
in UTC, to the millisecond. Inside `before` and `after` of a change, they are milliseconds.

Everything is bounded here, since what came in once is read by all who see it, and goes out again.
Patterns end in `\Z`: Python's `$` lets a line feed follow.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta as Limit
from msgspec import Struct

from zero_memory.contracts.kinds import AuthorKind, Kind, LinkType
from zero_memory.contracts.model import MAX_CONTENT_CHARACTERS, MAX_ENTITIES
from zero_memory.memory.ages import FIRST_MOMENT, LAST_MOMENT
from zero_memory.memory.lifecycle import MAX_LIVES
from zero_memory.memory.linking import MAX_LINKS_OF_A_MEMORY
from zero_memory.memory.model import FOLLOWED, Timeline
from zero_memory.memory.sharing import MAX_SHARED_TO

FORMAT = 1

_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_Content = Annotated[str, Limit(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
_Name = Annotated[str, Limit(min_length=1, max_length=200)]
_Principal = Annotated[
    str, Limit(pattern=rf"^(?:me|p_{_ULID}|a former member)(?:\.[A-Za-z0-9._-]{{1,100}})?\Z")
]
_Time = Annotated[str, Limit(max_length=40)]
_MemoryId = Annotated[str, Limit(pattern=rf"^mem_{_ULID}\Z")]
_AuditId = Annotated[str, Limit(pattern=rf"^aud_{_ULID}\Z")]
_DisputeId = Annotated[str, Limit(pattern=rf"^dsp_{_ULID}\Z")]
_Reason = Annotated[str, Limit(max_length=4_000)]
_Moment = Annotated[int, Limit(ge=FIRST_MOMENT, le=LAST_MOMENT)]
_Revision = Annotated[int, Limit(ge=1, le=2**53)]

State = Literal["live", "invalid", "superseded"]


class Life(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stretch of record time in which a memory was live; without an end it still is."""

    start: _Time
    end: _Time | None = None


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """A typed link from a memory to another. What a memory superseded says so itself."""

    type: LinkType
    target: _MemoryId
    at: _Time


class Change(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An audit record. `before` and `after` hold the fields that changed; `before` None: birth."""

    id: _AuditId
    action: Annotated[str, Limit(min_length=1, max_length=40)]
    at: _Time
    by: _Principal
    revision: _Revision
    before: dict[str, Any] | None
    after: dict[str, Any]
    reason: _Reason | None = None
    conversation: _Name | None = None
    undoes: _AuditId | None = None


class Stretch(Struct, frozen=True, forbid_unknown_fields=True):
    """A life as audit records tell it."""

    start: _Moment
    end: _Moment | None


class Side(Struct, frozen=True, forbid_unknown_fields=True):
    """One side of an audit record: the fields that it may speak of, and what they hold."""

    scope: _Name = ""
    owner: _Principal = ""
    alive: Annotated[tuple[Stretch, ...], Limit(min_length=1, max_length=MAX_LIVES)] = ()
    timeline: Timeline | None = None
    invalidated_at: _Moment | None = None
    invalidated_reason: _Reason | None = None
    superseded_by: _MemoryId | None = None
    checked_at: _Moment | None = None
    shared_to: Annotated[tuple[_Name, ...], Limit(max_length=MAX_SHARED_TO)] = ()
    dispute: _DisputeId | None = None
    link: tuple[Literal["relates_to", "contradicts", "derived_from"], _MemoryId] | None = None


class Doubt(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A dispute about a memory."""

    id: _DisputeId
    at: _Time
    by: _Principal
    reason: _Reason
    evidence: Annotated[str, Limit(max_length=MAX_CONTENT_CHARACTERS)] | None = None
    conversation: _Name | None = None


class Window(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """An embedding window: code-point range of the canonical text, and the packed vector."""

    start: Annotated[int, Limit(ge=0)]
    end: Annotated[int, Limit(ge=0)]
    vector: bytes


class Vectors(Struct, frozen=True, forbid_unknown_fields=True):
    """A memory's windows, by the model that made them."""

    model: _Name
    windows: Annotated[tuple[Window, ...], Limit(max_length=1_000)]


class Past(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What of a memory is for programs: its revision, audit records (oldest first) and disputes.

    `dispute` names the open one.
    """

    revision: _Revision
    changes: Annotated[tuple[Change, ...], Limit(min_length=1, max_length=10_000)]
    disputes: Annotated[tuple[Doubt, ...], Limit(max_length=1_000)] = ()
    dispute: _DisputeId | None = None


class Portable(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """One memory as files hold it; `past` and `vectors` are in JSON Lines only.

    `valid_from` is left out when it is the birth, `authority` and `author_kind` when they are
    those of an agent's own writing. `conversation` is the token that the writer echoed. `follows`
    are the memories that were written right before it, the nearest first. `ordinal` told the same
    in the format's first files, as a count that no other home shares: it is read, and let go.
    """

    zero_memory: Literal[1]
    id: _MemoryId
    kind: Kind
    scope: _Name
    state: State
    created_at: _Time
    author: _Principal
    author_kind: AuthorKind = "agent"
    agent_name: _Name | None = None
    authority: Annotated[int, Limit(ge=0, le=2)] = 1
    entities: Annotated[tuple[_Name, ...], Limit(max_length=MAX_ENTITIES)] = ()
    language: Annotated[str, Limit(min_length=1, max_length=35)] | None = None
    valid_from: _Time | None = None
    alive: Annotated[tuple[Life, ...], Limit(min_length=1, max_length=MAX_LIVES)]
    reason: _Reason | None = None
    superseded_by: _MemoryId | None = None
    checked_at: _Time | None = None
    links: Annotated[tuple[Link, ...], Limit(max_length=4 * MAX_LINKS_OF_A_MEMORY)] = ()
    shared_to: Annotated[tuple[_Name, ...], Limit(max_length=MAX_SHARED_TO)] = ()
    thread: _Name | None = None
    conversation: _Name | None = None
    follows: Annotated[tuple[_MemoryId, ...], Limit(max_length=FOLLOWED)] = ()
    ordinal: Annotated[int, Limit(ge=1)] | None = None
    source: dict[str, Any] | None = None
    original: _Content | None = None
    content: _Content
    past: Past | None = None
    vectors: Vectors | None = None
