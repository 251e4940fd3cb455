"""A memory that cannot be read: it is named to whom it belongs, and holds up no other."""

from collections.abc import Callable

import pytest

from tests.clock import ManualClock
from tests.contract.memory.damage import damage_meta, damage_side_records, damage_words
from tests.contract.memory.people import Someone, refused
from zero_memory.contracts.errors import Refusal
from zero_memory.contracts.memory import RecallResult
from zero_memory.ports.table import DamagedRecord, Table
from zero_memory.tools import (
    describe_scope,
    entities,
    forget,
    list_memories,
    memory_history,
    move_memories,
    recall,
    remember,
)

Damage = Callable[[Table, str], None]
ANY = pytest.mark.parametrize("damage", [damage_meta, damage_words])


@ANY
def test_a_list_names_it_on_its_page(ada: Someone, clock: ManualClock, damage: Damage):
    ids: list[str] = []
    for number in range(7):
        clock.advance(seconds=1)
        ids.append(ada.knows(f"note {number}"))
    odd = [ids[1], ids[4]]
    for each in odd:
        damage(ada.table, each)

    listed: list[str] = []
    named: list[str] = []
    cursor = None
    while True:
        page = ada.calls(list_memories.TOOL, limit=2, cursor=cursor)
        listed += [memory.id for memory in page.memories]
        named += page.unreadable or []
        cursor = page.cursor
        if cursor is None:
            break
    assert listed == [each for each in ids[::-1] if each not in odd]
    assert named == odd[::-1]


@ANY
def test_reading_by_id_tells_it_from_what_is_not_there(ada: Someone, ben: Someone, damage: Damage):
    whole, odd, foreign = ada.knows("one"), ada.knows("two"), ben.knows("three")
    nobody = "mem_00000000000000000000000000"
    for each in (odd, foreign):
        damage(ada.table, each)
    read: RecallResult = ada.calls(recall.TOOL, ids=[odd, nobody, whole, foreign])
    assert [memory.id for memory in read.memories] == [whole]
    assert (read.unreadable, read.missing) == ([odd], [nobody, foreign])
    for each in (nobody, foreign):
        assert ada.calls(recall.TOOL, query=each).missing == [each]


def test_a_foreign_one_is_no_more_there_than_any_foreign_one(ada: Someone, ben: Someone):
    foreign, healthy = ben.knows("one"), ben.knows("two")
    damage_meta(ben.table, foreign)
    said = {refusal_of(ada, each) for each in (foreign, healthy)}
    assert len(said) == 1


def refusal_of(who: Someone, memory_id: str) -> str:
    with pytest.raises(Exception, match="no such memory") as refusal:
        who.calls(forget.TOOL, memory_id=memory_id, reason="it changed")
    return str(refusal.value)


def test_a_foreign_one_can_neither_be_superseded_nor_linked_to(ada: Someone, ben: Someone):
    foreign, nobody = ben.knows("one"), "mem_00000000000000000000000000"
    damage_meta(ben.table, foreign)
    for end in (foreign, nobody):
        written = ada.calls(
            remember.TOOL, content=f"instead of {end}", scope="personal", supersedes=[end]
        )
        assert [each.reason for each in written.skipped_supersedes] == ["missing"]
        with pytest.raises(Refusal) as refusal:
            ada.remembers("beside it", links=(("relates_to", end),))
        assert refused(refusal) == "not_found"


def test_others_are_moved_past_it(ada: Someone):
    odd, whole = ada.knows("one"), ada.knows("two")
    damage_meta(ada.table, odd)
    project = ada.project("api")
    result = ada.calls(move_memories.TOOL, ids=[odd, whole], scope=project.path)
    assert [each.id for each in result.moved] == [whole]
    assert [(each.id, each.code) for each in result.failed] == [(odd, "internal")]


def test_what_changes_it_fails_aloud(ada: Someone):
    odd = ada.knows("one")
    damage_meta(ada.table, odd)
    with pytest.raises(DamagedRecord):
        ada.calls(forget.TOOL, memory_id=odd, reason="it changed")


@ANY
def test_a_query_is_answered_without_it_and_says_so(ada: Someone, damage: Damage):
    odd, whole = ada.knows("The train 1 leaves"), ada.knows("The train 2 leaves")
    damage(ada.table, odd)
    found: RecallResult = ada.calls(recall.TOOL, query="train")
    assert [hit.id for hit in found.hits] == [whole]
    assert (found.degraded, found.unreadable) == (True, [odd])
    assert "left out: 1" in (found.degraded_reason or "")


@ANY
def test_its_neighbours_are_written_and_their_history_and_names_are_read(
    ada: Someone, damage: Damage
):
    odd = ada.knows("The Kestrel job runs at 1", entities=("Kestrel", "nightly"))
    new = ada.knows("The Kestrel job runs at 2", entities=("Kestrel", "nightly"), supersedes=(odd,))
    damage(ada.table, odd)
    ada.calls(remember.TOOL, content="The Kestrel job runs twice", scope="personal")
    history = ada.calls(memory_history.TOOL, memory_id=new)
    assert [version.id for version in history.versions] == [new]
    for query in ("Kestrel", None):
        graph = ada.calls(entities.TOOL, query=query)
        assert all(new in node.memory_ids for node in graph.nodes)
        assert {node.name for node in graph.nodes} >= {"Kestrel"}


def test_records_beside_memories_hold_none_up(ada: Someone):
    odd = ada.knows("The Heron job runs at 1", entities=("Heron",))
    new = ada.knows("The Kestrel job runs at 2", entities=("Kestrel", "Heron"))
    damage_side_records(ada.table, ada.scope.scope, "heron", odd)
    for tool, arguments in (
        (recall, {"query": "Which job runs?"}),
        (list_memories, {}),
        (list_memories, {"entity": "Kestrel"}),
        (entities, {"query": "Kestrel"}),
        (entities, {}),
        (describe_scope, {}),
        (remember, {"content": "The Kestrel job runs twice", "scope": "personal"}),
    ):
        assert ada.calls(tool.TOOL, **arguments)
    assert new in [hit.id for hit in ada.calls(recall.TOOL, query="Kestrel job").hits]
    assert ada.lists()[-2:] == [new, odd]


def test_what_a_scope_holds_is_counted_past_it(ada: Someone):
    odd = ada.knows("one")
    ada.knows("two")
    damage_meta(ada.table, odd)
    found = ada.calls(describe_scope.TOOL, scope="personal")
    assert found.scopes
