"""What a memory is made of: the records that the table keeps, as the domain sees them.

Times are milliseconds since the epoch. Ids of scopes are `scp_<ulid>`, of memories `mem_<ulid>`.
"""

from typing import Literal, get_args

from msgspec import Struct, field

from zero_memory.contracts.kinds import AuthorKind, Kind, LinkType

KINDS: tuple[Kind, ...] = get_args(Kind)
LOOP_KINDS: frozenset[Kind] = frozenset(("task", "open-question"))

Timeline = Literal["knowledge", "loops", "episodes"]
TIMELINES: tuple[Timeline, ...] = get_args(Timeline)

FOLLOWED = 2
"""How many memories a later one names as written right before it."""

AUTHORITY_PROVISIONAL = 0
AUTHORITY_AGENT = 1
AUTHORITY_HUMAN = 2


def timeline_of(kind: Kind) -> Timeline:
    """The listing that memories of this kind stand in."""
    if kind in LOOP_KINDS:
        return "loops"
    return "episodes" if kind == "episode" else "knowledge"


class Interval(Struct, frozen=True):
    """A half-open stretch of record time in which a memory was live; an open end is None."""

    start: int
    end: int | None = None


class Body(Struct, frozen=True):
    """What is written once and never changes: the words and where they came from.

    `content` is as sent, to the byte. `source_json` is the caller's `source` as JSON text.
    """

    content: str
    original: str | None = None
    language: str | None = None
    entities: tuple[str, ...] = ()
    agent_name: str | None = None
    source_json: str | None = None


class Meta(Struct, frozen=True):
    """The small authoritative record of one memory: state, scope, revision, intervals of life.

    `body` is here when it is short; otherwise it is a `StoredBody` of its own. `digest` is the
    SHA-256 of kind and canonical text, `folded` that of kind and folded text. `timeline` is set
    while the memory is live. `thread` is the conversation's token as the writer echoed it.
    `conversation` names principal and conversation of birth. `shared_to` holds the other scopes
    whose readers may read it. `dispute` names the open dispute about it. `follows` names the
    memories that were written right before it in its scope or its file, the nearest first.
    """

    memory_id: str
    scope: str
    owner: str
    author: str
    author_kind: AuthorKind
    kind: Kind
    authority: int
    created_at: int
    valid_from: int
    alive: tuple[Interval, ...]
    revision: int
    digest: str
    folded: str
    windows: int = 1
    timeline: Timeline | None = None
    conversation: str | None = None
    thread: str | None = None
    body: Body | None = None
    invalidated_at: int | None = None
    invalidated_reason: str | None = None
    superseded_by: str | None = None
    checked_at: int | None = None
    shared_to: tuple[str, ...] = ()
    dispute: str | None = None
    follows: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether the memory holds today."""
        return bool(self.alive) and self.alive[-1].end is None


class StoredBody(Struct, frozen=True):
    """The body of a memory that is too long for its `Meta`."""

    memory_id: str
    body: Body


class TimelineEntry(Struct, frozen=True):
    """View of live memories of a scope by class, ordered by id (and so by time of birth)."""

    scope: str
    timeline: Timeline
    memory_id: str
    kind: Kind
    author: str


class ConversationEntry(Struct, frozen=True):
    """View of memories by the conversation that wrote them, ordered by id."""

    conversation: str
    memory_id: str
    scope: str
    kind: Kind


class StoredWindow(Struct, frozen=True):
    """An embedding window: code-point range, and an int8 vector behind its float32 scale."""

    start: int
    end: int
    vector: bytes


class Passage(Struct, frozen=True):
    """Everything that retrieval needs of a text, and a function of that text alone.

    `vector` of each window is the vector, in every home (`retrieval.vectors`). `tokens` are the
    analyzer's, with their frequencies.
    """

    model: str
    windows: tuple[StoredWindow, ...]
    tokens: dict[str, int] = field(default_factory=dict[str, int])


class SearchRecord(Struct, frozen=True):
    """The passage of one memory, in its scope."""

    scope: str
    memory_id: str
    passage: Passage


class SharedMemory(Struct, frozen=True):
    """Says in a scope that a memory of another one is shared to it, live or not.

    What finds it there; `Meta.shared_to` decides. `entities` are the memory's.
    """

    scope: str
    memory_id: str
    entities: tuple[str, ...] = ()


class PendingMarker(Struct, frozen=True):
    """Says that index and views may not show a live memory as it is from this revision on."""

    scope: str
    memory_id: str
    revision: int


class IndexSweep(Struct, frozen=True):
    """How far the comparison of the table with one index has come (`retrieval.drift`).

    `index` is the index's identity. First each scope's memories are looked for in the index:
    `scope` is the one in hand, read up to `memory_after`, and `scopes_after` where the directory
    of scopes goes on. Then the table is asked for what the index holds, read up to `stored_after`.
    `refused` counts what the index would not take. `expires_at` is in seconds since the epoch.
    """

    index: str
    side: Literal["table", "index"] = "table"
    scopes_after: str | None = None
    scope: str | None = None
    memory_after: str | None = None
    stored_after: str = ""
    refused: int = 0
    revision: int = 0
    expires_at: int = 0


class DuplicateClaim(Struct, frozen=True):
    """Held by the live memory of a scope that says exactly this, as this kind."""

    scope: str
    digest: str
    memory_id: str


class Wording(Struct, frozen=True):
    """Finds an owner's memories that say the same after folding; `folded` is its SHA-256."""

    owner: str
    folded: str
    memory_id: str


class EntityName(Struct, frozen=True):
    """An entity that a scope has spoken of, by the name under which its spellings meet."""

    scope: str
    folded: str
    name: str


class Mention(Struct, frozen=True):
    """An entity that a memory of a scope speaks of.

    `folded` is the entity's name under which spellings meet; `others` are the memory's other
    entities, so that one query answers nodes and edges.
    """

    scope: str
    folded: str
    memory_id: str
    name: str
    others: tuple[str, ...] = ()


class LinkOut(Struct, frozen=True):
    """A typed link, at its source."""

    source: str
    link: LinkType
    target: str
    created_at: int


class LinkIn(Struct, frozen=True):
    """The same link, at its target."""

    target: str
    link: LinkType
    source: str
    created_at: int


class AuditRecord(Struct, frozen=True):
    """One change of state of one memory: who, when, why, in which conversation, and its inverse.

    `before` and `after` are JSON texts of the fields of `Meta` that changed, and nothing else, so
    that either state can be rebuilt from the other; an added or removed link stands there as
    `link`, a pair of type and target. `undoes` names the audit record that this one reversed.
    Never holds content.
    """

    memory_id: str
    audit_id: str
    action: str
    at: int
    principal: str
    revision: int
    before: str
    after: str
    reason: str | None = None
    conversation: str | None = None
    undoes: str | None = None


class IdempotentAnswer(Struct, frozen=True):
    """What a call with this key did: the request's hash, and the ids of its result.

    `expires_at` is in seconds since the epoch, as the table's expiry wants it.
    """

    principal: str
    tool: str
    key: str
    request: str
    result: str
    expires_at: int


class AnswerPointer(Struct, frozen=True):
    """Says that an idempotent answer names this memory; it expires with the answer."""

    memory_id: str
    principal: str
    tool: str
    key: str
    expires_at: int


class Dispute(Struct, frozen=True):
    """Somebody's doubt about one memory, which stays live meanwhile.

    It is open while the memory's `Meta.dispute` names it.
    """

    memory_id: str
    dispute_id: str
    raised_at: int
    principal: str
    reason: str
    evidence: str | None = None
    conversation: str | None = None
