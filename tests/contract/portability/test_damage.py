"""Memories that cannot be read leave with their name alone, and take none along."""

import json
import re

import pytest

from tests.clock import ManualClock
from tests.contract.memory.damage import damage_meta, damage_search_record, damage_words
from tests.contract.memory.people import Someone
from tests.contract.portability.carrying import exported, imported, statuses
from zero_memory.tools import export_memories

_ID = re.compile(r'(?:^id: |"id":")(mem_\w+)', re.MULTILINE)


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
@pytest.mark.parametrize("limit", [1, 2, 100])
def test_an_export_has_all_others_and_names_each_once(
    ada: Someone, clock: ManualClock, form: str, limit: int
):
    ids: list[str] = []
    for number in range(7):
        clock.advance(seconds=1)
        ids.append(ada.knows(f"note {number}"))
    odd = [ids[0], ids[3], ids[6]]
    damage_meta(ada.table, odd[0])
    damage_words(ada.table, odd[1])
    damage_meta(ada.table, odd[2])

    texts: list[str] = []
    named: list[str] = []
    cursor = None
    while True:
        page = ada.calls(export_memories.TOOL, format=form, limit=limit, cursor=cursor)
        texts += [file.text for file in page.files]
        named += page.unreadable or []
        cursor = page.cursor
        if cursor is None:
            break
    assert named == odd
    assert _ID.findall("".join(texts)) == [each for each in ids if each not in odd]


def test_words_without_what_they_are_searched_by_leave_without_vectors(ada: Someone):
    odd, whole = ada.knows("one"), ada.knows("two")
    damage_search_record(ada.table, odd)
    (text,) = exported(ada, "jsonl").values()
    lines = {line["id"]: line for line in map(json.loads, text.splitlines())}
    assert (lines[odd]["content"], "vectors" in lines[odd]) == ("one", False)
    assert "vectors" in lines[whole]


def test_notes_over_a_memory_that_cannot_be_read_are_refused_alone(ada: Someone):
    tree = {"one.md": "The bridge is closed.\n", "two.md": "The pier is open.\n"}
    (odd,), _ = [item.ids for item in imported(ada, tree, scope="personal")]
    damage_meta(ada.table, odd)
    tree["two.md"] = "The pier is wet.\n"
    results = imported(ada, tree, scope="personal")
    assert statuses(results) == ["refused", "superseded"]
    assert results[0].code == "conflict"
