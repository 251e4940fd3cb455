"""Forgetting, restoring, undoing: what a memory is after each, and what the audit keeps."""

import json

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, refused
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.lifecycle import state_of
from zero_memory.memory.model import DuplicateClaim, LinkOut, PendingMarker
from zero_memory.scopes.members import remove

NOBODY = "mem_00000000000000000000000000"


def claimant(writer: Someone, memory_id: str) -> str | None:
    meta = writer.meta(memory_id)
    claim = writer.table.get(DuplicateClaim, meta.scope, meta.digest)
    return claim and claim.memory_id


def test_a_forgotten_memory_is_dead_and_kept(ada: Someone, clock: ManualClock):
    memory_id = ada.knows("one")
    clock.advance(hours=1)
    outcome = ada.forgets(memory_id, "it changed")
    meta = ada.meta(memory_id)
    assert meta == outcome.meta
    assert (meta.live, meta.invalidated_at, meta.invalidated_reason, meta.revision) == (
        False,
        clock.now(),
        "it changed",
        2,
    )
    assert claimant(ada, memory_id) is None
    assert ada.lists() == []


def test_forgetting_again_changes_nothing(ada: Someone):
    memory_id = ada.knows("one")
    ada.forgets(memory_id)
    again = ada.forgets(memory_id, "another reason")
    assert again.audit is None
    assert again.meta.invalidated_reason == "outdated"
    assert len(ada.audits(memory_id)) == 2


def test_a_restored_memory_lives_a_second_life(ada: Someone, clock: ManualClock):
    memory_id = ada.knows("one")
    clock.advance(hours=1)
    ada.forgets(memory_id)
    clock.advance(hours=1)
    ada.restores(memory_id)
    meta = ada.meta(memory_id)
    born = meta.created_at
    assert [(each.start - born, each.end and each.end - born) for each in meta.alive] == [
        (0, 3_600_000),
        (7_200_000, None),
    ]
    assert (meta.invalidated_at, meta.invalidated_reason) == (None, None)
    assert claimant(ada, memory_id) == memory_id
    assert ada.lists() == [memory_id]
    marker = ada.table.get(PendingMarker, meta.scope, memory_id)
    assert marker is not None
    assert marker.revision == meta.revision


def test_restoring_what_lives_changes_nothing(ada: Someone):
    memory_id = ada.knows("one")
    assert ada.restores(memory_id).audit is None
    assert len(ada.audits(memory_id)) == 1


def test_restoring_over_a_taken_key_names_the_holder(ada: Someone):
    first = ada.knows("one")
    ada.forgets(first)
    holder = ada.knows("one")
    with pytest.raises(Refusal) as refusal:
        ada.restores(first)
    assert refused(refusal) == "conflict"
    assert refusal.value.details == {"holder": holder}
    assert not ada.meta(first).live
    assert claimant(ada, holder) == holder
    ada.forgets(holder)
    assert ada.restores(first).meta.live


def test_a_superseded_memory_in_the_middle_of_a_chain_is_restored_alone(ada: Someone):
    first = ada.knows("one")
    second = ada.remembers("two", supersedes=(first,)).memory_id
    third = ada.remembers("three", supersedes=(second,)).memory_id
    ada.restores(second)
    assert ada.meta(second).live
    assert ada.meta(second).superseded_by is None
    assert ada.meta(first).superseded_by == second
    assert ada.meta(third).live
    assert ada.table.get(LinkOut, third, "supersedes", second) is None
    assert ada.table.get(LinkOut, second, "supersedes", first) is not None
    assert set(ada.lists()) == {second, third}


def test_every_change_of_state_says_who_when_why_and_what_it_changed(
    ada: Someone, ben: Someone, clock: ManualClock
):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    memory_id = ada.at(shared).knows("one")
    before = state_of(ada.meta(memory_id))
    clock.advance(hours=1)
    ben.forgets(memory_id, "it changed")
    after = state_of(ada.meta(memory_id))
    birth, record = ada.audits(memory_id)
    assert birth.audit_id < record.audit_id
    assert (record.action, record.principal, record.at, record.reason, record.revision) == (
        "forget",
        ben.principal,
        clock.now(),
        "it changed",
        2,
    )
    changed = {name for name, value in before.items() if after[name] != value}
    assert json.loads(record.before) == {name: before[name] for name in changed}
    assert json.loads(record.after) == {name: after[name] for name in changed}


