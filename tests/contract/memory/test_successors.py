"""Revising a wording, and closing loops, by the tools."""

import pytest
from msgspec.structs import replace

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives, refused
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.model import LinkIn, LinkOut, Mention, Meta
from zero_memory.memory.reading import with_bodies
from zero_memory.ports.table import Delete, Put, ref
from zero_memory.tools import (
    close_loop,
    link,
    memory_history,
    recall,
    restore_memory,
    revise,
    share,
)

NOBODY = "mem_00000000000000000000000000"


def test_a_revision_keeps_scope_kind_entities_and_links(ada: Someone):
    at = ada.at(ada.project("api"))
    other = ada.knows("other")
    first = at.knows(
        "Deploys run on Mondey",
        kind="convention",
        entities=("Deploys", "CI"),
        links=(("derived_from", other),),
    )
    answer = ada.calls(revise.TOOL, memory_id=first, content="Deploys run on Monday")
    assert (answer.superseded, answer.changed, answer.scope) == ([first], True, at.scope.path)
    (memory,) = with_bodies(ada.table, [ada.meta(answer.id)])
    assert memory.body.content == "Deploys run on Monday"
    assert memory.body.entities == ("Deploys", "CI")
    assert (memory.meta.kind, memory.meta.scope) == ("convention", at.scope.scope)
    assert [
        each.target for each in ada.table.query(LinkOut, answer.id, "derived_from").records
    ] == [other]
    assert {each.source for each in ada.table.query(LinkIn, other).records} == {first, answer.id}
    assert ada.meta(first).superseded_by == answer.id
    assert ada.audits(first)[-1].action == "revise"
    assert len(ada.table.query(Mention, at.scope.scope, "ci").records) == 2


def test_a_revision_keeps_links_to_what_its_writer_may_not_see(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    private = ada.knows("private")
    first = ada.at(shared).knows("one", links=(("relates_to", private),))
    answer = ben.calls(revise.TOOL, memory_id=first, content="two")
    assert ada.table.get(LinkOut, answer.id, "relates_to", private) is not None


def test_the_same_wording_again_changes_nothing(ada: Someone):
    first = ada.knows("one")
    answer = ada.calls(revise.TOOL, memory_id=first, content=" one\r\n")
    assert (answer.id, answer.changed) == (first, False)
    assert len(ada.audits(first)) == 1


def test_a_revision_into_what_another_memory_says_retires_the_revised(ada: Someone):
    first, other = ada.knows("one"), ada.knows("two")
    answer = ada.calls(revise.TOOL, memory_id=first, content="two")
    assert (answer.id, answer.superseded) == (other, [first])
    # Undone, it leaves the other as it was: that was not written by the revision.
    ada.restores(first, ada.audits(first)[-1].audit_id)
    assert set(ada.lists()) == {first, other}


@pytest.mark.parametrize("end", ["forgotten", "missing", "foreign", "readable"])
def test_what_is_dead_or_not_the_callers_is_not_revised(ada: Someone, ben: Someone, end: str):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "reader")
    memory_id = {
        "forgotten": ben.knows("one"),
        "missing": NOBODY,
        "foreign": ada.knows("two"),
        "readable": ada.at(shared).knows("three"),
    }[end]
    if end == "forgotten":
        ben.forgets(memory_id)
    before = ada.lists()
    with pytest.raises(Refusal) as refusal:
        ben.calls(revise.TOOL, memory_id=memory_id, content="four")
    codes = {"forgotten": "conflict", "readable": "forbidden"}
    assert refused(refusal) == codes.get(end, "not_found")
    assert ada.lists() == before


@pytest.mark.parametrize("named", [True, False], ids=["by its record", "by the memory alone"])
def test_undoing_a_revision_brings_the_old_wording_back_and_takes_the_new_one(
    ada: Someone, *, named: bool
):
    first = ada.knows("one")
    answer = ada.calls(revise.TOOL, memory_id=first, content="two")
    assert answer.audit_id == ada.audits(first)[-1].audit_id
    audit_id = answer.audit_id if named else None
    restored = ada.calls(restore_memory.TOOL, memory_id=first, audit_id=audit_id)
    assert (restored.live, restored.also_ended) == (True, [answer.id])
    assert ada.lists() == [first]
    assert not ada.meta(answer.id).live
    assert ada.table.query(LinkOut, answer.id, "supersedes").records == ()


