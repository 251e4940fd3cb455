"""Any sequence of all the tools that change memories: nothing lost, everything explained."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.clock import ManualClock
from tests.contract.memory.people import arrives
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.canonical import fold_name
from zero_memory.memory.lifecycle import state_of
from zero_memory.memory.model import (
    LOOP_KINDS,
    AuditRecord,
    DuplicateClaim,
    Interval,
    LinkIn,
    LinkOut,
    Mention,
    Meta,
    SearchRecord,
    SharedMemory,
    Wording,
)
from zero_memory.memory.reading import with_bodies
from zero_memory.tools import (
    challenge,
    close_loop,
    erase_memory,
    forget,
    link,
    move_memories,
    restore_memory,
    revise,
    share,
    unshare,
)

FROM_LIFE = {"alive", "timeline", "invalidated_at"}
CONTENTS = ["X is blue", "x is blue.", "X is green", "The X is blue", "Y"]
CHOICE = st.integers(0, 1_000)


class LifeCycles(RuleBasedStateMachine):
    """Drives the tools, and knows what was said, and what was live at each moment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.table = SqliteTable(Path(self.folder.name) / "table.sqlite3")
        self.said: dict[str, str] = {}
        self.erased: set[str] = set()
        self.live_at: dict[int, set[str]] = {}
        self.born_with: dict[str, set[tuple[str, str]]] = {}

    def teardown(self) -> None:
        self.undo_everything()
        self.table.close()
        self.folder.cleanup()

    @initialize()
    def arrive(self) -> None:
        person = arrives(self.table, self.clock)
        self.homes = [person, *(person.at(person.project(name)) for name in ("api", "web"))]
        self.ada = person

    # -------------------------------------------------------------- what is done

    def tick(self) -> None:
        self.clock.advance(seconds=1)

    def pick(self, choice: int) -> str:
        return sorted(self.said)[choice % len(self.said)]

    def tries(self, tool: Any, *codes: str, **arguments: Any) -> Any:
        """What a tool answers; None when it refused by one of these codes."""
        self.tick()
        try:
            return self.ada.calls(tool, **arguments)
        except Refusal as refusal:
            if refusal.code not in codes:
                raise
            return None

    def note(self, memory_id: str, content: str, links: set[tuple[str, str]]) -> None:
        if memory_id not in self.said:
            self.said[memory_id] = content
            self.born_with[memory_id] = links

    @rule(
        content=st.sampled_from(CONTENTS),
        kind=st.sampled_from(["fact", "task"]),
        home=st.integers(0, 2),
        talk=st.sampled_from(["talk", None]),
        retired=st.lists(CHOICE, max_size=2),
        linked=st.none() | CHOICE,
        authority=st.sampled_from([1, 2]),
    )
    def remember(
        self,
        *,
        content: str,
        kind: str,
        home: int,
        talk: str | None,
        retired: list[int],
        linked: int | None,
        authority: int,
    ) -> None:
        self.tick()
        supersedes = {self.pick(target) for target in retired if self.said}
        links: set[tuple[str, str]] = set()
        if linked is not None and self.said and self.pick(linked) not in self.erased:
            links.add(("relates_to", self.pick(linked)))
        written = self.homes[home].remembers(
            content,
            kind=kind,
            talk=talk,
            authority=authority,
            supersedes=tuple(supersedes),
            links=tuple(links),
            entities=("X",) if "X" in content else (),
        )
        self.note(written.memory_id, content, links)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE)
    def forget(self, choice: int) -> None:
        arguments = {"memory_id": self.pick(choice), "reason": "outdated"}
        self.tries(forget.TOOL, "not_found", "validation_failed", **arguments)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, outcome=st.none() | st.sampled_from(CONTENTS))
    def close(self, choice: int, outcome: str | None) -> None:
        answer = self.tries(
            close_loop.TOOL,
            *("not_found", "validation_failed", "conflict"),
            memory_id=self.pick(choice),
            outcome=outcome,
        )
        if answer is not None and answer.outcome_id is not None:
            self.note(answer.outcome_id, outcome or "", set())

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, content=st.sampled_from(CONTENTS))
    def revise(self, choice: int, content: str) -> None:
        memory_id = self.pick(choice)
        kept = self.links(memory_id)
        answer = self.tries(
            revise.TOOL, "not_found", "conflict", memory_id=memory_id, content=content
        )
        if answer is not None:
            self.note(answer.id, content, kept)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE)
    def challenge(self, choice: int) -> None:
        arguments = {"memory_id": self.pick(choice), "reason": "it failed"}
        self.tries(challenge.TOOL, "not_found", "validation_failed", **arguments)

    @precondition(lambda self: self.said)
    @rule(one=CHOICE, other=CHOICE, kind=st.sampled_from(["contradicts", "supersedes"]))
    def link(self, one: int, other: int, kind: str) -> None:
        arguments = {"src": self.pick(one), "dst": self.pick(other), "type": kind}
        self.tries(link.TOOL, "not_found", "validation_failed", "conflict", **arguments)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, home=st.integers(0, 2))
    def move(self, choice: int, home: int) -> None:
        path = self.homes[home].scope.path
        self.tries(move_memories.TOOL, ids=[self.pick(choice)], scope=path)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, home=st.integers(1, 2))
    def share(self, choice: int, home: int) -> None:
        path = self.homes[home].scope.path
        self.tries(share.TOOL, "not_found", "conflict", memory_id=self.pick(choice), scope=path)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, home=st.none() | st.integers(1, 2))
    def unshare(self, choice: int, home: int | None) -> None:
        path = None if home is None else self.homes[home].scope.path
        self.tries(unshare.TOOL, "not_found", memory_id=self.pick(choice), scope=path)

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE)
    def restore(self, choice: int) -> None:
        self.tries(restore_memory.TOOL, "not_found", "conflict", memory_id=self.pick(choice))

    @precondition(lambda self: self.said)
    @rule(choice=CHOICE, record=CHOICE)
    def undo_any(self, choice: int, record: int) -> None:
        memory_id = self.pick(choice)
        audits = self.ada.audits(memory_id)
        self.tries(
            restore_memory.TOOL,
            *("not_found", "validation_failed", "conflict"),
            memory_id=memory_id,
            audit_id=audits[record % len(audits)].audit_id,
        )

    @precondition(lambda self: len(self.said) > 3)
    @rule(choice=CHOICE, sure=st.integers(0, 3))
    def erase(self, choice: int, sure: int) -> None:
        memory_id = self.pick(choice)
        if sure == 0:
            self.tries(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)
            self.erased.add(memory_id)

    # -------------------------------------------------------------- what always holds

    def metas(self) -> dict[str, Meta]:
        found = {memory_id: self.table.get(Meta, memory_id) for memory_id in self.said}
        return {memory_id: meta for memory_id, meta in found.items() if meta is not None}

    def links(self, memory_id: str) -> set[tuple[str, str]]:
        outs = self.table.query(LinkOut, memory_id, limit=1_000).records
        return {(each.link, each.target) for each in outs if each.link != "supersedes"}

    @invariant()
    def nothing_is_lost(self) -> None:
        metas = self.metas()
        assert metas.keys() == self.said.keys() - self.erased
        memories = with_bodies(self.table, list(metas.values()))
        said = {memory.meta.memory_id: memory.body.content for memory in memories}
        assert said == {memory_id: self.said[memory_id] for memory_id in metas}

    @invariant()
    def the_audit_explains_every_state(self) -> None:
        for memory_id, meta in self.metas().items():
            audits = sorted(self.ada.audits(memory_id), key=lambda each: each.revision)
            assert [each.revision for each in audits] == list(range(1, meta.revision + 1))
            state: dict[str, Any] = {}
            links = set(self.born_with[memory_id])
            for record in audits:
                before, after = states(record)
                removed, added = before.pop("link", None), after.pop("link", None)
                assert all(state[name] == value for name, value in before.items())
                state |= after
                links -= {tuple(removed)} if removed else set()
                links |= {tuple(added)} if added else set()
            assert state == state_of(meta)
            kept = {each for each in links if each[1] not in self.erased}
            assert self.links(memory_id) == kept
            for kind, target in kept:
                assert self.table.get(LinkIn, target, kind, memory_id) is not None

    @invariant()
    def everything_that_finds_a_memory_is_where_it_is(self) -> None:
        for memory in with_bodies(self.table, list(self.metas().values())):
            memory_id, meta = memory.meta.memory_id, memory.meta
            assert meta.scope not in meta.shared_to
            for home in self.homes:
                shared = self.table.get(SharedMemory, home.scope.scope, memory_id) is not None
                assert shared is (home.scope.scope in meta.shared_to)
                here = home.scope.scope == meta.scope
                scope = home.scope.scope
                assert (self.table.get(SearchRecord, scope, memory_id) is not None) is here
                claim = self.table.get(DuplicateClaim, scope, meta.digest)
                held = claim is not None and claim.memory_id == memory_id
                assert held is (here and meta.live)
                for name in memory.body.entities:
                    mention = self.table.get(Mention, scope, fold_name(name), memory_id)
                    assert (mention is not None) is here
            assert self.table.get(Wording, meta.owner, meta.folded, memory_id) is not None
        listed = set(self.ada.lists())
        assert listed == {each for each, meta in self.metas().items() if meta.live}

    @invariant()
    def no_memory_comes_to_succeed_itself(self) -> None:
        metas = self.metas()
        for memory_id in metas:
            chain = [memory_id]
            while (at := metas.get(chain[-1])) is not None and at.superseded_by is not None:
                assert not at.live
                assert at.superseded_by not in chain
                chain.append(at.superseded_by)
                link = self.table.get(LinkOut, chain[-1], "supersedes", chain[-2])
                assert link is not None or chain[-1] in self.erased

    @invariant()
    def as_of_replays_what_was_live(self) -> None:
        metas = self.metas()
        now = self.clock.now()
        self.live_at[now] = {memory_id for memory_id, meta in metas.items() if meta.live}
        for at, live in self.live_at.items():
            then = {each for each, meta in metas.items() if alive(meta.alive, at)}
            assert then == live - self.erased

    # -------------------------------------------------------------- what can be undone

    def undo_everything(self) -> None:
        """Undo every record, the newest first, and find each memory as it was before it."""
        records = [
            record
            for memory_id in self.said.keys() - self.erased
            for record in self.ada.audits(memory_id)
        ]
        for record in sorted(records, key=lambda each: (each.at, each.revision), reverse=True):
            if json.loads(record.before) is not None:
                self.undo(record)

    def undo(self, record: AuditRecord) -> None:
        memory_id, (before, _) = record.memory_id, states(record)
        link = before.pop("link", None)
        if link is not None and link[1] in self.erased:
            return
        while True:
            self.tick()
            try:
                self.ada.restores(memory_id, record.audit_id)
            except Refusal as refusal:
                if record.action in {"take_back", "put_back"} and refusal.code == "conflict":
                    break  # undone already, with the gesture that it went along with
                # A memory that was not born yet then says the same now; nothing undoes its birth.
                if refusal.details is None:
                    raise
                self.end(refusal.details["holder"])
            else:
                break
        now = state_of(self.ada.meta(memory_id))
        for name in before.keys() - FROM_LIFE:
            assert now[name] == before[name]
        if "alive" in before:
            assert self.ada.meta(memory_id).live is (before["alive"][-1].get("end") is None)

    def end(self, memory_id: str) -> None:
        if self.ada.meta(memory_id).kind in LOOP_KINDS:
            self.ada.calls(close_loop.TOOL, memory_id=memory_id)
        else:
            self.ada.forgets(memory_id)


def states(record: AuditRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a record changed, as it was and as it became; of a birth nothing was."""
    return json.loads(record.before) or {}, json.loads(record.after)


def alive(lives: tuple[Interval, ...], at: int) -> bool:
    return any(life.start <= at and (life.end is None or at < life.end) for life in lives)


TestLifeCycles = LifeCycles.TestCase
TestLifeCycles.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
