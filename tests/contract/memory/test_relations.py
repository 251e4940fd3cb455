"""Linking, challenging and moving memories, and what they are about, by the tools."""

from typing import Any

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives, refused
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.linking import MAX_LINKS_OF_A_MEMORY
from zero_memory.memory.model import (
    Dispute,
    DuplicateClaim,
    LinkIn,
    LinkOut,
    Mention,
    PendingMarker,
    SearchRecord,
    Wording,
)
from zero_memory.tools import (
    challenge,
    close_loop,
    entities,
    erase_memory,
    forget,
    link,
    memory_history,
    move_memories,
    recall,
    restore_memory,
    revise,
    share,
    unshare,
)
from zero_memory.tools.catalogue import TOOLS

NOBODY = "mem_00000000000000000000000000"


def ends(writer: Someone, source: str, target: str) -> tuple[bool, bool]:
    """Whether a link stands at its source and at its target."""
    return (
        writer.table.get(LinkOut, source, "relates_to", target) is not None,
        writer.table.get(LinkIn, target, "relates_to", source) is not None,
    )


# ------------------------------------------------------------------ links


def test_a_link_stands_at_both_ends_and_is_undone_at_both(ada: Someone):
    one, two = ada.knows("one"), ada.knows("two")
    added = ada.calls(link.TOOL, src=one, dst=two, type="relates_to", reason="same thing")
    assert ends(ada, one, two) == (True, True)
    assert ada.audits(one)[-1].reason == "same thing"
    assert not ada.calls(link.TOOL, src=one, dst=two, type="relates_to").changed
    removed = ada.calls(restore_memory.TOOL, memory_id=one, audit_id=added.audit_id)
    assert ends(ada, one, two) == (False, False)
    ada.calls(restore_memory.TOOL, memory_id=one, audit_id=removed.audit_id)
    assert ends(ada, one, two) == (True, True)


def test_undoing_a_link_that_is_as_it_would_be_left_changes_nothing(ada: Someone):
    one, two = ada.knows("one"), ada.knows("two")
    first = ada.calls(link.TOOL, src=one, dst=two, type="relates_to")
    removed = ada.calls(restore_memory.TOOL, memory_id=one, audit_id=first.audit_id)
    again = ada.calls(restore_memory.TOOL, memory_id=one, audit_id=first.audit_id)
    assert (again.changed, ends(ada, one, two)) == (False, (False, False))
    ada.calls(link.TOOL, src=one, dst=two, type="relates_to")
    again = ada.calls(restore_memory.TOOL, memory_id=one, audit_id=removed.audit_id)
    assert (again.changed, ends(ada, one, two)) == (False, (True, True))
    assert len(ada.audits(one)) == 4


def test_undoing_links_nothing_that_is_out_of_sight_and_says_no_more_than_of_what_is_erased(
    ada: Someone, ben: Someone
):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    private, gone = ada.knows("private"), ada.knows("gone")
    refusals: list[str] = []
    for target in (private, gone):
        memory_id = ada.at(shared).knows(f"of {target}")
        added = ada.calls(link.TOOL, src=memory_id, dst=target, type="relates_to")
        removed = ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=added.audit_id)
        if target == gone:
            ada.calls(erase_memory.TOOL, memory_id=gone, confirm=gone)
        with pytest.raises(Refusal) as refusal:
            ben.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=removed.audit_id)
        refusals.append(str(refusal.value.body()))
        assert ends(ada, memory_id, target) == (False, False)
    assert refusals[0] == refusals[1]


def test_a_link_needs_a_writer_of_its_source_and_a_reader_of_its_target(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "reader")
    readable, own, private = ada.at(shared).knows("one"), ben.knows("two"), ada.knows("three")
    assert ben.calls(link.TOOL, src=own, dst=readable, type="contradicts").changed
    for source, target, code in (
        (readable, own, "forbidden"),
        (own, private, "not_found"),
        (own, NOBODY, "not_found"),
        (own, own, "validation_failed"),
    ):
        with pytest.raises(Refusal) as refusal:
            ben.calls(link.TOOL, src=source, dst=target, type="relates_to")
        assert refused(refusal) == code


def test_a_link_that_supersedes_retires_its_target(ada: Someone):
    old, new = ada.knows("old"), ada.knows("new")
    answer = ada.calls(link.TOOL, src=new, dst=old, type="supersedes", reason="newer")
    assert (answer.id, answer.live) == (old, False)
    assert ada.meta(old).superseded_by == new
    assert not ada.calls(link.TOOL, src=new, dst=old, type="supersedes").changed
    with pytest.raises(Refusal) as refusal:
        ada.calls(link.TOOL, src=old, dst=new, type="supersedes")
    assert refused(refusal) == "conflict"


