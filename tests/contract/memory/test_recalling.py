"""What recall makes of a memory's state."""

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone
from zero_memory.memory.ages import timestamp
from zero_memory.tools import (
    challenge,
    entities,
    list_memories,
    memory_history,
    move_memories,
    recall,
    restore_memory,
    revise,
)


def test_a_disputed_memory_ranks_lower_and_says_so(ada: Someone):
    first, second = ada.knows("cache port 6379"), ada.knows("cache port 6380")
    before = ada.calls(recall.TOOL, query="cache port").hits
    assert {hit.disputed for hit in before} == {None}
    top = before[0].id
    raised = ada.calls(challenge.TOOL, memory_id=top, reason="nothing listens there")
    hits = ada.calls(recall.TOOL, query="cache port", explain=True).hits
    assert [hit.id for hit in hits] == [({first, second} - {top}).pop(), top]
    assert hits[1].disputed is True
    listed = {each.id: each.disputed for each in ada.calls(list_memories.TOOL).memories}
    (whole,) = ada.calls(recall.TOOL, ids=[hits[1].id]).memories
    (version,) = ada.calls(memory_history.TOOL, memory_id=hits[1].id).versions
    assert (listed, whole.disputed, version.disputed) == (
        {hits[0].id: None, hits[1].id: True},
        True,
        True,
    )
    assert hits[1].factors["disputed"] < 1
    ada.calls(restore_memory.TOOL, memory_id=top, audit_id=raised.audit_id)
    assert ada.calls(recall.TOOL, query="cache port").hits[0].id == top


@pytest.mark.parametrize(("kind", "days"), [("fact", 180), ("reference", 90), ("gotcha", None)])
def test_what_core_holds_asks_to_be_checked_when_it_is_old(
    ada: Someone, clock: ManualClock, kind: str, days: int | None
):
    core = ada.at(ada.access.core).knows("cache port 6379", kind=kind)
    personal = ada.knows("cache port 6380", kind=kind)

    def stale() -> dict[str, int | None]:
        hits = ada.calls(recall.TOOL, query="cache port").hits
        return {hit.id: hit.stale_days for hit in hits}

    clock.advance(hours=24 * (days or 5_000) - 1)
    assert stale() == {core: None, personal: None}
    clock.advance(hours=1)
    assert stale() == {core: days, personal: None}


def test_as_of_shows_each_version_in_its_time(ada: Someone, clock: ManualClock):
    first = ada.knows("cache port 6379")
    then = timestamp(clock.now())
    clock.advance(hours=1)
    second = ada.calls(revise.TOOL, memory_id=first, content="cache port 6380").id
    between = timestamp(clock.now())
    clock.advance(hours=1)
    ada.forgets(second)
    clock.advance(hours=1)
    ada.restores(first)

    def found(**when: str) -> list[str]:
        return [hit.id for hit in ada.calls(recall.TOOL, query="cache port", **when).hits]

    assert found(as_of=then) == [first]
    assert found(as_of=between) == [second]
    clock.advance(hours=1)
    assert found() == [first]


def test_a_moved_memory_is_found_where_it_is_and_nowhere_else(ada: Someone):
    memory_id = ada.knows("cache port 6379")
    api = ada.project("api")
    ada.calls(move_memories.TOOL, ids=[memory_id], scope=api.path)
    assert ada.calls(recall.TOOL, query="cache port", scopes=["personal"]).hits == []
    (hit,) = ada.calls(recall.TOOL, query="cache port", scopes=[api.path]).hits
    assert (hit.id, hit.scope) == (memory_id, api.path)


def test_a_search_without_a_project_says_that_it_read_everything(ada: Someone):
    ada.at(ada.project("api")).knows("cache port 6379", entities=("cache",))
    for tool in (recall.TOOL, entities.TOOL):
        everywhere = ada.calls(tool, query="cache")
        assert "searched all scopes" in everywhere.session.line
        assert "project_hint" in everywhere.session.line
        assert "all scopes" not in ada.calls(tool, query="cache", scopes=["core"]).session.line
        assert "all scopes" not in ada.calls(tool, query="cache", project_hint="api").session.line
