"""Out of one home and into an empty one: the same bytes come out again."""

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives
from tests.contract.portability.carrying import Watched, exported, imported, statuses
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.linking import link
from zero_memory.memory.model import (
    AuditRecord,
    DuplicateClaim,
    LinkIn,
    LinkOut,
    Meta,
    SearchRecord,
)
from zero_memory.memory.moving import move
from zero_memory.memory.reading import with_bodies
from zero_memory.memory.state import challenge, close
from zero_memory.ports.table import Table
from zero_memory.tools import revise

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - folders of its own
KINDS = ["fact", "decision", "task", "episode"]
FORMS = ["markdown", "jsonl"]

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.sampled_from(
        [
            "---\nid: mem_1\n---\nnot frontmatter",
            "line\r\nline\r\n  \t\r\n",
            "no final newline   ",
            "---",
            "橋 🌉 e\u0301 \u202e \ufeff \x7f \x85 \u2028",
            "x" * 2_500,
            "- a\n- b\n\n...\n---\n",
            "<!-- zero-memory:rules -->\nkept\n<!-- /zero-memory:rules -->",
        ]
    ),
)
SOURCES = st.none() | st.sampled_from(
    ['{"pr": 12, "float": 1e+20, "no": null, "list": ["---", true]}', '{"2026-01-01": "\\u2028"}']
)


def remembering(draw: st.DrawFn, who: Someone, known: list[str]) -> None:
    content = draw(TEXTS.filter(str.strip)) + f" {len(known)}"
    written = who.remembers(
        content,
        talk=draw(st.sampled_from([None, "talk-1"])),
        kind=draw(st.sampled_from(["fact", "episode"] if len(content) > 2_000 else KINDS)),
        entities=tuple(draw(st.lists(st.sampled_from(["Redis", "C++", "橋", "no"]), max_size=3))),
        supersedes=tuple(draw(st.lists(st.sampled_from(known), max_size=2))) if known else (),
        original=draw(st.none() | TEXTS.filter(str.strip)),
        language=draw(st.sampled_from([None, "de", "no"])),
        source_json=draw(SOURCES),
        agent_name=draw(st.sampled_from([None, "claude", "yes"])),
        authority=draw(st.sampled_from([1, 2])),
    )
    known.append(written.memory_id)


def changing(draw: st.DrawFn, who: Someone, places: list[Someone], known: list[str]) -> None:
    """One gesture on one memory; refused ones change nothing."""
    target = draw(st.sampled_from(known))
    gestures: list[Callable[[], object]] = [
        lambda: who.forgets(target, draw(TEXTS.filter(str.strip))),
        lambda: who.restores(target),
        lambda: close(who.table, who.clock, who.actor, memory_id=target),
        lambda: challenge(who.table, who.clock, who.actor, memory_id=target, reason="doubt"),
        lambda: link(
            who.table,
            who.clock,
            who.actor,
            source=target,
            target=draw(st.sampled_from(known)),
            link_type=draw(st.sampled_from(["relates_to", "contradicts", "supersedes"])),
        ),
        lambda: known.append(
            who.calls(revise.TOOL, memory_id=target, content=f"revised {len(known)}").id
        ),
        lambda: move(
            who.table,
            who.clock,
            who.actor,
            memory_id=target,
            scope=(to := draw(st.sampled_from(places)).scope).scope,
            owner=to.owner,
        ),
        lambda: who.restores(
            target,
            draw(
                st.sampled_from(sorted(who.audits(target), key=lambda each: each.revision))
            ).audit_id,
        ),
    ]
    with suppress(Refusal):
        draw(st.sampled_from(gestures))()


@st.composite
def worlds(draw: st.DrawFn, who: Someone, clock: ManualClock) -> list[str]:
    places = [who, who.at(who.access.core), who.at(who.project("shop"))]
    known: list[str] = []
    for _ in range(draw(st.integers(1, 12))):
        clock.advance(seconds=draw(st.integers(1, 5)) / 10)
        if not known or draw(st.booleans()):
            remembering(draw, draw(st.sampled_from(places)), known)
        else:
            changing(draw, who, places, known)
    return known


@contextmanager
def empty_home(clock: ManualClock) -> Generator[Someone]:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        table = SqliteTable(Path(folder) / "table.sqlite3")
        try:
            yield arrives(table, clock)
        finally:
            table.close()


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_world_comes_out_of_another_home_as_it_went_in(form: str, data: st.DataObject):
    clock = ManualClock()
    with empty_home(clock) as ada, empty_home(clock) as there:
        data.draw(worlds(ada, clock))
        tree = exported(ada, form, limit=3)
        clock.advance(hours=1)
        results = imported(there, tree)
        assert [each for each in results if each.status != "created"] == []
        assert exported(there, form, limit=5) == tree


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_json_lines_restore_is_what_was_there(data: st.DataObject):
    clock = ManualClock()
    with empty_home(clock) as ada, empty_home(clock) as there:
        known = data.draw(worlds(ada, clock))
        imported(there, exported(ada, "jsonl"))
        for memory_id in known:
            assert everything(there, memory_id) == everything(ada, memory_id)


