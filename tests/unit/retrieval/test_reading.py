"""What a failure is blamed on, when memories are read many at a time."""

from collections.abc import Callable, Sequence

import pytest

from zero_memory.ports.table import TableUnavailable
from zero_memory.retrieval.reading import apart


def failing_on(
    odd: int, failure: Exception, asked: list[int]
) -> Callable[[Sequence[str]], list[str]]:
    def do(some: Sequence[str]) -> list[str]:
        asked.append(len(some))
        if not some or f"mem_{odd}" in some:
            raise failure
        return [*some]

    return do


IDS = [f"mem_{number}" for number in range(8)]


def test_one_memory_is_found_by_halves_and_the_others_are_done() -> None:
    asked: list[int] = []
    done, failed = apart(failing_on(5, KeyError(), asked), IDS, fault=KeyError)
    assert (done, failed) == ([each for each in IDS if each != "mem_5"], ["mem_5"])
    assert asked == [8, 4, 4, 2, 1, 1, 2]


@pytest.mark.parametrize("failure", [PermissionError(), TableUnavailable()])
def test_what_is_no_memorys_fault_is_raised_at_once(failure: Exception) -> None:
    asked: list[int] = []
    with pytest.raises(type(failure)):
        apart(failing_on(5, failure, asked), IDS, fault=KeyError)
    assert asked == [8]


def test_nothing_is_done_for_no_memories() -> None:
    asked: list[int] = []
    assert apart(failing_on(5, KeyError(), asked), []) == ([], [])
    assert asked == []
