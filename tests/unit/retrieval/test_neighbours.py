from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records import meta
from zero_memory.memory.model import FOLLOWED, Meta
from zero_memory.retrieval.fusion import Fused
from zero_memory.retrieval.neighbours import support
from zero_memory.retrieval.ranking import Ranking
from zero_memory.scopes.visibility import ReadSet

RANKING = Ranking(neighbour_weights=(0.2, 0.1))
READ_SET = ReadSet({"scp_1": "proj.ada.web", "scp_2": "proj.ada.api"})


def found(memory_id: str, score: float, *, by_a_leg: bool = True) -> Fused:
    return Fused(memory_id, score, (("semantic", 1),) if by_a_leg else (), {})


def written(*memory_ids: str, **changes: object) -> dict[str, Meta]:
    """Memories that were written in this order."""
    return {
        each: meta(each, follows=memory_ids[max(0, at - FOLLOWED) : at][::-1], **changes)
        for at, each in enumerate(memory_ids)
    }


FUSED = [found("mem_1", 0.9), found("mem_2", 0.5), found("mem_3", 0.1)]
THREE = written("mem_1", "mem_2", "mem_3")


def test_neighbours_give_a_share_of_what_they_are_above_the_lowest() -> None:
    assert support(FUSED, THREE, READ_SET, RANKING) == pytest.approx(
        {"mem_1": 0.2 * 0.4, "mem_2": 0.2 * 0.8, "mem_3": 0.2 * 0.4 + 0.1 * 0.8}
    )


@pytest.mark.parametrize(
    "metas",
    [
        written("mem_1", "mem_a", "mem_b", "mem_2", "mem_c", "mem_d", "mem_3"),
        {each: meta(each) for each in THREE},
        THREE | {"mem_2": meta("mem_2", scope="scp_2"), "mem_3": meta("mem_3", follows=("mem_2",))},
    ],
    ids=["three writes away", "behind nothing that is known", "of another scope"],
)
def test_what_was_not_written_next_to_it_gives_nothing(metas: Mapping[str, Meta]) -> None:
    assert set(support(FUSED, metas, READ_SET, RANKING).values()) == {0.0}


def test_what_is_seen_through_a_share_alone_has_no_neighbours() -> None:
    metas = written("mem_1", "mem_2", "mem_3", scope="scp_9", shared_to=("scp_1",))
    assert set(support(FUSED, metas, READ_SET, RANKING).values()) == {0.0}


def test_what_no_leg_found_gives_nothing() -> None:
    fused = [found("mem_1", 0.9, by_a_leg=False), *FUSED[1:]]
    assert support(fused, THREE, READ_SET, RANKING)["mem_2"] == 0.0


def test_of_writers_at_one_moment_the_best_counts() -> None:
    metas = written("mem_2") | {each: meta(each, follows=("mem_2",)) for each in ("mem_1", "mem_3")}
    assert support(FUSED, metas, READ_SET, RANKING)["mem_2"] == pytest.approx(0.2 * 0.8)


def test_those_that_were_moved_together_are_neighbours_where_they_are_now() -> None:
    moved = written("mem_1", "mem_2", "mem_3", scope="scp_2")
    there = support(FUSED, THREE, READ_SET, RANKING)
    assert support(FUSED, moved, READ_SET, RANKING) == there


NAMES = [f"mem_{number}" for number in range(6)]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Fused], dict[str, Meta]]:
    """Candidates that follow whatever they like: themselves, each other in a ring, strangers."""
    fused = [
        found(name, draw(st.floats(0, 1)), by_a_leg=draw(st.booleans()))
        for name in draw(st.permutations(NAMES))
    ]
    metas = {
        name: meta(
            name,
            scope=draw(st.sampled_from(["scp_1", "scp_2", "scp_9"])),
            follows=tuple(draw(st.lists(st.sampled_from([*NAMES, "mem_x"]), max_size=FOLLOWED))),
        )
        for name in NAMES
    }
    return fused, metas


@given(worlds())
def test_support_is_bounded_never_against_and_hangs_on_no_order_of_the_candidates(
    world: tuple[Sequence[Fused], Mapping[str, Meta]],
) -> None:
    fused, metas = world
    supported = support(fused, metas, READ_SET, RANKING)
    assert supported.keys() == metas.keys()
    assert all(0 <= each <= 2 * sum(RANKING.neighbour_weights) for each in supported.values())
    assert support(fused[::-1], metas, READ_SET, RANKING) == pytest.approx(supported)
