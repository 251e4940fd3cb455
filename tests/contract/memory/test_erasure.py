"""Erasing: what is left of a memory, in the table and in every byte of a machine's home."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives, refused
from tests.contract.memory.test_remembering import Crash, Dying
from tests.ports import Ports
from zero_memory.adapters.files import FileArtifacts
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.schema import PATTERNS
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.model import (
    AnswerPointer,
    AuditRecord,
    EntityName,
    IdempotentAnswer,
    LinkIn,
    LinkOut,
    Mention,
    Meta,
    PendingMarker,
    SearchRecord,
)
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.tools import (
    challenge,
    erase_memory,
    export_memories,
    link,
    memory_history,
    move_memories,
    restore_memory,
    revise,
)

NOBODY = "mem_00000000000000000000000000"


def erase(writer: Someone, memory_id: str) -> Any:
    return writer.calls(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)


def partition(writer: Someone, memory_id: str) -> list[object]:
    """Every record that is kept under a memory."""
    kept: list[object] = []
    for pattern in PATTERNS:
        if pattern.of is not None or not pattern.pk.startswith("M#"):
            continue
        if pattern.sort.fields:
            kept += writer.table.query(pattern.record, memory_id, limit=1_000).records
        else:
            kept += filter(None, [writer.table.get(pattern.record, memory_id)])
    return kept


def test_of_an_erased_memory_stays_that_when_and_by_whom(ada: Someone, clock: ManualClock):
    other = ada.knows("other")
    memory_id = ada.knows(
        "word " * 500, entities=("Redis", "Postgres"), links=(("relates_to", other),), key="k"
    )
    ada.knows("kept", entities=("Redis",), links=(("derived_from", memory_id),))
    ada.remembers("word " * 500, key="k2")
    ada.calls(challenge.TOOL, memory_id=memory_id, reason="a reason", evidence="evidence")
    ada.forgets(memory_id)
    ada.restores(memory_id)
    meta = ada.meta(memory_id)
    clock.advance(hours=1)
    answer = erase(ada, memory_id)
    (left,) = partition(ada, memory_id)
    assert isinstance(left, AuditRecord)
    assert (left.action, left.at, left.principal, left.reason, left.before) == (
        "erase",
        clock.now(),
        ada.principal,
        None,
        "{}",
    )
    assert answer.erased_by == ada.principal
    table, scope = ada.table, ada.scope.scope
    assert table.get(SearchRecord, scope, memory_id) is None
    assert table.get(PendingMarker, scope, memory_id) is None
    assert table.get(IdempotentAnswer, ada.principal, "remember", "k") is None
    assert table.get(IdempotentAnswer, ada.principal, "remember", "k2") is None
    assert table.query(LinkIn, other).records == ()
    assert [each.name for each in table.query(EntityName, scope).records] == ["Redis"]
    assert len(table.query(Mention, scope, "redis").records) == 1
    assert memory_id not in ada.lists()
    fresh = ada.knows("word " * 500)
    assert fresh != memory_id
    assert ada.meta(fresh).digest == meta.digest


def test_an_answer_that_names_a_memory_among_what_it_superseded_goes_too(ada: Someone):
    dead, target = ada.knows("dead"), ada.knows("target")
    ada.forgets(dead)
    successor = ada.remembers("new", supersedes=(dead, target), key="k").memory_id
    ada.knows("unrelated", key="k2")
    erase(ada, target)
    assert ada.table.get(IdempotentAnswer, ada.principal, "remember", "k") is None
    assert ada.table.get(IdempotentAnswer, ada.principal, "remember", "k2") is not None
    assert ada.table.query(LinkOut, successor).records == ()
    assert ada.meta(successor).live
    again = ada.remembers("newer", supersedes=(dead,), key="k3")
    assert again.skipped == ((dead, "dead"),)
    erase(ada, dead)
    assert ada.table.get(IdempotentAnswer, ada.principal, "remember", "k3") is None
    assert ada.table.query(AnswerPointer, dead).records == ()


def test_erasing_again_answers_the_same(ada: Someone, ben: Someone, clock: ManualClock):
    memory_id = ada.knows("one")
    first = erase(ada, memory_id)
    clock.advance(hours=1)
    assert erase(ada, memory_id) == first
    with pytest.raises(Refusal) as refusal:
        erase(ben, memory_id)
    assert refused(refusal) == "not_found"


def test_only_an_admin_of_its_scope_erases_a_memory(ada: Someone, ben: Someone):
    shared = ada.project("shared")
    ada.lets_in(ben, shared, "writer")
    written, private = ben.at(shared).knows("one"), ada.knows("two")
    for memory_id, code in ((written, "forbidden"), (private, "not_found"), (NOBODY, "not_found")):
        with pytest.raises(Refusal) as refusal:
            erase(ben, memory_id)
        assert refused(refusal) == code
    erase(ada, written)
    assert ada.lists() == [private]


def test_confirm_repeats_the_id(ada: Someone):
    one, two = ada.knows("one"), ada.knows("two")
    with pytest.raises(Refusal) as refusal:
        ada.calls(erase_memory.TOOL, memory_id=one, confirm=two)
    assert refused(refusal) == "validation_failed"
    assert set(ada.lists()) == {one, two}


def test_nothing_brings_an_erased_memory_back(ada: Someone):
    old, new = ada.knows("old"), ada.knows("new")
    ada.calls(link.TOOL, src=new, dst=old, type="supersedes")
    ended = ada.audits(old)[-1].audit_id
    erase(ada, old)
    for arguments in ({}, {"audit_id": ended}, {"audit_id": ada.audits(old)[-1].audit_id}):
        with pytest.raises(Refusal) as refusal:
            ada.calls(restore_memory.TOOL, memory_id=old, **arguments)
        assert refused(refusal) == "not_found"
    with pytest.raises(Refusal) as refusal:
        ada.calls(memory_history.TOOL, memory_id=old)
    assert refused(refusal) == "not_found"
    assert ada.remembers("newer", supersedes=(old,)).skipped == ((old, "missing"),)


def test_a_link_to_an_erased_memory_is_not_had_back(ada: Someone):
    one, two = ada.knows("one"), ada.knows("two")
    added = ada.calls(link.TOOL, src=one, dst=two, type="relates_to")
    removed = ada.calls(restore_memory.TOOL, memory_id=one, audit_id=added.audit_id)
    erase(ada, two)
    with pytest.raises(Refusal) as refusal:
        ada.calls(restore_memory.TOOL, memory_id=one, audit_id=removed.audit_id)
    assert refused(refusal) == "conflict"
    assert len(partition(ada, two)) == 1


def test_why_another_was_linked_to_an_erased_memory_is_not_kept(ada: Someone):
    one, two, three = ada.knows("one"), ada.knows("two"), ada.knows("three")
    for target in (two, three):
        ada.calls(link.TOOL, src=one, dst=target, type="relates_to", reason=f"why {target}")
    erase(ada, two)
    assert [each.reason for each in ada.audits(one)] == [None, None, f"why {three}"]


def test_where_copies_are_out_of_reach_it_is_said_and_another_call_clears_them(ada: Someone):
    class Away(TableIndex):
        away = True

        def erase(self, memory_ids: Any) -> None:
            if self.away:
                raise IndexUnavailable("away")

    index = Away(ada.table, limit=100)
    ports, memory_id = replace(ada.ports, index=index), ada.knows("one")
    arguments = erase_memory.TOOL.input(memory_id=memory_id, confirm=memory_id)
    with pytest.raises(Refusal) as refusal:
        erase_memory.TOOL.run(ports, ada.caller, arguments)
    assert refused(refusal) == "conflict"
    index.away = False
    assert erase_memory.TOOL.run(ports, ada.caller, arguments).id == memory_id


def test_what_an_erased_memory_superseded_stays_superseded_and_can_be_restored(ada: Someone):
    old = ada.knows("old")
    new = ada.remembers("new", supersedes=(old,)).memory_id
    erase(ada, new)
    assert not ada.meta(old).live
    restored = ada.restores(old).audit
    assert restored
    assert ada.lists() == [old]
    ada.restores(old, restored.audit_id)
    assert ada.lists() == []


def test_a_memory_with_more_than_a_transaction_holds_is_erased(sqlite_table: SqliteTable):
    ada = arrives(sqlite_table, ManualClock())
    memory_id = ada.knows("one")
    sources = [ada.knows(f"note {number}") for number in range(110)]
    for source in sources:
        ada.calls(link.TOOL, src=source, dst=memory_id, type="relates_to")
    for _ in range(40):
        ada.forgets(memory_id)
        ada.restores(memory_id)
    erase(ada, memory_id)
    assert len(partition(ada, memory_id)) == 1
    assert all(ada.table.query(LinkOut, each).records == () for each in sources)


@pytest.mark.parametrize("transaction", range(4))
def test_an_erasure_that_was_cut_short_is_completed_by_another_call(
    ada: Someone, transaction: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("zero_memory.ports.table.MAX_ACTIONS", 4)
    other = ada.knows("other")
    memory_id = ada.knows("one", links=(("relates_to", other),), key="k")
    dying = Dying(ada.table, transaction, after=True)
    crashing = Someone(dying, ada.clock, ada.person, ada.principal, ada.scope)  # pyright: ignore[reportArgumentType]
    with pytest.raises(Crash):
        erase(crashing, memory_id)
    assert ada.table.get(Meta, memory_id) is None
    assert ada.lists() == [other]
    erase(ada, memory_id)
    assert len(partition(ada, memory_id)) == 1
    assert ada.table.query(LinkIn, other).records == ()
    assert ada.table.get(IdempotentAnswer, ada.principal, "remember", "k") is None


# ------------------------------------------------------------------ the bytes of a home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def holding(home: Path, needle: bytes) -> list[str]:
    """The files that hold these bytes, in any case of letters."""
    lower = needle.lower()
    return [
        str(file.relative_to(home))
        for file in sorted(home.rglob("*"))
        if file.is_file() and lower in file.read_bytes().lower()
    ]


def test_after_an_erasure_no_byte_of_the_text_is_in_any_file(home: Path):
    table, index = SqliteTable(home / "table.sqlite3"), LocalIndex(home / "index")
    ada = arrives(table, ManualClock())
    artifacts = FileArtifacts(home / "artifacts")
    ports = Ports(table, index, ManualClock(), artifacts=artifacts)

    def call(tool: Any, **arguments: Any) -> Any:
        return tool.run(ports, ada.caller, tool.input(**arguments))

    def indexed() -> None:
        ids = [memory_id for memory_id in (first, second, kept) if table.get(Meta, memory_id)]
        settle_markers(table, index_memories(table, index, ids))

    kept = ada.knows("zanzibar stays where it is")
    first = ada.knows(
        "quixotic wombats " + "zephyr " * 300,
        original="verquere Beuteltiere",
        language="de",
        entities=("Xylophone",),
        source_json='{"thread": "krakatoa"}',
        agent_name="okapi-agent",
        links=(("relates_to", kept),),
        key="jabberwocky",
    )
    second = first
    indexed()
    second = call(revise.TOOL, memory_id=first, content="quixotic wombats, revised: marzipan").id
    indexed()
    call(challenge.TOOL, memory_id=second, reason="because bandersnatch", evidence="frumious log")
    ada.forgets(second, "the vorpal sword")
    ada.restores(second)
    call(move_memories.TOOL, ids=[first, second], scope="core")
    indexed()
    words = [
        *("quixotic", "wombat", "zephyr", "verquere", "beuteltier", "xylophone", "krakatoa"),
        *("okapi", "jabberwocky", "marzipan", "bandersnatch", "frumious", "vorpal"),
    ]
    vectors = [
        window.vector[4:]
        for memory_id in (first, second)
        for record in [table.get(SearchRecord, ada.meta(memory_id).scope, memory_id)]
        if record is not None
        for window in record.passage.windows
    ]
    assert vectors
    assert [word for word in words if not holding(home, word.encode())] == []
    call(export_memories.TOOL, format="jsonl", deliver="file")
    call(export_memories.TOOL, format="markdown", deliver="file")
    artifacts.put(f"{ada.person}/upload", b"quixotic wombats, to be imported")
    call(link.TOOL, src=kept, dst=second, type="derived_from", reason="mimsy borogoves")
    words.append("mimsy")
    assert any(file.startswith("artifacts/") for file in holding(home, b"quixotic"))
    nowhere: dict[str, list[str]] = {word: [] for word in words}
    for memory_id in (first, second):
        call(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)
    assert {word: holding(home, word.encode()) for word in words} == nowhere
    assert [holding(home, vector) for vector in vectors] == [[] for _ in vectors]
    assert holding(home, b"zanzibar")
    index.close()
    table.close()
    assert {word: holding(home, word.encode()) for word in words} == nowhere


def test_a_file_that_is_in_use_is_said_and_cleared_by_another_call(home: Path):
    table = SqliteTable(home / "table.sqlite3", busy_timeout=0.1)
    ada = arrives(table, ManualClock())
    memory_id = ada.knows("quixotic wombats")
    reader = sqlite3.connect(home / "table.sqlite3", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchall()
    with pytest.raises(Refusal) as refusal:
        erase(ada, memory_id)
    assert refused(refusal) == "conflict"
    assert ada.lists() == []
    reader.close()
    erase(ada, memory_id)
    assert holding(home, b"quixotic") == []
    table.close()
