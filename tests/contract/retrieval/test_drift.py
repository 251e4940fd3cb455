"""Table and index drift apart, and the schedule brings them together, a bounded part at a time."""

import json
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from opensearchpy import OpenSearch

from tests.contract.retrieval.conftest import Agent, arrives
from tests.hashing_embedder import HashingEmbedder
from tests.opensearch.homes import empty_indexes
from tests.ports import Ports
from tests.samples import sample
from zero_memory.adapters.bundled_model import CARD
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import Meta, PendingMarker, SearchRecord
from zero_memory.ports.search_index import DerivedIndex, IndexUnavailable
from zero_memory.ports.table import Delete, Page, Put, Ref, Table, ref
from zero_memory.retrieval.drift import Drift, mend_drift
from zero_memory.retrieval.indexing import document_of, index_memories
from zero_memory.runtime import bootstrap, telemetry
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.schedule import tick
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.model import Scope

R = TypeVar("R")


class CountingTable:
    """A table that counts what is read of it; a query of nothing counts as one."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.view_lag_ms = table.view_lag_ms
        self.transact = table.transact
        self.scrub = table.scrub
        self.read = 0

    def get(self, record: type[R], *parts: str) -> R | None:
        self.read += 1
        return self._table.get(record, *parts)

    def get_many(self, refs: Sequence[Ref[R]]) -> list[R | None]:
        self.read += len(refs)
        return self._table.get_many(refs)

    def query(self, record: type[R], *parts: str, **how: Any) -> Page[R]:
        page = self._table.query(record, *parts, **how)
        self.read += max(len(page.records), 1)
        return page

    def keys(self, record: type[object], *parts: str, **how: Any) -> Page[str]:
        page = self._table.keys(record, *parts, **how)
        self.read += max(len(page.records), 1)
        return page


class Home:
    """An agent's home, whose index can be harmed."""

    def __init__(self, table: Table, index: DerivedIndex) -> None:
        self.table = table
        self.index = index
        self.ada = arrives(Ports(table, index))

    def remembers(self, *names: str) -> list[str]:
        scopes = ("personal", "core")
        ids = [
            self.ada.remembers(f"The cache {name}", scope=scopes[at % 2])
            for at, name in enumerate(names)
        ]
        self.ada.indexed()
        return ids

    def mends(self, limit: int = 100) -> Drift:
        return mend_drift(self.table, self.ada.ports.clock, self.index, limit=limit)

    def mends_all(self, limit: int = 100) -> list[Drift]:
        """Every run to the end of the one that comes there."""
        runs = [self.mends(limit)]
        while not runs[-1].finished:
            assert len(runs) < 200
            runs.append(self.mends(limit))
        return runs

    def unmarks(self, memory_id: str) -> None:
        """Lose what would have brought a change to the index."""
        scope = self.ada.meta(memory_id).scope
        self.table.transact([Delete(ref(PendingMarker, scope, memory_id))])

    def holds(self) -> dict[str, int]:
        return dict(self.index.revisions(self.index.stored(after="", limit=1_000)))

    def indexes_at(self, memory_id: str, revision: int) -> None:
        """Have the index hold a memory at a revision that the table does not have."""
        meta = self.ada.meta(memory_id)
        record = self.table.get(SearchRecord, meta.scope, memory_id)
        assert record is not None
        document = document_of(meta, record)
        self.index.apply([replace(document, revision=revision)])


