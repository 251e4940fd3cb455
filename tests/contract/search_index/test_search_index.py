"""What retrieval relies on in a search index."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.contract.search_index.conftest import OpenIndex
from tests.contract.search_index.documents import (
    NORTH,
    SCOPES,
    direction,
    document,
    documents,
    expected,
    filters,
    histories,
    vectors,
    words,
)
from zero_memory.ports.search_index import (
    DerivedIndex,
    DocumentRefused,
    IndexDocument,
    IndexedWindow,
    IndexUnavailable,
    SearchAnswer,
    SearchFilter,
    SearchIndex,
)

IN_A = SearchFilter(("scp_A",))
quick = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def search(
    index: SearchIndex,
    where: SearchFilter = IN_A,
    *,
    vector: NDArray[np.float32] = NORTH,
    tokens: tuple[str, ...] = ("cache",),
    limit: int = 10,
) -> SearchAnswer:
    return index.search(where, vector=vector, tokens=tokens, limit=limit)


def ids(answer: SearchAnswer) -> tuple[list[str], list[str]]:
    return (
        [match.memory_id for match in answer.semantic],
        [match.memory_id for match in answer.lexical],
    )


def assert_same(found: SearchAnswer, wanted: SearchAnswer) -> None:
    assert ids(found) == ids(wanted)
    assert found.lexical == wanted.lexical
    assert found.statistics == wanted.statistics
    for match, other in zip(found.semantic, wanted.semantic, strict=True):
        assert match.cosine == pytest.approx(other.cosine, abs=1e-6)
        assert (match.start, match.end) == (other.start, other.end)


def test_an_empty_index_answers_nothing(index: SearchIndex) -> None:
    answer = search(index)
    assert ids(answer) == ([], [])
    assert answer.statistics.documents == 0
    assert index.facets(IN_A) == {}


def test_a_document_is_found_by_both_legs_when_apply_returns(index: SearchIndex) -> None:
    index.apply([document(tokens={"cache": 2, "deploy": 1})])
    answer = search(index)
    assert ids(answer) == (["mem_1"], ["mem_1"])
    assert answer.semantic[0].cosine == pytest.approx(1)
    assert answer.lexical[0].frequencies == {"cache": 2}
    assert answer.lexical[0].length == 3


def test_a_memory_comes_once_by_its_nearest_window(index: SearchIndex) -> None:
    windows = (
        IndexedWindow(0, 9, direction(1, 0, 0, 0)),
        IndexedWindow(5, 14, direction(0, 0, 1, 5)),
        IndexedWindow(10, 19, direction(0, 0, 1, 1)),
    )
    index.apply([document(windows=windows)])
    (match,) = search(index).semantic
    assert (match.start, match.end) == (5, 14)


def test_a_memory_shared_to_several_scopes_comes_and_counts_once(index: SearchIndex) -> None:
    index.apply([document(visible_in=SCOPES), document("mem_2", visible_in=("scp_B",))])
    answer = search(index, SearchFilter(SCOPES))
    assert ids(answer) == (["mem_1", "mem_2"], ["mem_1", "mem_2"])
    assert answer.statistics.documents == 2
    assert index.facets(SearchFilter(SCOPES)) == {"fact": 2}


def test_a_memory_leaves_the_scope_that_it_is_moved_out_of(index: SearchIndex) -> None:
    index.apply([document()])
    index.apply([document(revision=2, visible_in=("scp_B",))])
    assert ids(search(index)) == ([], [])
    assert ids(search(index, SearchFilter(("scp_B",)))) == (["mem_1"], ["mem_1"])


def test_a_memory_that_left_one_of_its_scopes_is_found_in_the_others(index: SearchIndex) -> None:
    index.apply([document(visible_in=SCOPES)])
    index.apply([document(revision=2, visible_in=SCOPES[1:])])
    answer = search(index, SearchFilter(SCOPES))
    assert ids(answer) == (["mem_1"], ["mem_1"])
    assert answer.statistics.documents == 1


def test_a_dead_memory_is_found_only_at_its_moments(index: SearchIndex) -> None:
    index.apply([document(alive=((10, 20), (30, 40)))])
    assert ids(search(index)) == ([], [])
    found = {at for at in range(5, 45) if search(index, SearchFilter(("scp_A",), None, at)).lexical}
    assert found == {*range(10, 20), *range(30, 40)}


def test_kinds_choose_who_is_found_and_not_who_is_counted(index: SearchIndex) -> None:
    index.apply([document(), document("mem_2", kind="decision")])
    answer = search(index, SearchFilter(("scp_A",), ("decision",)))
    assert ids(answer) == (["mem_2"], ["mem_2"])
    assert answer.statistics.documents == 2
    assert index.facets(SearchFilter(("scp_A",), ("decision",))) == {"decision": 1}


def test_an_older_revision_changes_nothing(index: SearchIndex) -> None:
    index.apply([document(revision=3, alive=((1, 2),))])
    index.apply([document(revision=2), document(revision=3)])
    assert ids(search(index)) == ([], [])


def test_ties_are_ordered_by_id(index: SearchIndex) -> None:
    names = [f"mem_{number:03}" for number in range(300)]
    shuffled = random.Random(7).sample(names, len(names))  # noqa: S311 - an order, not a secret
    index.apply([document(name) for name in shuffled])
    assert ids(search(index, limit=5)) == (names[:5], names[:5])


def test_an_erased_memory_is_gone_and_may_come_back(index: SearchIndex) -> None:
    index.apply([document(revision=5), document("mem_2")])
    index.erase(["mem_1", "mem_unknown"])
    answer = search(index)
    assert ids(answer) == (["mem_2"], ["mem_2"])
    assert answer.statistics.documents == 1
    index.apply([document()])
    assert ids(search(index)) == (["mem_1", "mem_2"], ["mem_1", "mem_2"])


def test_vectors_of_another_model_are_refused(index: SearchIndex) -> None:
    index.apply([document()])
    with pytest.raises(DocumentRefused, match="reindex"):
        index.apply([document("mem_2", model="model@2")])
    assert ids(search(index)) == (["mem_1"], ["mem_1"])


def test_a_query_of_other_dimensions_is_refused(index: SearchIndex) -> None:
    index.apply([document()])
    with pytest.raises(IndexUnavailable, match="reindex"):
        search(index, vector=direction(1, 1, 1))


@quick
@given(
    history=histories(),
    where=filters,
    vector=vectors,
    tokens=words,
    limit=st.integers(1, 8),
    chaos=st.randoms(use_true_random=False),
)
def test_answers_follow_from_the_newest_revisions(
    open_index: OpenIndex,
    *,
    history: list[IndexDocument],
    where: SearchFilter,
    vector: NDArray[np.float32],
    tokens: list[str],
    limit: int,
    chaos: random.Random,
) -> None:
    """Whatever the order, however often, and in batches of whatever size."""
    index = open_index()
    replayed = history + chaos.sample(history, len(history) // 2)
    chaos.shuffle(replayed)
    while replayed:
        size = chaos.randint(1, len(replayed))
        index.apply(replayed[:size])
        replayed = replayed[size:]
    answer = index.search(where, vector=vector, tokens=tokens, limit=limit)
    wanted = expected(history, where, vector, tokens, limit)
    assert_same(answer, wanted)


@quick
@given(
    own=histories(SCOPES[:2]),
    foreign=histories(SCOPES[2:], "other"),
    vector=vectors,
    tokens=words,
    kinds=st.none() | st.just(("fact",)),
)
def test_what_other_scopes_hold_changes_nothing(
    open_index: OpenIndex,
    *,
    own: list[IndexDocument],
    foreign: list[IndexDocument],
    vector: NDArray[np.float32],
    tokens: list[str],
    kinds: tuple[str, ...] | None,
) -> None:
    alone, among = open_index(), open_index()
    alone.apply(own)
    among.apply(foreign)
    among.apply(own)
    where = SearchFilter(SCOPES[:2], kinds)
    apart = alone.search(where, vector=vector, tokens=tokens, limit=5)
    assert among.search(where, vector=vector, tokens=tokens, limit=5) == apart


@quick
@given(history=histories(), erased=documents())
def test_erasing_is_as_if_a_memory_had_never_been(
    open_index: OpenIndex, history: list[IndexDocument], erased: IndexDocument
) -> None:
    index = open_index()
    index.apply(history)
    index.erase([erased.memory_id])
    rest = [each for each in history if each.memory_id != erased.memory_id]
    where = SearchFilter(SCOPES)
    wanted = expected(rest, where, NORTH, ["cache", "deploy"], 10)
    assert_same(search(index, where, tokens=("cache", "deploy")), wanted)


def test_searches_and_writes_in_several_threads_see_whole_memories(index: SearchIndex) -> None:
    def work(worker: int) -> None:
        for number in range(20):
            index.apply([document(f"mem_{worker}_{number:02}")])
            near, matching = ids(search(index, limit=1_000))
            assert near == matching
            assert f"mem_{worker}_{number:02}" in near

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert search(index).statistics.documents == 80


def test_it_says_which_memories_it_holds_at_which_revision(index: DerivedIndex) -> None:
    index.apply([document(f"mem_{number}", number) for number in (3, 1, 2)])
    index.apply([document("mem_1", 7, alive=((1, 5),), visible_in=("scp_B",))])
    index.erase(["mem_3"])
    assert index.revisions(["mem_1", "mem_2", "mem_3", "mem_4"]) == {"mem_1": 7, "mem_2": 2}
    assert index.revisions([]) == {}
    assert index.stored(after="", limit=1) == ["mem_1"]
    assert index.stored(after="mem_1", limit=9) == ["mem_2"]
    assert index.stored(after="mem_2", limit=9) == []


def test_what_is_built_anew_holds_nothing_of_the_old_and_has_another_name(
    index: DerivedIndex,
) -> None:
    index.apply([document(), document("mem_2")])
    before = index.identity()
    assert index.identity() == before
    with index.replacing():
        index.apply([document("mem_3")])
    assert index.identity() != before
    assert ids(search(index)) == (["mem_3"], ["mem_3"])
    assert index.stored(after="", limit=9) == ["mem_3"]


def test_what_the_writer_of_a_new_one_stores_is_found_when_it_is_built(
    index: DerivedIndex,
) -> None:
    index.apply([document()])
    with index.replacing() as anew:
        anew.apply([document("mem_2"), document("mem_3")])
        index.apply([document("mem_4")])
        anew.erase(["mem_3"])
        anew.apply([document("mem_2", revision=1), document("mem_5")])
    assert set(index.stored(after="", limit=9)) == {"mem_2", "mem_4", "mem_5"}


def interrupted(index: DerivedIndex) -> None:
    with index.replacing():
        index.apply([document("mem_2")])
        raise KeyboardInterrupt


def test_one_whose_building_is_interrupted_never_answers_as_if_it_were_whole(
    index: DerivedIndex,
) -> None:
    index.apply([document(), document("mem_2")])
    with pytest.raises(KeyboardInterrupt):
        interrupted(index)
    try:
        found = ids(search(index))
    except IndexUnavailable:
        found = None
    assert found in (None, (["mem_1", "mem_2"], ["mem_1", "mem_2"]))
    with index.replacing():
        index.apply([document("mem_3")])
    assert ids(search(index)) == (["mem_3"], ["mem_3"])
