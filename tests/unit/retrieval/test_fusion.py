import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from zero_memory.ports.search_index import CorpusStatistics, LexicalMatch, SemanticMatch
from zero_memory.retrieval.fusion import FUSIONS, fuse
from zero_memory.retrieval.ranking import FusionName, Ranking

STATISTICS = CorpusStatistics(100, 1_000, {"cache": 10, "e0308": 1})
TOKENS = ["cache", "e0308"]
ids = st.sampled_from([f"mem_{number}" for number in range(8)])
semantic = st.dictionaries(ids, st.floats(-1, 1)).map(
    lambda cosines: [SemanticMatch(each, cosine, 1, 9) for each, cosine in cosines.items()]
)
lexical = st.dictionaries(
    ids, st.dictionaries(st.sampled_from(TOKENS), st.integers(1, 9), min_size=1)
).map(lambda held: [LexicalMatch(each, counts, 20) for each, counts in held.items()])
rankings = st.sampled_from([Ranking(fusion=name) for name in FUSIONS])


@given(
    near=semantic,
    words=lexical,
    ranking=rankings,
    limit=st.integers(1, 9),
    chaos=st.randoms(use_true_random=False),
)
def test_the_order_depends_on_the_matches_alone(
    near: list[SemanticMatch],
    words: list[LexicalMatch],
    *,
    ranking: Ranking,
    limit: int,
    chaos: random.Random,
) -> None:
    first = fuse(near, words, STATISTICS, TOKENS, ranking, limit=limit)
    chaos.shuffle(near)
    chaos.shuffle(words)
    assert fuse(near, words, STATISTICS, TOKENS, ranking, limit=limit) == first
    assert [(-each.score, each.memory_id) for each in first] == sorted(
        (-each.score, each.memory_id) for each in first
    )
    for each in first:
        assert each.score == pytest.approx(sum(each.factors.values()))
        assert all(1 <= rank <= limit for _, rank in each.legs)


@pytest.mark.parametrize("name", FUSIONS)
def test_what_both_legs_prefer_comes_first(name: FusionName) -> None:
    near = [SemanticMatch("mem_1", 0.9, 0, 9), SemanticMatch("mem_2", 0.8, 0, 9)]
    words = [LexicalMatch("mem_2", {"cache": 1}, 20), LexicalMatch("mem_1", {"e0308": 2}, 20)]
    fused = fuse(near, words, STATISTICS, TOKENS, Ranking(fusion=name), limit=4)
    assert [each.memory_id for each in fused] == ["mem_1", "mem_2"]
    assert fused[0].legs == (("lexical", 1), ("semantic", 1))


def test_an_identifier_beats_a_vague_resemblance() -> None:
    near = [SemanticMatch("mem_1", 0.80, 0, 9), SemanticMatch("mem_2", 0.77, 0, 9)]
    words = [LexicalMatch("mem_2", {"e0308": 1}, 20), LexicalMatch("mem_1", {"cache": 1}, 20)]
    fused = fuse(near, words, STATISTICS, TOKENS, Ranking(), limit=4)
    assert [each.memory_id for each in fused] == ["mem_2", "mem_1"]


def test_a_leg_names_what_is_among_its_best_and_scores_the_rest() -> None:
    near = [SemanticMatch("mem_1", 0.9, 0, 9), SemanticMatch("mem_2", 0.8, 3, 9)]
    words = [LexicalMatch("mem_2", {"cache": 1}, 20)]
    by_id = {
        each.memory_id: each for each in fuse(near, words, STATISTICS, TOKENS, Ranking(), limit=1)
    }
    assert by_id["mem_2"].legs == (("lexical", 1),)
    assert by_id["mem_2"].factors["semantic"] > 0
    assert (by_id["mem_2"].start, by_id["mem_2"].end) == (3, 9)


def test_no_candidates_are_no_results() -> None:
    assert fuse([], [], CorpusStatistics(), [], Ranking(), limit=4) == []


def test_a_weight_of_nothing_leaves_the_semantic_order() -> None:
    near = [SemanticMatch("mem_1", 0.9, 0, 9), SemanticMatch("mem_2", 0.89, 0, 9)]
    words = [LexicalMatch("mem_2", {"e0308": 1}, 20)]
    ranking = replace(Ranking(), lexical_weight=0.0)
    fused = fuse(near, words, STATISTICS, TOKENS, ranking, limit=4)
    assert [each.memory_id for each in fused] == ["mem_1", "mem_2"]


def test_a_match_of_little_of_the_query_is_worth_little() -> None:
    near = [SemanticMatch("mem_1", 0.85, 0, 9), SemanticMatch("mem_2", 0.8, 0, 9)]
    words = [LexicalMatch("mem_2", {"cache": 1}, 10)]
    whole = fuse(near, words, STATISTICS, ["cache"], Ranking(), limit=4)
    assert [each.memory_id for each in whole] == ["mem_2", "mem_1"]
    asked = ["cache", *(f"other{number}" for number in range(9))]
    little = fuse(near, words, STATISTICS, asked, Ranking(), limit=4)
    assert [each.memory_id for each in little] == ["mem_1", "mem_2"]


@given(near=semantic, words=lexical)
def test_no_lexical_match_is_worth_more_than_the_weight(
    near: list[SemanticMatch], words: list[LexicalMatch]
) -> None:
    ranking = Ranking()
    for each in fuse(near, words, STATISTICS, TOKENS, ranking, limit=4):
        assert 0 <= each.factors["lexical"] <= ranking.lexical_weight
