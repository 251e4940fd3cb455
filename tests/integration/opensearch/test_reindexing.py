"""The index follows the table, and is built anew beside the live one while writes go on."""

import random
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from opensearchpy import OpenSearch

from tests.contract.retrieval.conftest import Agent, arrives
from tests.contract.search_index.documents import document
from tests.hashing_embedder import HashingEmbedder
from tests.opensearch.homes import empty_indexes, left_behind
from tests.ports import Ports
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.lifecycle import EraseArguments
from zero_memory.contracts.memory import RestoreArguments
from zero_memory.memory.model import Meta, SearchRecord
from zero_memory.ports.search_index import DocumentRefused, IndexUnavailable, SearchFilter
from zero_memory.ports.table import Table
from zero_memory.retrieval.indexing import document_of, index_memories
from zero_memory.retrieval.reindexing import reindex
from zero_memory.tools import erase_memory, restore_memory

CARD = {"model": HashingEmbedder.model, "dimensions": HashingEmbedder.dimensions}
QUERY = HashingEmbedder().embed_query("cache")


@pytest.fixture
def index(opensearch: OpenSearch) -> Generator[OpenSearchIndex]:
    with empty_indexes(opensearch, **CARD) as make:
        yield make()


@pytest.fixture
def ada(sqlite_table: SqliteTable, index: OpenSearchIndex) -> Agent:
    return arrives(Ports(sqlite_table, index))


def erases(agent: Agent, memory_id: str) -> None:
    asked = EraseArguments(memory_id=memory_id, confirm=memory_id)
    erase_memory.run(agent.ports, agent.caller, asked)


def document_from(table: Table, memory_id: str) -> tuple[Meta, SearchRecord]:
    meta = table.get(Meta, memory_id)
    assert meta is not None
    record = table.get(SearchRecord, meta.scope, memory_id)
    assert record is not None
    return meta, record


def held(index: OpenSearchIndex, scope: str) -> set[str]:
    """What the index itself answers of a scope, without the table's word on it."""
    answer = index.search(SearchFilter((scope,)), vector=QUERY, tokens=("cache",), limit=100)
    assert answer.incomplete is None
    return {match.memory_id for match in answer.semantic}


def test_what_is_written_while_an_index_is_built_is_in_it(
    ada: Agent, index: OpenSearchIndex
) -> None:
    kept, forgotten, erased = (ada.remembers(f"The cache {name}") for name in ("a", "b", "c"))
    ada.indexed()
    building = reindex(ada.ports.table, ada.ports.embedder, index)
    while next(building).indexed < 3:
        pass
    written = ada.remembers("The cache d")
    ada.forgets(forgotten)
    index_memories(ada.ports.table, index, [written, forgotten])
    erases(ada, erased)
    scope = ada.meta(kept).scope
    assert held(index, scope) == {kept, written}
    list(building)
    assert held(index, scope) == {kept, written}


def test_an_index_that_is_not_finished_changes_nothing(ada: Agent, index: OpenSearchIndex) -> None:
    kept = ada.remembers("The cache a")
    ada.indexed()
    building = reindex(ada.ports.table, ada.ports.embedder, index)
    next(building)
    building.close()
    assert held(index, ada.meta(kept).scope) == {kept}
    late = ada.remembers("The cache b")
    ada.indexed()
    assert held(index, ada.meta(kept).scope) == {kept, late}


def test_what_a_killed_rebuild_left_behind_is_built_over(
    ada: Agent, index: OpenSearchIndex, opensearch: OpenSearch
) -> None:
    kept = ada.remembers("The cache a")
    ada.indexed()
    left_behind(opensearch, index)
    list(reindex(ada.ports.table, ada.ports.embedder, index))
    assert held(index, ada.meta(kept).scope) == {kept}
    assert len(opensearch.indices.get(index=f"{index.name}-*")) == 1


