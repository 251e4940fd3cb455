"""Memories that two people share, move and take back: each is where it says, and is indexed."""

import random
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.contract.retrieval.test_indexer import CardEmbedder
from tests.ports import Ports
from tests.samples import REPOSITORY
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.local.deployment import Function, read_deployment
from zero_memory.local.failures import FailureParking, FailureQueue
from zero_memory.local.stream import Pump
from zero_memory.memory.model import AuditRecord, Meta, PendingMarker, SharedMemory
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.runtime.stream import index_changes
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.members import accept, invite, make_team
from zero_memory.scopes.model import GRANTS
from zero_memory.tools import (
    forget,
    move_memories,
    recall,
    remember,
    restore_memory,
    revise,
    share,
    unshare,
)
from zero_memory.tools.tool import Tool

(SOURCE,) = read_deployment(REPOSITORY).streams
GESTURES = (
    *("share",) * 4,
    *("move",) * 4,
    *("undo",) * 6,
    *("unshare from all",) * 2,
    *("unshare", "restore", "forget", "revise"),
)
STEPS = st.tuples(
    st.integers(0, 1), st.sampled_from(GESTURES), *(st.integers(0, 1_000) for _ in range(3))
)
Step = tuple[int, str, int, int, int]


def index(function: Function, event: dict[str, Any]) -> Any:
    """The indexer, as a pump invokes it."""
    del function
    return index_changes(event, None)


class Home:
    """A machine's table and index, and three teams of Ada's: Ben writes in two, reads in one."""

    def __init__(self, folder: Path) -> None:
        failures = FailureQueue(folder / "failures.json")
        parking = FailureParking(failures, [SOURCE.function.name])
        self.failures = failures
        self.composed = Composition(Settings(data_dir=folder), parking)
        self.ports = Ports(self.composed.table, self.composed.index, embedder=CardEmbedder())
        table, clock = self.ports.table, self.ports.clock
        people = [make_person(table, clock).person for _ in range(2)]
        self.callers = [Caller(each, each, frozenset(GRANTS)) for each in people]
        ada = access_of(table, people[0])
        self.teams = [make_team(table, clock, ada, name) for name in ("red", "green", "blue")]
        for team, role in zip(self.teams, ("writer", "writer", "reader"), strict=True):
            code = invite(table, clock, access_of(table, people[0]), team.path, role)
            accept(table, clock, access_of(table, people[1]), code)
        self.ids = [
            self.calls(0, remember.TOOL, content=f"The {team.path} train", scope=team.path).id
            for team in self.teams[:2]
        ]

    def pump(self) -> Pump:
        assert isinstance(self.ports.table, SqliteTable)
        source = replace(SOURCE, batching_window_s=0)
        return Pump(self.ports.table, (source,), index, self.failures, first_backoff_s=0)

    def calls(self, who: int, tool: Tool[Any, Any], **arguments: Any) -> Any:
        return tool.run(self.ports, self.callers[who], tool.input(**arguments))

    def does(self, step: Step) -> None:
        """One gesture, or its refusal."""
        self.ports.clock.advance(seconds=1)
        who, gesture, memory, place, record = step
        memory_id = self.ids[memory % len(self.ids)]
        path = self.teams[place % len(self.teams)].path
        try:
            match gesture:
                case "share":
                    self.calls(who, share.TOOL, memory_id=memory_id, scope=path)
                case "unshare":
                    self.calls(who, unshare.TOOL, memory_id=memory_id, scope=path)
                case "unshare from all":
                    self.calls(who, unshare.TOOL, memory_id=memory_id)
                case "move":
                    self.calls(who, move_memories.TOOL, ids=[memory_id], scope=path)
                case "undo":
                    page = self.ports.table.query(
                        AuditRecord, memory_id, limit=3, newest_first=True
                    )
                    found = page.records
                    audit_id = found[record % len(found)].audit_id
                    self.calls(who, restore_memory.TOOL, memory_id=memory_id, audit_id=audit_id)
                case "restore":
                    self.calls(who, restore_memory.TOOL, memory_id=memory_id)
                case "forget":
                    self.calls(who, forget.TOOL, memory_id=memory_id, reason="it changed")
                case _:
                    content = f"The train {record % 4}"
                    made = self.calls(who, revise.TOOL, memory_id=memory_id, content=content)
                    self.ids.append(made.id)
        except Refusal as refusal:
            if refusal.code not in {"not_found", "forbidden", "conflict", "validation_failed"}:
                raise

    def everything_is_where_it_says(self) -> None:
        table = self.ports.table
        metas = [meta for each in self.ids if (meta := table.get(Meta, each)) is not None]
        assert len(metas) == len(self.ids)
        for meta in metas:
            assert len({meta.scope, *meta.shared_to}) == 1 + len(meta.shared_to), meta
        for team in self.teams:
            shared = table.query(SharedMemory, team.scope, limit=1_000).records
            assert {each.memory_id for each in shared} == {
                meta.memory_id for meta in metas if team.scope in meta.shared_to
            }

    def everything_is_indexed(self) -> None:
        assert self.failures.all() == []
        for team in self.teams:
            assert self.ports.table.query(PendingMarker, team.scope).records == ()
        for who in (0, 1):
            found = self.calls(who, recall.TOOL, query="train", scopes=["*"])
            assert not found.degraded, found.degraded_reason


@contextmanager
def made() -> Generator[Home]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        home = Home(Path(folder))
        patch.setattr(bootstrap, "_composition", home.composed)
        yield home
        for port in (home.composed.derived_index, home.composed.table):
            assert isinstance(port, (LocalIndex, SqliteTable))
            port.close()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(STEPS, st.just("pump")), min_size=20, max_size=50))
def test_whatever_two_people_do_each_memory_is_where_it_says_and_indexed(
    steps: Sequence[Step | str],
) -> None:
    with made() as home:
        pump = home.pump()
        for step in steps:
            if isinstance(step, str):
                pump.deliver_once()
            else:
                home.does(step)
            home.everything_is_where_it_says()
        while pump.deliver_once():
            pass
        home.everything_is_indexed()


def test_two_people_at_once_leave_each_memory_where_it_says_and_indexed() -> None:
    def does_much(home: Home, who: int) -> None:
        chance = random.Random(who)  # noqa: S311 - gestures, not secrets
        for _ in range(200):
            one, two, three = (chance.randrange(1_000) for _ in range(3))
            home.does((who, chance.choice(GESTURES), one, two, three))

    with made() as home:
        running = home.pump()
        running.start()
        with ThreadPoolExecutor(2) as people:
            list(people.map(does_much, (home, home), (0, 1)))
        running.stop()
        rest = home.pump()
        while rest.deliver_once():
            pass
        home.everything_is_where_it_says()
        home.everything_is_indexed()