@pytest.mark.parametrize("gesture", ["revise", "close"])
def test_undoing_the_undoing_of_a_gesture_does_the_gesture_again(
    ada: Someone, clock: ManualClock, gesture: str
):
    if gesture == "revise":
        first = ada.knows("one")
        second = ada.calls(revise.TOOL, memory_id=first, content="two").id
    else:
        first = ada.knows("Port the tests", kind="task")
        second = ada.calls(close_loop.TOOL, memory_id=first, outcome="ported").outcome_id
    ada.restores(first)
    undone = ada.audits(first)[-1]
    for live, ended in [(second, first), (first, second)] * 2:
        clock.advance(seconds=1)
        answer = ada.calls(restore_memory.TOOL, memory_id=first, audit_id=undone.audit_id)
        assert ada.lists() == [live]
        assert (answer.also_restored, answer.also_ended) == (
            ([second], None) if ended == first else (None, [second])
        )
        assert ada.meta(first).superseded_by == (second if live == second else None)
        undone = ada.audits(first)[-1]
    clock.advance(seconds=1)
    ada.restores(first, undone.audit_id)
    assert ada.lists() == [second]
    ada.restores(first)
    assert ada.lists() == [first]


def test_undoing_that_a_revision_was_done_again_leaves_the_wording_that_was_restored(ada: Someone):
    first = ada.knows("one")
    second = ada.calls(revise.TOOL, memory_id=first, content="two").id
    undone = ada.restores(first).audit
    restored = ada.restores(second).audit
    assert undone
    assert restored
    again = ada.restores(first, undone.audit_id).audit
    assert again
    assert ada.lists() == [second]
    ada.restores(first, again.audit_id)
    assert set(ada.lists()) == {first, second}
    ada.restores(second, restored.audit_id)
    assert ada.lists() == [first]


def test_restoring_a_wording_leaves_what_was_revised_once_more(ada: Someone):
    first = ada.knows("one")
    second = ada.calls(revise.TOOL, memory_id=first, content="two").id
    third = ada.calls(revise.TOOL, memory_id=second, content="three").id
    assert ada.calls(restore_memory.TOOL, memory_id=first).also_ended is None
    assert set(ada.lists()) == {first, third}


def test_a_loop_is_revised_within_the_bounds_of_a_loop(ada: Someone):
    loop = ada.knows("Port the tests", kind="task")
    with pytest.raises(Refusal) as refusal:
        ada.calls(revise.TOOL, memory_id=loop, content="x" * 2_001)
    assert refused(refusal) == "validation_failed"
    assert ada.meta(loop).live


def test_a_closed_loop_is_shown_no_more(ada: Someone, clock: ManualClock):
    task, question = ada.knows("Port it", kind="task"), ada.knows("Why?", kind="open-question")
    for loop in (task, question):
        answer = ada.calls(close_loop.TOOL, memory_id=loop)
        assert (answer.changed, answer.outcome_id) == (True, None)
        closing = ada.audits(loop)[-1]
        assert (closing.action, closing.audit_id) == ("close", answer.audit_id)
        assert not ada.calls(close_loop.TOOL, memory_id=loop).changed
    assert ada.lists() == []
    ada.restores(task)
    assert ada.lists() == [task]


def test_an_outcome_is_remembered_in_the_place_of_its_loop(ada: Someone):
    loop = ada.at(ada.project("api")).knows("Port the tests", kind="task", entities=("tests",))
    answer = ada.calls(close_loop.TOOL, memory_id=loop, outcome="The tests are ported to pytest")
    assert answer.changed
    outcome = ada.meta(answer.outcome_id)
    assert (outcome.kind, outcome.scope) == ("fact", ada.meta(loop).scope)
    assert ada.meta(loop).superseded_by == answer.outcome_id
    assert ada.audits(loop)[-1].action == "close"
    assert ada.lists(entity="tests") == [answer.outcome_id]
    assert ada.audits(loop)[-1].audit_id == answer.audit_id
    again = ada.calls(close_loop.TOOL, memory_id=loop, outcome="The tests are ported to pytest")
    assert (again.changed, again.outcome_id, again.audit_id) == (False, answer.outcome_id, None)


def test_a_loop_that_is_opened_again_takes_its_outcome_back(ada: Someone):
    loop = ada.knows("Port the tests", kind="task")
    outcome = ada.calls(close_loop.TOOL, memory_id=loop, outcome="ported").outcome_id
    restored = ada.calls(restore_memory.TOOL, memory_id=loop)
    assert (restored.live, restored.also_ended) == (True, [outcome])
    assert ada.lists() == [loop]


