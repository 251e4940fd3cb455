"""How the local index ranks: exactly, over the arrays of a query's scopes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from zero_memory.adapters.local_shard import Postings, Shard
from zero_memory.ports.search_index import CorpusStatistics, SemanticMatch
from zero_memory.retrieval.lexical import Bm25, length_norm, term_score, term_weight

SPAN = np.dtype("<u4")

TIE = 1e-5
"""A matrix product differs by a row's position in the last digits, so the rows this close to the
last candidate are computed again, each alone."""


class View(Struct, frozen=True):
    """A scope under a filter: which rows count for the statistics, and which may be found."""

    shard: Shard
    counted: NDArray[np.bool_]
    eligible: NDArray[np.bool_]
    postings: Mapping[str, Postings]

    def frequencies(self, rows: Sequence[int]) -> dict[int, dict[str, int]]:
        """By row, how often it holds each token of the query that it holds."""
        held: dict[int, dict[str, int]] = {row: {} for row in rows}
        wanted = np.array(rows, np.int64)
        for token, postings in self.postings.items():
            if len(postings.rows):
                at = np.searchsorted(postings.rows, wanted).clip(max=len(postings.rows) - 1)
                at = at[postings.rows[at] == wanted]
                counted = postings.frequencies[at].tolist()
                for row, frequency in zip(postings.rows[at].tolist(), counted, strict=True):
                    held[row][token] = int(frequency)
        return held


class At(NamedTuple):
    """A row of one of a query's views."""

    view: int
    row: int


class Written(NamedTuple):
    """What is written of a row's memory."""

    memory_id: str
    length: int
    first: int
    windows: int
    spans: bytes


class Candidate(Struct, frozen=True):
    """A memory that a leg chose, as either leg sees it."""

    memory_id: str
    length: int
    nearest: SemanticMatch
    score: float

    @property
    def by_cosine(self) -> tuple[float, str]:
        """Its place among others, nearest first."""
        return -self.nearest.cosine, self.memory_id

    @property
    def by_score(self) -> tuple[float, str]:
        """Its place among others, best match first."""
        return -self.score, self.memory_id


def compare(
    written: Mapping[At, Written],
    views: Sequence[View],
    scores: Sequence[NDArray[np.float64]],
    vector: NDArray[np.float32],
) -> dict[At, Candidate]:
    """What both legs say of these rows, each window compared alone."""
    candidates: dict[At, Candidate] = {}
    for number, view in enumerate(views):
        some = [(at, each) for at, each in written.items() if at.view == number]
        if not some:
            continue
        rows = np.concatenate([np.arange(w.first, w.first + w.windows) for _, w in some])
        cosines = np.vecdot(view.shard.vectors.rows(len(view.shard.owners))[rows], vector).tolist()
        spans = np.frombuffer(b"".join(each.spans for _, each in some), SPAN).reshape(-1, 2)
        begin = 0
        for at, each in some:
            end = begin + each.windows
            nearest = max(range(begin, end), key=cosines.__getitem__)
            match = SemanticMatch(each.memory_id, cosines[nearest], *spans[nearest].tolist())
            score = float(scores[number][at.row])
            candidates[at] = Candidate(each.memory_id, each.length, match, score)
            begin = end
    return candidates


def corpus_of(views: Sequence[View], tokens: Sequence[str]) -> CorpusStatistics:
    """The views as one corpus."""
    held = dict.fromkeys(tokens, 0)
    for view in views:
        for token, postings in view.postings.items():
            held[token] += int(np.count_nonzero(view.counted[postings.rows]))
    return CorpusStatistics(
        documents=sum(int(np.count_nonzero(view.counted)) for view in views),
        length=sum(int(view.shard.lengths[view.counted].sum()) for view in views),
        document_frequency=held,
    )


def cosines_by_row(view: View, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """By row, the cosine of its nearest window; minus infinity where the filter is in the way."""
    owners = view.shard.owners
    cosines = view.shard.vectors.rows(len(owners)) @ vector
    nearest = np.full(len(view.eligible) + 1, -np.inf, np.float32)
    # What vacant vectors have as owner, -1, is the spare place behind the last row.
    np.maximum.at(nearest, owners, cosines)
    return np.where(view.eligible, nearest[:-1], np.float32(-np.inf))


def scores_by_row(view: View, statistics: CorpusStatistics, bm25: Bm25) -> NDArray[np.float64]:
    """By row, its BM25; minus infinity where it is 0 or the filter is in the way."""
    scores = np.zeros(len(view.eligible), np.float64)
    norms = length_norm(view.shard.lengths, statistics, bm25)
    for token, (rows, frequencies) in view.postings.items():
        weight = term_weight(token, statistics, bm25)
        scores[rows] += term_score(frequencies, norms[rows], weight)
    return np.where(view.eligible & (scores > 0), scores, -np.inf)


def best_rows(scores: "Sequence[NDArray[np.floating]]", limit: int, tie: float) -> set[At]:
    """The `limit` best rows of all views, with all that are as good as the last but for `tie`."""
    everything = np.concatenate(scores) if scores else np.empty(0)
    floor = -np.inf
    if len(everything) > limit:
        floor = np.partition(everything, len(everything) - limit)[len(everything) - limit] - tie
    return {
        At(at, row)
        for at, each in enumerate(scores)
        for row in np.flatnonzero((each >= floor) & (each > -np.inf)).tolist()
    }
