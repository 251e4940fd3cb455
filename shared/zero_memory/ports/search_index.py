"""The search index, as a port: candidates for retrieval, never the authority on access.

Everything that an index holds is derived from the table and may be behind it. The scope filter is
part of each query; what comes back is checked again against the table before anybody sees it.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class IndexedWindow(Struct, frozen=True):
    """One embedding window of a memory: its code-point range and unit-length vector.

    The vector is as `retrieval.vectors.unpack` gives it: an index may keep it packed.
    """

    start: int
    end: int
    vector: "NDArray[np.float32]"


class IndexDocument(Struct, frozen=True):
    """What the index holds of one memory at one revision.

    `visible_in` holds the home scope and every scope the memory is shared to. `alive` holds
    half-open intervals of milliseconds; an open end is None. `tokens` come from the one analyzer
    of `retrieval.analysis`, with their frequencies.
    """

    memory_id: str
    revision: int
    visible_in: tuple[str, ...]
    kind: str
    author: str
    created_at: int
    alive: tuple[tuple[int, int | None], ...]
    model: str
    windows: tuple[IndexedWindow, ...]
    tokens: Mapping[str, int]


class SearchFilter(Struct, frozen=True):
    """Which memories a query may touch: in these scopes, of these kinds, live at a moment.

    No kinds: all of them. No moment: now. `without` names memories that are as if the index did
    not hold them, because the table knows better.
    """

    visible_in: tuple[str, ...]
    kinds: tuple[str, ...] | None = None
    alive_at: int | None = None
    without: tuple[str, ...] = ()


class SemanticMatch(Struct, frozen=True):
    """A memory by its nearest window: cosine in [-1, 1], window as a code-point range."""

    memory_id: str
    cosine: float
    start: int
    end: int


class LexicalMatch(Struct, frozen=True):
    """A memory that holds query tokens: their frequencies in it, and its length in tokens."""

    memory_id: str
    frequencies: Mapping[str, int]
    length: int


class CorpusStatistics(Struct, frozen=True):
    """What BM25 needs to know of the filtered memories, and of no others.

    `documents` live memories with `length` tokens in all; `document_frequency` by query token.
    """

    documents: int = 0
    length: int = 0
    document_frequency: Mapping[str, int] = field(default_factory=dict[str, int])


class SearchAnswer(Struct, frozen=True):
    """Both legs' candidates and the statistics to score the lexical ones by.

    `incomplete` says what was left out of account, None when nothing was, but for so many memories
    of the filter as are `unreadable`.
    """

    semantic: tuple[SemanticMatch, ...]
    lexical: tuple[LexicalMatch, ...]
    statistics: CorpusStatistics
    incomplete: str | None = None
    unreadable: int = 0


class IndexUnavailable(Exception):
    """The index does not answer; the message says why, for `degraded`."""


class IndexNotFilled(IndexUnavailable):
    """Not every memory is in the index yet, as after it was made; no failure, and it passes."""


class DocumentRefused(Exception):
    """The index refuses a document for what it is, at each attempt; the message says why."""


class IndexWriter(Protocol):
    """What an index is fed by. Safe to call from several threads."""

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """Store documents; visible to `search` when this returns.

        Idempotent: a document whose revision is not above the stored one's changes nothing.
        A memory that is not alive stays, with its intervals. Raises IndexUnavailable, and
        DocumentRefused for one that cannot be stored, such as one with another model's vectors;
        whether the others of the call are stored is open then.
        """
        ...

    def erase(self, memory_ids: Sequence[str]) -> None:
        """Remove memories for good; no byte of theirs stays in the index's files."""
        ...


class SearchIndex(IndexWriter, Protocol):
    """A k-NN and lexical index over memories. Safe to call from several threads."""

    def search(
        self,
        where: SearchFilter,
        *,
        vector: "NDArray[np.float32]",
        tokens: Sequence[str],
        limit: int,
    ) -> SearchAnswer:
        """The `limit` nearest memories by cosine, and the `limit` best by BM25.

        Each leg goes on with what only the other one chose, so that both scores of a candidate
        are known; who holds no query token has none in the lexical leg. Each memory comes once a
        leg, best first; ties by memory id. Statistics are of the filter's
        scopes and moment, whatever `kinds` says. Raises IndexUnavailable.
        """
        ...

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """How many memories of each kind the filter lets through; kinds with none are left out."""
        ...


class DerivedIndex(SearchIndex, Protocol):
    """An index that is kept beside the table, so that it can differ from it and be built anew.

    One that does not hold every memory yet, or is of another model, answers no search and no
    facets: it raises IndexUnavailable, which says that it is to be built.
    """

    def replacing(self) -> AbstractContextManager[IndexWriter]:
        """Build it anew: `apply` and `erase` of every process reach the new index meanwhile.

        What is applied by the writer that this yields reaches the new one alone, quicker, and need
        not be visible before the block ends. Then the new index takes the old one's place in one
        step, and is complete. When the block fails, the old one stays, or none answers. What an
        earlier attempt left behind is dropped first. Raises IndexUnavailable.
        """
        ...

    def identity(self) -> str:
        """What no other index is called, this one's successor neither. Raises IndexUnavailable."""
        ...

    def revisions(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        """The revisions that it holds of these memories; those that it lacks are left out."""
        ...

    def stored(self, *, after: str, limit: int) -> Sequence[str]:
        """The first `limit` memories (at most 1,000) that it holds, by ids above `after`."""
        ...

    def mark_complete(self) -> None:
        """Note that it holds every memory of the table, so that it may answer. Idempotent."""
        ...