def test_a_memory_has_no_more_links_than_a_revision_can_carry(sqlite_table: SqliteTable):
    ada = arrives(sqlite_table, ManualClock())
    source = ada.knows("source", entities=tuple(f"entity {number}" for number in range(32)))
    targets = [ada.knows(f"target {number}") for number in range(MAX_LINKS_OF_A_MEMORY + 1)]
    for target in targets[:-1]:
        ada.calls(link.TOOL, src=source, dst=target, type="relates_to")
    with pytest.raises(Refusal) as refusal:
        ada.calls(link.TOOL, src=source, dst=targets[-1], type="relates_to")
    assert refused(refusal) == "validation_failed"
    revised = ada.calls(revise.TOOL, memory_id=source, content="source, revised")
    assert len(ada.table.query(LinkOut, revised.id, "relates_to").records) == MAX_LINKS_OF_A_MEMORY


# ------------------------------------------------------------------ disputes


def test_a_challenged_memory_stays_live_and_disputed_until_that_is_undone(ada: Someone):
    memory_id = ada.knows("one")
    raised = ada.calls(challenge.TOOL, memory_id=memory_id, reason="it failed", evidence="exit 1")
    assert ada.meta(memory_id).dispute == raised.dispute_id
    assert ada.lists() == [memory_id]
    dispute = ada.table.get(Dispute, memory_id, raised.dispute_id)
    assert dispute is not None
    assert (dispute.reason, dispute.evidence) == ("it failed", "exit 1")
    again = ada.calls(challenge.TOOL, memory_id=memory_id, reason="it failed again")
    assert (again.changed, again.dispute_id) == (False, raised.dispute_id)
    ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=raised.audit_id)
    assert ada.meta(memory_id).dispute is None
    assert ada.calls(challenge.TOOL, memory_id=memory_id, reason="it failed").changed


def test_what_no_longer_holds_is_not_challenged(ada: Someone):
    memory_id = ada.knows("one")
    ada.forgets(memory_id)
    with pytest.raises(Refusal) as refusal:
        ada.calls(challenge.TOOL, memory_id=memory_id, reason="it failed")
    assert refused(refusal) == "validation_failed"


# ------------------------------------------------------------------ moves


def places(writer: Someone, memory_id: str, scope: str) -> set[str]:
    """What of a memory stands in a scope."""
    table, meta = writer.table, writer.meta(memory_id)
    claim = table.get(DuplicateClaim, scope, meta.digest)
    standing = {
        "record": table.get(SearchRecord, scope, memory_id) is not None,
        "claim": claim is not None and claim.memory_id == memory_id,
        "marker": table.get(PendingMarker, scope, memory_id) is not None,
        "mention": table.get(Mention, scope, "redis", memory_id) is not None,
    }
    return {name for name, there in standing.items() if there}


def test_a_memory_moves_with_everything_that_finds_it_and_back(ada: Someone):
    home, api = ada.scope, ada.project("api")
    memory_id = ada.knows("Redis holds sessions", entities=("Redis",))
    everything = {"record", "claim", "marker", "mention"}
    answer = ada.calls(move_memories.TOOL, ids=[memory_id], scope=api.path)
    assert (answer.scope, [each.id for each in answer.moved]) == (api.path, [memory_id])
    assert places(ada, memory_id, home.scope) == set()
    assert places(ada, memory_id, api.scope) == everything
    assert ada.at(api).remembers("Redis holds sessions").deduplicated
    # The text anchors to the entity in its new place too.
    assert ada.at(api).knows("Redis is fast") in ada.lists(entity="redis")
    ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=answer.moved[0].audit_id)
    assert places(ada, memory_id, home.scope) == everything
    assert places(ada, memory_id, api.scope) == set()
    assert ada.meta(memory_id).scope == home.scope