@pytest.fixture(params=["sqlite, local", "dynamodb, opensearch"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Home]:
    if request.param == "sqlite, local":
        table: Table = request.getfixturevalue("sqlite_table")
        with closing(LocalIndex(tmp_path / "index")) as index:
            yield Home(table, index)
        return
    client: OpenSearch = request.getfixturevalue("opensearch")
    card = {"model": HashingEmbedder.model, "dimensions": HashingEmbedder.dimensions}
    with empty_indexes(client, **card) as make:
        yield Home(request.getfixturevalue("dynamo_table"), make())


def test_where_nothing_differs_nothing_is_found(home: Home) -> None:
    home.remembers("a", "b", "c")
    (drift,) = home.mends_all()
    assert (drift.found, drift.refused, drift.indexed) == (0, [], [])
    assert drift.compared == 6  # each once from either side


def test_each_way_of_differing_is_found_counted_and_mended(home: Home) -> None:
    lost, stale, ahead, whole = home.remembers("a", "b", "c", "d")
    home.index.erase([lost])
    home.ada.forgets(stale)
    home.unmarks(stale)
    home.indexes_at(ahead, 9)
    home.indexes_at(whole, 1)
    document = home.ada.meta(whole)
    ghost = "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    record = home.table.get(SearchRecord, document.scope, whole)
    assert record is not None
    made = document_of(document, record)
    home.index.apply([replace(made, memory_id=ghost)])
    (drift,) = home.mends_all()
    assert (drift.lost, sorted(drift.stale), drift.erased) == (
        [lost],
        sorted([stale, ahead]),
        [ghost],
    )
    assert home.holds() == {
        each: home.ada.meta(each).revision for each in (lost, stale, ahead, whole)
    }
    assert sum(run.found for run in home.mends_all()) == 0


UNREADABLE: Any = 7


def test_a_memory_that_cannot_be_read_holds_nobody_up(home: Home) -> None:
    lost, odd, whole = home.remembers("a", "b", "c")
    home.index.erase([lost])
    home.unmarks(odd)
    home.table.transact([Put(replace(home.ada.meta(odd), owner=UNREADABLE))])
    (drift,) = home.mends_all()
    assert (drift.lost, drift.erased, drift.refused) == ([lost], [], [odd])
    assert {lost, whole} <= home.holds().keys()


def test_a_search_record_that_cannot_be_read_holds_nobody_up(home: Home) -> None:
    lost, odd, whole = home.remembers("a", "b", "c")
    home.index.erase([lost, odd])
    scope = home.ada.meta(odd).scope
    home.table.transact([Put(SearchRecord(scope, odd, UNREADABLE))])
    (drift,) = home.mends_all()
    assert (drift.lost, drift.refused) == ([lost], [odd])
    assert {lost, whole} == home.holds().keys()
    (drift,) = home.mends_all()
    assert (drift.found, drift.refused) == (0, [odd])


def test_a_scope_that_cannot_be_read_is_compared_all_the_same(home: Home) -> None:
    ids = home.remembers("a", "b")
    home.index.erase(ids)
    scopes = [home.ada.meta(each).scope for each in ids]
    home.table.transact(
        [Put(replace(each, owner=UNREADABLE)) for each in scope_records(home.table, scopes)]
    )
    (drift,) = home.mends_all()
    assert sorted(drift.lost) == sorted(ids)
    assert home.holds().keys() == set(ids)


def scope_records(table: Table, scopes: Sequence[str]) -> list[Scope]:
    return [each for each in table.get_many([ref(Scope, scope) for scope in scopes]) if each]


class Unsteady:
    """An index that goes away at its so-manieth question for revisions."""

    def __init__(self, index: DerivedIndex, away_at: int) -> None:
        self._index = index
        self._away_at = away_at
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def revisions(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        self.asked += 1
        if self.asked == self._away_at:
            raise IndexUnavailable("away")
        return self._index.revisions(memory_ids)


def test_what_was_found_before_the_index_went_away_counts_and_the_next_run_goes_on(
    home: Home,
) -> None:
    # Of the two scopes one is compared, with a question for what it lacks and one to mend it.
    ids = home.remembers("a", "b")
    home.index.erase(ids)
    unsteady: Any = Unsteady(home.index, away_at=3)
    first = mend_drift(home.table, home.ada.ports.clock, unsteady, limit=100)
    assert isinstance(first.away, IndexUnavailable)
    assert (len(first.lost), first.finished) == (1, False)
    (second,) = home.mends_all()
    assert sorted(first.lost + second.lost) == sorted(ids)
    assert second.compared == 3  # one that was left of the table, two in the index
    assert second.away is None


def test_what_the_stream_may_still_bring_is_no_drift_and_is_brought(home: Home) -> None:
    memory_id = home.ada.remembers("The cache a")
    (drift,) = home.mends_all()
    assert drift.found == 0
    assert [meta.memory_id for meta in drift.indexed] == [memory_id]
    assert memory_id in home.holds()


def test_a_run_is_bounded_and_the_next_one_goes_on(home: Home) -> None:
    ids = home.remembers(*(f"number {number}" for number in range(9)))
    home.index.erase(ids)
    limit = 4
    home.table = counting = CountingTable(home.table)
    found: set[str] = set()
    while True:
        counting.read = 0
        drift = home.mends(limit)
        assert len(drift.indexed) <= limit
        # The cursor; each memory; and of those that differ META twice, its record and its marker.
        assert counting.read <= 1 + limit + 4 * limit
        found |= set(drift.lost)
        if drift.finished:
            break
    assert found == set(ids)
    assert home.holds().keys() == set(ids)


def test_runs_that_overlap_do_no_harm(sqlite_table: SqliteTable, tmp_path: Path) -> None:
    with closing(LocalIndex(tmp_path / "index")) as index, ThreadPoolExecutor(4) as pool:
        home = Home(sqlite_table, index)
        ids = home.remembers("a", "b", "c", "d")
        index.erase(ids)
        list(pool.map(home.mends, [2] * 12))
        home.mends_all()
        home.mends_all()
        assert home.holds().keys() == set(ids)


def test_an_index_that_was_gone_through_from_end_to_end_answers(
    opensearch: OpenSearch, sqlite_table: SqliteTable
) -> None:
    """As after a change of `Search` from none to domain."""
    card = {"model": HashingEmbedder.model, "dimensions": HashingEmbedder.dimensions}
    with empty_indexes(opensearch, **card) as make:
        index = OpenSearchIndex(opensearch, name=f"{make().name}-new", **card)  # pyright: ignore[reportArgumentType]
        home = Home(sqlite_table, index)
        ids = [home.ada.remembers(f"The cache {name}") for name in "abc"]
        index_memories(sqlite_table, index, ids[:1])
        for memory_id in ids:
            home.unmarks(memory_id)
        assert "not filled yet" in (home.ada.recalls("cache").degraded_reason or "")
        home.mends(2)
        assert home.ada.recalls("cache").degraded
        home.mends_all(2)
        found = home.ada.recalls("cache")
        assert {hit.id for hit in found.hits} == set(ids)
        assert not found.degraded


HARMS = st.lists(
    st.tuples(st.sampled_from(["lose", "forget", "ahead", "remember"]), st.integers(0, 5)),
    max_size=12,
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(harms=HARMS, limit=st.integers(1, 7), runs_between=st.integers(0, 2))
def test_after_enough_runs_the_index_is_what_the_table_says(
    tmp_path_factory: pytest.TempPathFactory,
    harms: list[tuple[str, int]],
    limit: int,
    runs_between: int,
) -> None:
    folder = tmp_path_factory.mktemp("home")
    with ExitStack() as stack:
        table = stack.enter_context(closing(SqliteTable(folder / "table.sqlite3")))
        index = stack.enter_context(closing(LocalIndex(folder / "index")))
        home = Home(table, index)
        ids = home.remembers("a", "b", "c")
        for harm, at in harms:
            memory_id = ids[at % len(ids)]
            if harm == "lose":
                index.erase([memory_id])
            elif harm == "forget" and home.ada.meta(memory_id).live:
                home.ada.forgets(memory_id)
                home.unmarks(memory_id)
            elif harm == "ahead":
                home.indexes_at(memory_id, 50 + len(ids))
            elif harm == "remember":
                ids.append(home.ada.remembers(f"The cache {len(ids)} {harm}"))
            for _ in range(runs_between):
                home.mends(limit)
        home.mends_all(limit)
        home.mends_all(limit)
        assert home.holds() == {each: home.ada.meta(each).revision for each in ids}


class CardEmbedder(HashingEmbedder):
    """Of the model that the composition expects."""

    model = CARD.model


@pytest.fixture
def composed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Composition]:
    made = Composition(Settings(home="local", data_dir=tmp_path))
    monkeypatch.setattr(bootstrap, "_composition", made)
    yield made
    for port in (made.derived_index, made.table):
        assert isinstance(port, (LocalIndex, SqliteTable))
        port.close()


def test_a_tick_mends_and_settles_what_the_stream_gave_up_on(composed: Composition) -> None:
    person = arrives(Ports(composed.table, composed.index))
    ada = Agent(Ports(composed.table, composed.index, embedder=CardEmbedder()), person.caller)
    memory_id = ada.remembers("The staging database is rebuilt on Mondays")
    meta = composed.table.get(Meta, memory_id)
    assert meta is not None
    assert composed.table.get(PendingMarker, meta.scope, memory_id) is not None
    tick(sample("schedule"), None)
    assert composed.table.get(PendingMarker, meta.scope, memory_id) is None
    assert ada.finds("staging database") == [memory_id]


def test_an_index_that_does_not_answer_fails_the_tick(
    composed: Composition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: LocalIndex) -> str:
        raise IndexUnavailable("away")

    monkeypatch.setattr(LocalIndex, "identity", away)
    with pytest.raises(IndexUnavailable):
        tick(sample("schedule"), None)


def test_a_tick_that_is_cut_short_has_settled_and_logged_what_it_mended(
    composed: Composition, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(self: LocalIndex, *, after: str, limit: int) -> Sequence[str]:
        raise IndexUnavailable("away")

    person = arrives(Ports(composed.table, composed.index))
    ada = Agent(Ports(composed.table, composed.index, embedder=CardEmbedder()), person.caller)
    memory_id = ada.remembers("The staging database is rebuilt on Mondays")
    scope = ada.meta(memory_id).scope
    monkeypatch.setattr(LocalIndex, "stored", away)
    with pytest.raises(IndexUnavailable):
        tick(sample("schedule"), None)
    assert composed.table.get(PendingMarker, scope, memory_id) is None
    (logged,) = (each for each in caplog.records if each.msg == "index compared")
    assert logged.__dict__["compared"] == 1


def test_drift_is_a_metric_while_there_is_some(capsys: pytest.CaptureFixture[str]) -> None:
    drift = Drift(lost=["mem_1"], erased=["mem_2"], refused=["mem_3"], compared=7)
    telemetry.record_drift(drift, Settings(home="aws"))
    counted = json.loads(capsys.readouterr().out)
    assert counted["IndexDrift"] == [2.0]
    assert [each["Metrics"] for each in counted["_aws"]["CloudWatchMetrics"]] == [
        [{"Name": "IndexDrift", "Unit": "Count"}]
    ]

    telemetry.record_drift(Drift(compared=7), Settings(home="aws"))
    assert capsys.readouterr().out == ""
