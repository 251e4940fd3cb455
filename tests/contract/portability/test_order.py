"""What stood next to each other goes on doing so, however an import was cut up."""

import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives
from tests.contract.portability.carrying import exported, imported, statuses
from tests.contract.portability.test_round_trip import IN_MEMORY, empty_home
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import FOLLOWED
from zero_memory.tools import import_memory

LONG = "\n\n".join(f"## Part {each}\n\n" + f"Part {each} is told. " * 60 for each in range(3))

NOTES = st.lists(st.sampled_from(["short", "long"]), min_size=1, max_size=12)


def notes(shapes: Sequence[str]) -> list[dict[str, str]]:
    """Files of one memory or of three, each with words of its own."""
    return [
        {
            "path": f"~/{number:02}.md",
            "text": f"Note {number}" if shape == "short" else f"# {number}\n\n{LONG}",
        }
        for number, shape in enumerate(shapes)
    ]


def chunks(items: Sequence[dict[str, str]], cuts: Sequence[int]) -> list[list[dict[str, str]]]:
    """The items in stretches that end before these places."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(items)}), len(items)]
    return [list(items[start:end]) for start, end in pairwise(edges)]


def in_a_row(ids: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for at, memory_id in enumerate(ids):
        yield memory_id, tuple(ids[max(0, at - FOLLOWED) : at][::-1])


@settings(max_examples=25, deadline=None)
@given(shapes=NOTES, cuts=st.lists(st.integers(1, 11)), data=st.data())
def test_within_a_call_each_follows_the_one_before_and_calls_do_not_touch(
    shapes: list[str], cuts: list[int], data: st.DataObject
) -> None:
    calls = data.draw(st.permutations(chunks(notes(shapes), cuts)))
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        table = SqliteTable(Path(folder) / "table.sqlite3")
        try:
            ada = arrives(table, ManualClock())
            ada.knows("Written by hand before")
            for call in calls:
                results = ada.calls(import_memory.TOOL, items=call, scope="personal").items
                ids = list(chain.from_iterable(result.ids for result in results))
                expected = dict(in_a_row(ids))
                assert {each: ada.meta(each).follows for each in ids} == expected
        finally:
            table.close()


def test_a_call_that_goes_on_where_another_was_cut_short_stays_in_the_order_of_the_file(
    ada: Someone,
):
    items = notes(["short"] * 6)
    arguments = {"scope": "personal"}
    ada.calls(import_memory.TOOL, items=items[:3], **arguments)
    results = ada.calls(import_memory.TOOL, items=items, **arguments).items
    ids = [result.ids[0] for result in results]
    assert {each: ada.meta(each).follows for each in ids} == dict(in_a_row(ids))


def test_an_edited_export_stands_where_its_memory_stood(ada: Someone, clock: ManualClock):
    written: list[str] = []
    for number in range(4):
        clock.advance(seconds=1)
        written.append(ada.knows(f"Note {number}"))
    tree = {
        path: text.replace("Note 2", "Note two")
        for path, text in exported(ada, "markdown").items()
        if written[2] in path
    }
    (result,) = imported(ada, tree)
    assert result.status == "superseded"
    assert ada.meta(result.ids[0]).follows == ada.meta(written[2]).follows == tuple(written[1::-1])


def test_an_export_brings_its_order_along_whatever_comes_first(clock: ManualClock) -> None:
    with empty_home(clock) as ada, empty_home(clock) as elsewhere:
        written: list[str] = []
        for number in range(5):
            clock.advance(seconds=1)
            written.append(ada.knows(f"Note {number}"))
        elsewhere.knows("Written there before")
        tree = dict(reversed(exported(ada, "markdown").items()))
        imported(elsewhere, tree, scope="personal")
        assert {each: elsewhere.meta(each).follows for each in written} == dict(in_a_row(written))


@pytest.mark.parametrize(
    ("form", "field"), [("markdown", "ordinal: 7\n"), ("jsonl", '"ordinal":7,')]
)
def test_files_that_count_where_they_now_name_are_taken_in_without_the_count(
    clock: ManualClock, form: str, field: str
) -> None:
    with empty_home(clock) as ada, empty_home(clock) as elsewhere:
        written = ada.knows("Note 1")
        tree = exported(ada, form)
        behind = "zero_memory: 1\n" if form == "markdown" else "{"
        former = {path: text.replace(behind, behind + field, 1) for path, text in tree.items()}

        assert field in "".join(former.values())
        assert statuses(imported(elsewhere, former)) == ["created"]
        assert elsewhere.meta(written).follows == ()
        assert exported(elsewhere, form) == tree