def test_what_can_be_moved_moves_and_the_rest_is_named(ada: Someone, ben: Someone):
    shared, api = ada.project("shared"), ada.project("api")
    ada.lets_in(ben, shared, "reader")
    ben_api = ben.project("api")
    taken = ben.knows("taken")
    ben.at(ben_api).knows("taken")
    there = ben.at(ben_api).knows("there")
    moves, dead = ben.knows("moves"), ben.knows("dead")
    ben.forgets(dead)
    foreign, readable = ada.at(api).knows("foreign"), ada.at(shared).knows("readable")
    answer = ben.calls(
        move_memories.TOOL,
        ids=[moves, dead, there, taken, foreign, readable, NOBODY, moves],
        project_hint="api",
    )
    assert [each.id for each in answer.moved] == [moves, dead]
    assert answer.unchanged == [there]
    assert {each.id: each.code for each in answer.failed} == {
        taken: "conflict",
        foreign: "not_found",
        readable: "forbidden",
        NOBODY: "not_found",
    }
    assert not ben.meta(dead).live
    assert places(ben, dead, ben_api.scope) == {"record"}


def test_a_move_needs_one_place_that_the_caller_may_write_to(ada: Someone, ben: Someone):
    shared = ada.project("shared")
    ada.lets_in(ben, shared, "reader")
    memory_id = ben.knows("one")
    for arguments, code in (
        ({}, "validation_failed"),
        ({"scope": "core", "project_hint": "api"}, "validation_failed"),
        ({"scope": shared.path}, "forbidden"),
        ({"scope": "proj.nobody.nothing"}, "not_found"),
    ):
        with pytest.raises(Refusal) as refusal:
            ben.calls(move_memories.TOOL, ids=[memory_id], **arguments)
        assert refused(refusal) == code
    assert ben.meta(memory_id).scope == ben.scope.scope


def test_a_move_into_anothers_project_makes_its_owner_the_owner(ada: Someone, ben: Someone):
    shared = ada.project("shared")
    ada.lets_in(ben, shared, "writer")
    memory_id = ben.knows("one")
    answer = ben.calls(move_memories.TOOL, ids=[memory_id], scope=shared.path)
    meta = ada.meta(memory_id)
    assert (meta.owner, meta.author) == (ada.person, ben.principal)
    assert ada.table.get(Wording, ada.person, meta.folded, memory_id) is not None
    assert ada.table.get(Wording, ben.person, meta.folded, memory_id) is None
    # Back into the private root of another nobody moves it, not even by undoing.
    with pytest.raises(Refusal) as refusal:
        ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=answer.moved[0].audit_id)
    assert refused(refusal) == "forbidden"


# ------------------------------------------------------------------ entities


def test_entities_answers_what_a_query_names_and_what_goes_with_it(ada: Someone):
    both = [ada.knows(f"note {number}", entities=("Redis", "Postgres")) for number in range(2)]
    once = ada.knows("other", entities=("Redis", "Kafka"))
    ada.knows("apart", entities=("Python",))
    answer = ada.calls(entities.TOOL, query="redis")
    assert [(node.name, node.memories) for node in answer.nodes] == [("Redis", "3")]
    assert set(answer.nodes[0].memory_ids) == {*both, once}
    # One memory's say is left out where there is more.
    assert [{edge.one, edge.other} for edge in answer.edges] == [{"Redis", "Postgres"}]
    assert answer.edges[0].weight == 2
    spoken = ada.calls(entities.TOOL, query="does Kafka or Python matter here?")
    assert {node.name for node in spoken.nodes} == {"Kafka", "Python"}


def test_an_edge_dies_with_its_memories(ada: Someone):
    first = ada.knows("one", entities=("Redis", "Postgres"))
    second = ada.knows("two", entities=("Redis",))
    assert ada.calls(entities.TOOL, query="redis").edges[0].weight == 1
    ada.forgets(first)
    answer = ada.calls(entities.TOOL, query="redis")
    assert answer.edges == []
    assert answer.nodes[0].memory_ids == [second]
    ada.restores(first)
    assert len(ada.calls(entities.TOOL, query="redis").edges) == 1


def test_entities_without_a_query_are_those_of_the_newest_memories(ada: Someone):
    ada.knows("one", entities=("Redis", "Postgres"))
    ada.knows("two", entities=("Redis",))
    answer = ada.calls(entities.TOOL)
    assert [node.name for node in answer.nodes] == ["Redis", "Postgres"]
    assert len(answer.edges) == 1


def test_entities_of_others_are_not_shown(ada: Someone, ben: Someone):
    shared = ada.project("shared")
    ada.lets_in(ben, shared, "reader")
    ada.knows("private", entities=("Redis", "Merger"))
    visible = ada.at(shared).knows("shared", entities=("Redis",))
    answer = ben.calls(entities.TOOL, query="redis merger")
    assert [(node.name, node.memory_ids) for node in answer.nodes] == [("Redis", [visible])]
    assert answer.edges == []


# ------------------------------------------------------------------ history