def test_each_audit_record_is_undone_by_its_id(ada: Someone, clock: ManualClock):
    memory_id = ada.knows("one")
    forgotten = ada.forgets(memory_id, "it changed").audit
    assert forgotten
    clock.advance(hours=1)
    restored = ada.restores(memory_id, forgotten.audit_id).audit
    assert restored
    assert restored.undoes == forgotten.audit_id
    assert ada.meta(memory_id).live
    clock.advance(hours=1)
    ada.restores(memory_id, restored.audit_id)
    meta = ada.meta(memory_id)
    assert (meta.live, meta.invalidated_reason) == (False, "it changed")
    # Its effect stands again, so it can be undone again.
    assert ada.restores(memory_id, forgotten.audit_id).meta.live


def test_undoing_the_restoration_of_a_superseded_memory_supersedes_it_again(ada: Someone):
    first = ada.knows("one")
    second = ada.remembers("two", supersedes=(first,)).memory_id
    restored = ada.restores(first).audit
    assert restored
    ada.restores(first, restored.audit_id)
    assert ada.meta(first).superseded_by == second
    assert ada.table.get(LinkOut, second, "supersedes", first) is not None


def test_undoing_never_makes_a_memory_succeed_itself(ada: Someone):
    first = ada.knows("one")
    second = ada.remembers("two", supersedes=(first,)).memory_id
    restored = ada.restores(first).audit
    assert restored
    assert ada.remembers("one", supersedes=(second,)).superseded == (second,)
    with pytest.raises(Refusal) as refusal:
        ada.restores(first, restored.audit_id)
    assert refused(refusal) == "conflict"
    assert ada.meta(first).live


def test_what_was_changed_again_since_is_not_undone(ada: Someone):
    memory_id = ada.knows("one")
    forgotten = ada.forgets(memory_id).audit
    assert forgotten
    ada.restores(memory_id)
    with pytest.raises(Refusal) as refusal:
        ada.restores(memory_id, forgotten.audit_id)
    assert refused(refusal) == "conflict"


def test_a_birth_is_not_undone_and_an_unknown_record_is_not_found(ada: Someone):
    memory_id, other = ada.knows("one"), ada.knows("two")
    (birth,) = ada.audits(memory_id)
    with pytest.raises(Refusal) as refusal:
        ada.restores(memory_id, birth.audit_id)
    assert refused(refusal) == "validation_failed"
    with pytest.raises(Refusal) as refusal:
        ada.restores(other, birth.audit_id)
    assert refused(refusal) == "not_found"


def test_only_writers_of_a_scope_change_what_is_in_it(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "reader")
    memory_id, private = ada.at(shared).knows("one"), ada.knows("two")
    for change in (ben.forgets, ben.restores):
        with pytest.raises(Refusal) as refusal:
            change(memory_id)
        assert refused(refusal) == "forbidden"
        for hidden in (private, NOBODY):
            with pytest.raises(Refusal) as refusal:
                change(hidden)
            assert refused(refusal) == "not_found"
    assert set(ada.lists()) == {memory_id, private}


def test_an_open_loop_is_closed_not_forgotten(ada: Someone):
    loop = ada.knows("Port the tests", kind="task")
    with pytest.raises(Refusal) as refusal:
        ada.forgets(loop)
    assert refused(refusal) == "validation_failed"


def test_what_was_superseded_by_what_one_no_longer_sees_is_not_put_behind_it_again(
    ada: Someone, ben: Someone
):
    shared = ben.project("api")
    ben.lets_in(ada, shared, "writer")
    memory_id = ada.knows("one")
    successor = ada.at(shared).remembers("two", supersedes=(memory_id,)).memory_id
    restored = ada.restores(memory_id).audit
    assert restored
    remove(ben.table, ben.access, shared.path, ada.person)
    with pytest.raises(Refusal) as refusal:
        ada.restores(memory_id, restored.audit_id)
    assert refused(refusal) == "conflict"
    assert ada.meta(memory_id).live
    assert ada.table.get(LinkOut, successor, "supersedes", memory_id) is None
