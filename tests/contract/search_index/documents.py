"""Documents for tests of a search index, and an answer computed in the plainest way."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from zero_memory.ports.search_index import (
    CorpusStatistics,
    IndexDocument,
    IndexedWindow,
    LexicalMatch,
    SearchAnswer,
    SearchFilter,
    SemanticMatch,
)
from zero_memory.retrieval.lexical import Bm25, bm25_scorer
from zero_memory.retrieval.vectors import pack, unpack

DIMENSIONS = 4
MODEL = "model@1"
WORDS = ("cache", "deploy", "--no-cache", "\u6771\u4eac", "e0308")
SCOPES = ("scp_A", "scp_B", "scp_C")
KINDS = ("fact", "decision", "episode")


def direction(*numbers: float) -> NDArray[np.float32]:
    """A unit vector, as an index gets it: one that can be packed."""
    return unpack(pack(np.array(numbers, np.float32)))


NORTH = direction(0, 0, 0, 1)


def document(memory_id: str = "mem_1", revision: int = 1, **changes: Any) -> IndexDocument:
    """A live fact of scope A with one window."""
    made = IndexDocument(
        memory_id=memory_id,
        revision=revision,
        visible_in=("scp_A",),
        kind="fact",
        author="p_1",
        created_at=1,
        alive=((1, None),),
        model=MODEL,
        windows=(IndexedWindow(0, 9, NORTH),),
        tokens={"cache": 1},
    )
    return replace(made, **changes)


_vectors = st.lists(
    st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=DIMENSIONS, max_size=DIMENSIONS
).filter(any)
vectors = _vectors.map(lambda numbers: direction(*numbers))
intervals = st.lists(st.integers(0, 9), max_size=5, unique=True).map(
    lambda times: tuple(
        (start, finish)
        for start, finish in zip(sorted(times)[::2], [*sorted(times)[1::2], None], strict=False)
    )
)
words = st.lists(st.sampled_from(WORDS), max_size=4, unique=True)


@st.composite
def documents(
    draw: st.DrawFn, scopes: Sequence[str] = SCOPES, prefix: str = "mem"
) -> IndexDocument:
    """A document whose content is a function of id and revision, as a table's is."""
    windows = draw(st.lists(vectors, min_size=1, max_size=3))
    return document(
        draw(st.sampled_from([f"{prefix}_{number}" for number in range(6)])),
        draw(st.integers(1, 4)),
        visible_in=tuple(draw(st.lists(st.sampled_from(scopes), max_size=3, unique=True))),
        kind=draw(st.sampled_from(KINDS)),
        alive=draw(intervals),
        windows=tuple(IndexedWindow(at * 5, at * 5 + 9, v) for at, v in enumerate(windows)),
        tokens=draw(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 5))),
    )


def histories(
    scopes: Sequence[str] = SCOPES, prefix: str = "mem"
) -> st.SearchStrategy[list[IndexDocument]]:
    """Documents of several memories and revisions, one for each revision."""
    return st.lists(
        documents(scopes, prefix),
        max_size=14,
        unique_by=lambda each: (each.memory_id, each.revision),
    )


filters = st.builds(
    SearchFilter,
    visible_in=st.lists(st.sampled_from(SCOPES), max_size=3).map(tuple),
    kinds=st.none() | st.lists(st.sampled_from(KINDS), min_size=1, max_size=2).map(tuple),
    alive_at=st.none() | st.integers(0, 9),
    without=st.lists(st.sampled_from(["mem_0", "mem_1", "mem_x"]), max_size=2).map(tuple),
)


def expected(
    history: Sequence[IndexDocument],
    where: SearchFilter,
    vector: NDArray[np.float32],
    tokens: Sequence[str],
    limit: int,
) -> SearchAnswer:
    """What an index must answer that holds these documents."""
    newest: dict[str, IndexDocument] = {}
    for each in history:
        if each.memory_id not in newest or each.revision > newest[each.memory_id].revision:
            newest[each.memory_id] = each
    counted = [
        each
        for each in newest.values()
        if set(each.visible_in) & set(where.visible_in)
        and each.memory_id not in where.without
        and _alive(each, where.alive_at)
    ]
    statistics = CorpusStatistics(
        documents=len(counted),
        length=sum(sum(each.tokens.values()) for each in counted),
        document_frequency={
            token: sum(token in each.tokens for each in counted) for token in tokens
        },
    )
    wanted = [each for each in counted if where.kinds is None or each.kind in where.kinds]
    semantic = _semantic(wanted, vector)
    lexical = _lexical(wanted, tokens, statistics)
    chosen = {match.memory_id for match in (*semantic[:limit], *lexical[:limit])}
    return SearchAnswer(
        semantic=tuple(match for match in semantic if match.memory_id in chosen),
        lexical=tuple(match for match in lexical if match.memory_id in chosen),
        statistics=statistics,
    )


def _alive(document: IndexDocument, at: int | None) -> bool:
    if at is None:
        return any(finish is None for _, finish in document.alive)
    return any(start <= at and (finish is None or at < finish) for start, finish in document.alive)


def _semantic(wanted: Sequence[IndexDocument], vector: NDArray[np.float32]) -> list[SemanticMatch]:
    matches: list[SemanticMatch] = []
    for each in wanted:
        cosines = [float(np.vecdot(window.vector, vector)) for window in each.windows]
        best = cosines.index(max(cosines))
        window = each.windows[best]
        matches.append(SemanticMatch(each.memory_id, cosines[best], window.start, window.end))
    return sorted(matches, key=lambda match: (-match.cosine, match.memory_id))


def _lexical(
    wanted: Sequence[IndexDocument], tokens: Sequence[str], statistics: CorpusStatistics
) -> list[LexicalMatch]:
    score_of = bm25_scorer(tokens, statistics, Bm25())
    matches: list[tuple[float, LexicalMatch]] = []
    for each in wanted:
        held = {token: each.tokens[token] for token in tokens if token in each.tokens}
        length = sum(each.tokens.values())
        if held:
            scored = LexicalMatch(each.memory_id, held, length)
            matches.append((score_of(each.tokens, length), scored))
    matches.sort(key=lambda scored: (-scored[0], scored[1].memory_id))
    return [match for _, match in matches]