@pytest.mark.parametrize("change", [{"model": "another@2"}, {"dimensions": 8}])
def test_a_change_of_model_asks_for_a_reindex_and_works_after_it(
    ada: Agent, index: OpenSearchIndex, opensearch: OpenSearch, change: dict[str, object]
) -> None:
    ada.remembers("The cache a")
    ada.indexed()
    changed = OpenSearchIndex(opensearch, name=index.name, **{**CARD, **change})  # pyright: ignore[reportArgumentType]
    model = str(change.get("model", CARD["model"]))
    vector = QUERY[: changed.made_of["dimensions"]]
    made = document(model=model)
    made = replace(made, windows=(replace(made.windows[0], vector=vector),))
    where = SearchFilter(("scp_A",))
    with pytest.raises(IndexUnavailable, match="reindex"):
        changed.search(where, vector=vector, tokens=["cache"], limit=5)
    with pytest.raises(IndexUnavailable, match="reindex"):
        changed.apply([made])
    with pytest.raises(DocumentRefused, match="reindex"):
        changed.apply([document(model="a third@1")])
    with changed.replacing():
        changed.apply([made])
    found = changed.search(where, vector=vector, tokens=["cache"], limit=5)
    assert [match.memory_id for match in found.semantic] == ["mem_1"]
    with pytest.raises(IndexUnavailable, match="reindex"):
        ada.ports.index.apply([document(model=HashingEmbedder.model)])


def test_an_old_revision_brings_nothing_back(ada: Agent, index: OpenSearchIndex) -> None:
    gone = ada.remembers("The cache a")
    stale = document_of(*document_from(ada.ports.table, gone))
    ada.indexed()
    ada.forgets(gone)
    index_memories(ada.ports.table, index, [gone])
    index.apply([stale])
    assert held(index, stale.visible_in[0]) == set()


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    changes=st.lists(st.tuples(st.sampled_from("rfbe"), st.integers(0, 3)), max_size=10),
    chaos=st.randoms(use_true_random=False),
)
def test_a_stream_that_is_late_doubled_and_out_of_order_leads_to_the_tables_state(
    tmp_path_factory: pytest.TempPathFactory,
    opensearch: OpenSearch,
    *,
    changes: list[tuple[str, int]],
    chaos: random.Random,
) -> None:
    """Memories are remembered, forgotten, brought back and erased, and looked at when it suits."""
    table = SqliteTable(Path(tmp_path_factory.mktemp("home")) / "table.sqlite3")
    with empty_indexes(opensearch, **CARD) as make:
        index, fresh = make(), make()
        agent = arrives(Ports(table, index))
        ids = [agent.remembers(f"The cache {number}") for number in range(3)]
        scope = agent.meta(ids[0]).scope
        for change, at in changes:
            _change(agent, ids, change, ids[at % len(ids)])
            index_memories(table, index, chaos.choices(ids, k=chaos.randint(0, 3)))
        replayed = ids * 2
        chaos.shuffle(replayed)
        for memory_id in replayed:
            index_memories(table, index, [memory_id])
        index_memories(table, fresh, ids)
        assert held(index, scope) == held(fresh, scope)
        assert held(index, scope) == {each for each in ids if _live(table, each)}
    table.close()


def _change(agent: Agent, ids: list[str], change: str, memory_id: str) -> None:
    meta = agent.ports.table.get(Meta, memory_id)
    if change == "r":
        ids.append(agent.remembers(f"The cache {len(ids)}"))
    elif meta is not None and change == "e":
        erases(agent, memory_id)
    elif meta is not None and change == "f" and meta.live:
        agent.forgets(memory_id)
    elif meta is not None and change == "b" and not meta.live:
        asked = RestoreArguments(memory_id=memory_id)
        restore_memory.run(agent.ports, agent.caller, asked)


def _live(table: Table, memory_id: str) -> bool:
    meta = table.get(Meta, memory_id)
    return meta is not None and meta.live
