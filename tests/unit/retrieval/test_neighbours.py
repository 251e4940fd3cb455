import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import meta
from zero_memory.retrieval.fusion import Fused
from zero_memory.retrieval.neighbours import support
from zero_memory.retrieval.ranking import Ranking
from zero_memory.scopes.visibility import ReadSet

RANKING = Ranking(neighbour_weights=(0.2, 0.1))
READ_SET = ReadSet({"scp_1": "proj.ada.web", "scp_2": "proj.ada.api"})


def found(memory_id: str, score: float, *, by_a_leg: bool = True) -> Fused:
    return Fused(memory_id, score, (("semantic", 1),) if by_a_leg else (), {})


FUSED = [found("mem_1", 0.9), found("mem_2", 0.5), found("mem_3", 0.1)]


def test_neighbours_give_a_share_of_what_they_are_above_the_lowest() -> None:
    metas = {each: meta(each, ordinal=at) for at, each in enumerate(("mem_1", "mem_2", "mem_3"), 7)}
    assert support(FUSED, metas, READ_SET, RANKING) == pytest.approx(
        {"mem_1": 0.2 * 0.4, "mem_2": 0.2 * 0.8, "mem_3": 0.2 * 0.4 + 0.1 * 0.8}
    )


@pytest.mark.parametrize(
    "other",
    [
        {"ordinal": 10},
        {"ordinal": None},
        {"scope": "scp_2"},
    ],
    ids=["three writes away", "of no known place", "of another scope"],
)
def test_what_was_not_written_next_to_it_gives_nothing(other: dict[str, object]) -> None:
    metas = {
        "mem_1": meta("mem_1", **{"ordinal": 6, **other}),
        "mem_2": meta("mem_2", ordinal=7),
        "mem_3": meta("mem_3", ordinal=1),
    }
    assert set(support(FUSED, metas, READ_SET, RANKING).values()) == {0.0}


def test_what_is_seen_through_a_share_alone_has_no_neighbours() -> None:
    metas = {
        each: meta(each, ordinal=at, scope="scp_9", shared_to=("scp_1",))
        for at, each in enumerate(("mem_1", "mem_2", "mem_3"), 7)
    }
    assert set(support(FUSED, metas, READ_SET, RANKING).values()) == {0.0}


def test_what_no_leg_found_gives_nothing() -> None:
    metas = {each: meta(each, ordinal=at) for at, each in enumerate(("mem_1", "mem_2", "mem_3"), 7)}
    fused = [found("mem_1", 0.9, by_a_leg=False), *FUSED[1:]]
    assert support(fused, metas, READ_SET, RANKING)["mem_2"] == 0.0


def test_of_writers_at_one_moment_the_best_counts() -> None:
    metas = {each: meta(each, ordinal=7) for each in ("mem_1", "mem_3")}
    metas["mem_2"] = meta("mem_2", ordinal=8)
    assert support(FUSED, metas, READ_SET, RANKING)["mem_2"] == pytest.approx(0.2 * 0.8)


@given(st.lists(st.tuples(st.floats(0, 1), st.none() | st.integers(1, 9)), max_size=12))
def test_support_is_bounded_and_never_against(drawn: list[tuple[float, int | None]]) -> None:
    fused = [found(f"mem_{at}", score) for at, (score, _) in enumerate(drawn)]
    metas = {
        f"mem_{at}": meta(f"mem_{at}", ordinal=ordinal) for at, (_, ordinal) in enumerate(drawn)
    }
    supported = support(fused, metas, READ_SET, RANKING)
    assert supported.keys() == metas.keys()
    assert all(0 <= each <= 2 * sum(RANKING.neighbour_weights) for each in supported.values())