def everything(who: Someone, memory_id: str) -> dict[str, Any]:
    """All that a home holds of a memory, but for the names that people and scopes have there."""
    meta = who.meta(memory_id)
    ours = {each.scope: each.kind for each in who.access.memberships} | {who.person: "me"}

    def named(text: str) -> str:
        for local, name in ours.items():
            text = text.replace(local, name)
        return text

    claim = who.table.get(DuplicateClaim, meta.scope, meta.digest)
    record = who.table.get(SearchRecord, meta.scope, memory_id)
    return {
        "meta": named(repr(meta)),
        "body": with_bodies(who.table, [meta])[0].body,
        "audits": [named(repr(each)) for each in who.audits(memory_id)],
        "out": who.table.query(LinkOut, memory_id).records,
        "in": who.table.query(LinkIn, memory_id).records,
        "claimed": claim is not None and claim.memory_id == memory_id,
        "passage": record and record.passage,
    }


@pytest.mark.parametrize("form", FORMS)
def test_both_homes_take_in_what_the_other_gave(
    form: str, table: Table, clock: ManualClock, tmp_path: Path
):
    local = SqliteTable(tmp_path / "other" / "table.sqlite3")
    there, ada = arrives(local, clock), arrives(table, clock)
    first = ada.knows("first\r\n", entities=("Redis",))
    clock.advance(seconds=1)
    second = ada.knows(
        "second 橋" + "x" * 3_000, supersedes=(first,), links=(("relates_to", first),)
    )
    clock.advance(seconds=1)
    ada.at(ada.project("shop")).knows("third", links=(("derived_from", second),))
    tree = exported(ada, form)

    assert statuses(imported(there, tree)) == ["created"] * 3
    assert exported(there, form) == tree
    back = arrives(table, clock)
    assert statuses(imported(back, tree)) == ["refused"] * 3  # their ids are Ada's here
    local.close()


@pytest.mark.parametrize("form", FORMS)
def test_importing_twice_writes_nothing(form: str, clock: ManualClock):
    with empty_home(clock) as ada, empty_home(clock) as there:
        ada.knows("one", entities=("Redis",))
        ada.forgets(ada.knows("two"))
        ada.at(ada.project("shop")).knows("three")
        tree = exported(ada, form)
        imported(there, tree)
        watched = Watched(there.table)
        again = Someone(watched, clock, there.person, there.principal, there.scope)  # pyright: ignore[reportArgumentType]
        assert statuses(imported(again, tree)) == ["unchanged"] * 3
        assert watched.written == 0


def test_the_history_of_a_markdown_import_begins_with_it(ada: Someone, clock: ManualClock):
    with empty_home(clock) as there:
        memory_id = ada.knows("one")
        ada.forgets(memory_id)
        imported(there, exported(ada, "markdown"))
        assert [each.action for each in there.audits(memory_id)] == ["import"]
        assert not there.meta(memory_id).live


def test_a_long_history_comes_whole(clock: ManualClock):
    with empty_home(clock) as ada, empty_home(clock) as there:
        memory_id = ada.knows("one", entities=tuple(f"e{number}" for number in range(32)))
        shop = ada.at(ada.project("shop"))
        for number in range(150):
            clock.advance(seconds=1)
            to = (shop if number % 2 else ada).scope
            move(ada.table, clock, ada.actor, memory_id=memory_id, scope=to.scope, owner=to.owner)
        tree = exported(ada, "jsonl")
        assert statuses(imported(there, tree)) == ["created"]
        assert len(there.audits(memory_id)) == len(ada.audits(memory_id)) == 150
        assert exported(there, "jsonl") == tree


def test_a_move_out_of_sight_names_no_place_and_is_not_undone(
    ada: Someone, ben: Someone, clock: ManualClock
):
    team = ada.project("team")
    ada.lets_in(ben, team, "admin")
    memory_id = ada.at(ada.project("hidden")).knows("one")
    move(ada.table, clock, ada.actor, memory_id=memory_id, scope=team.scope, owner=team.owner)
    tree = exported(ben, "jsonl")
    assert ada.project("hidden").scope not in tree["memories.jsonl"]
    with empty_home(clock) as there:
        imported(there, tree, scope="personal")
        (moved,) = (each for each in there.audits(memory_id) if each.action == "move")
        with pytest.raises(Refusal, match="can't write to"):
            there.restores(memory_id, moved.audit_id)


def test_vectors_of_another_model_are_made_anew(clock: ManualClock):
    with empty_home(clock) as ada, empty_home(clock) as there:
        memory_id = ada.knows("one")
        ((path, lines),) = exported(ada, "jsonl").items()
        assert "hashing-embedder@1" in lines
        tree = {path: lines.replace("hashing-embedder@1", "another@2")}
        assert statuses(imported(there, tree)) == ["created"]
        record = there.table.get(SearchRecord, there.scope.scope, memory_id)
        assert record == ada.table.get(SearchRecord, ada.scope.scope, memory_id) or (
            record is not None and record.passage.model == "hashing-embedder@1"
        )


def test_an_erased_memory_stays_erased(ada: Someone):
    from zero_memory.tools import erase_memory

    memory_id = ada.knows("one")
    tree = exported(ada, "jsonl")
    ada.calls(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)
    (result,) = imported(ada, tree)
    assert (result.status, result.code) == ("refused", "conflict")
    assert ada.table.get(Meta, memory_id) is None
    assert len(ada.table.query(AuditRecord, memory_id).records) == 1