def test_history_shows_versions_lives_links_disputes_and_every_change(ada: Someone):
    other = ada.knows("other")
    first = ada.knows("one", links=(("relates_to", other),))
    second = ada.remembers("two", supersedes=(first,)).memory_id
    third = ada.calls(revise.TOOL, memory_id=second, content="three").id
    ada.forgets(third, "it changed")
    ada.restores(third)
    ada.calls(challenge.TOOL, memory_id=third, reason="it failed")
    answer = ada.calls(memory_history.TOOL, memory_id=third)
    assert [(each.id, each.live) for each in answer.versions] == [
        (first, False),
        (second, False),
        (third, True),
    ]
    assert [each.action for each in answer.audit] == ["challenge", "restore", "forget", "remember"]
    assert answer.audit[2].reason == "it changed"
    assert (len(answer.lives), answer.lives[-1].end) == (2, None)
    assert answer.dispute.reason == "it failed"
    assert ada.calls(memory_history.TOOL, memory_id=first).links[0].id == other
    linked = ada.calls(memory_history.TOOL, memory_id=other).linked_from
    assert [each.id for each in linked] == [first]


def test_history_pages_by_a_cursor_of_its_own(ada: Someone, ben: Someone):
    one, two = ada.knows("one"), ada.knows("two")
    for _ in range(3):
        ada.forgets(one)
        ada.restores(one)
    read: list[str] = []
    cursor = None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        answer = ada.calls(memory_history.TOOL, memory_id=one, limit=2, **more)
        read += [each.audit_id for each in answer.audit]
        if answer.cursor is None:
            break
        cursor = answer.cursor
    assert read == [record.audit_id for record in ada.audits(one)][::-1]
    with pytest.raises(Refusal) as refusal:
        ada.calls(memory_history.TOOL, memory_id=two, cursor=cursor)
    assert refused(refusal) == "validation_failed"


def test_history_shows_nothing_that_the_caller_may_not_see(ada: Someone, ben: Someone):
    shared = ada.project("shared")
    ada.lets_in(ben, shared, "reader")
    private = ada.knows("private", entities=("Merger",))
    first = ada.at(shared).knows("one", links=(("relates_to", private),))
    moved = ada.knows("moved")
    ada.calls(move_memories.TOOL, ids=[moved], scope=shared.path)
    with pytest.raises(Refusal) as refusal:
        ben.calls(memory_history.TOOL, memory_id=private)
    assert refused(refusal) == "not_found"
    shown = ben.calls(memory_history.TOOL, memory_id=first).model_dump_json()
    assert private not in shown
    entry = ben.calls(memory_history.TOOL, memory_id=moved).audit[0]
    assert entry.before == {"scope": None}
    assert entry.after == {"scope": shared.path}


def test_every_change_says_in_which_conversation_it_was_made(ada: Someone):
    thread = ada.calls(recall.TOOL, query="anything").session.thread
    at = f"{ada.principal}#{thread}"
    api, other, loop = ada.project("api"), ada.knows("two"), ada.knows("Oil it", kind="task")
    memory_id = ada.knows("one")

    def change(tool: Any, **arguments: Any) -> Any:
        return ada.calls(tool, thread=thread, **arguments)

    change(challenge.TOOL, memory_id=memory_id, reason="it failed")
    change(link.TOOL, src=memory_id, dst=other, type="relates_to")
    change(share.TOOL, memory_id=memory_id, scope=api.path)
    change(unshare.TOOL, memory_id=memory_id)
    change(move_memories.TOOL, ids=[memory_id], scope=api.path)
    change(forget.TOOL, memory_id=memory_id, reason="outdated")
    change(restore_memory.TOOL, memory_id=memory_id)
    revised = change(revise.TOOL, memory_id=memory_id, content="one, corrected").id
    closed = change(close_loop.TOOL, memory_id=loop, outcome="It is oiled").outcome_id

    changes = [*ada.audits(memory_id)[1:], *ada.audits(loop)[1:], *ada.audits(revised)]
    assert len(changes) == 10
    assert {each.conversation for each in changes} == {at}
    assert {ada.meta(revised).thread, ada.meta(closed).thread} == {thread}
    change(memory_history.TOOL, memory_id=revised)
    change(erase_memory.TOOL, memory_id=revised, confirm=revised)


def test_every_tool_of_an_agents_takes_its_thread():
    threadless = {tool.name for tool in TOOLS if "thread" not in tool.input.model_fields}
    assert threadless == {"delete_account"}