def test_an_outcome_that_was_known_before_outlives_the_loops_opening(ada: Someone):
    known, loop = ada.knows("ported"), ada.knows("Port the tests", kind="task")
    answer = ada.calls(close_loop.TOOL, memory_id=loop, outcome="ported")
    assert (answer.changed, answer.outcome_id) == (True, known)
    assert ada.calls(restore_memory.TOOL, memory_id=loop).also_ended is None
    assert set(ada.lists()) == {known, loop}


def test_of_records_that_do_not_tell_what_was_known_before_its_birth_does(
    ada: Someone, clock: ManualClock
):
    """Earlier versions wrote `close` for an outcome that was known before, too."""
    known, loop = ada.knows("ported"), ada.knows("Port the tests", kind="task")
    clock.advance(seconds=1)
    ada.calls(close_loop.TOOL, memory_id=loop, outcome="ported")
    record = ada.audits(loop)[-1]
    ada.table.transact([Put(replace(record, action="close"))])
    assert ada.calls(restore_memory.TOOL, memory_id=loop).also_ended is None
    assert set(ada.lists()) == {known, loop}


def test_what_is_no_loop_is_not_closed(ada: Someone):
    fact = ada.knows("one")
    for arguments in ({}, {"outcome": "two"}):
        with pytest.raises(Refusal) as refusal:
            ada.calls(close_loop.TOOL, memory_id=fact, **arguments)
        assert refused(refusal) == "validation_failed"
    assert ada.lists() == [fact]


def test_an_outcome_of_a_loop_that_was_closed_without_one_is_not_stored(ada: Someone):
    loop = ada.knows("Port the tests", kind="task")
    ada.calls(close_loop.TOOL, memory_id=loop)
    with pytest.raises(Refusal) as refusal:
        ada.calls(close_loop.TOOL, memory_id=loop, outcome="ported")
    assert refused(refusal) == "conflict"
    assert ada.lists() == []


@pytest.mark.parametrize("seen", [True, False], ids=["in sight", "out of sight"])
def test_an_outcome_is_never_taken_for_what_superseded_its_loop(
    ada: Someone, ben: Someone, *, seen: bool
):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    loop = ada.at(shared).knows("Port the tests", kind="task")
    (ada.at(shared) if seen else ada).knows("Port the last tests", kind="task", supersedes=(loop,))
    before = ben.lists()
    with pytest.raises(Refusal) as refusal:
        ben.calls(close_loop.TOOL, memory_id=loop, outcome="ported")
    assert refused(refusal) == "conflict"
    assert ben.lists() == before


def test_a_revision_stays_shared_where_the_wording_was(ada: Someone, ben: Someone):
    api, team = ada.project("api"), ada.project("team")
    ada.lets_in(ben, team, "reader")
    first = ada.at(api).knows("cache port 6379", entities=("cache",))
    ada.calls(share.TOOL, memory_id=first, scope=team.path)
    revised = ada.calls(revise.TOOL, memory_id=first, content="cache port 6380").id
    assert [hit.id for hit in ben.calls(recall.TOOL, query="cache port").hits] == [revised]
    assert ben.lists() == [revised]
    ada.restores(first, ada.audits(first)[-1].audit_id)
    assert ben.lists() == [first]


def test_what_one_transaction_cannot_carry_over_is_refused(sqlite_table: SqliteTable):
    ada = arrives(sqlite_table, ManualClock())
    first = ada.knows("one", entities=tuple(f"entity {number}" for number in range(32)))
    for number in range(16):
        target = ada.knows(f"target {number}")
        ada.calls(link.TOOL, src=first, dst=target, type="relates_to")
    for number in range(6):
        ada.calls(share.TOOL, memory_id=first, scope=ada.project(f"team-{number}").path)
    with pytest.raises(Refusal) as refusal:
        ada.calls(revise.TOOL, memory_id=first, content="two")
    assert refused(refusal) == "validation_failed"
    assert ada.meta(first).live


def test_a_link_whose_other_end_is_gone_holds_no_correction_up(ada: Someone):
    memory, end = ada.knows("one"), ada.knows("two")
    ada.calls(link.TOOL, src=memory, dst=end, type="relates_to")
    ada.table.transact([Delete(ref(Meta, end))])
    revised = ada.calls(revise.TOOL, memory_id=memory, content="One")
    assert ada.lists() == [revised.id]
    assert ada.calls(memory_history.TOOL, memory_id=revised.id).links == []
