"""People who remember and recall through the tools, over every pair of table and index."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from tests.hashing_embedder import HashingEmbedder
from tests.opensearch.homes import empty_indexes
from tests.ports import Ports
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.table_index import TableIndex
from zero_memory.contracts.memory import (
    ForgetArguments,
    RecallArguments,
    RecallResult,
    RememberArguments,
)
from zero_memory.memory.model import Meta, PendingMarker, TimelineEntry
from zero_memory.ports.table import Table
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.model import GRANTS
from zero_memory.tools import forget, recall, remember


@dataclass(frozen=True)
class Agent:
    """Somebody's agent, which calls tools."""

    ports: Ports
    caller: Caller

    def remembers(self, content: str, **arguments: Any) -> str:
        arguments = {"scope": "personal", **arguments}
        asked = RememberArguments(content=content, **arguments)
        return remember.run(self.ports, self.caller, asked).id

    def forgets(self, memory_id: str) -> None:
        asked = ForgetArguments(memory_id=memory_id, reason="it changed")
        forget.run(self.ports, self.caller, asked)

    def recalls(self, query: str, **arguments: Any) -> RecallResult:
        return recall.run(self.ports, self.caller, RecallArguments(query=query, **arguments))

    def finds(self, query: str, **arguments: Any) -> list[str]:
        return [hit.id for hit in self.recalls(query, **arguments).hits]

    def indexed(self) -> None:
        """Let the indexer see everything that this agent may read."""
        table, index = self.ports.table, self.ports.index
        ids: list[str] = []
        for membership in access_of(table, self.caller.person).memberships:
            pending = table.query(PendingMarker, membership.scope, limit=1_000).records
            ids += [marker.memory_id for marker in pending]
            for timeline in ("knowledge", "loops", "episodes"):
                page = table.query(TimelineEntry, membership.scope, timeline, limit=1_000)
                ids += [entry.memory_id for entry in page.records]
        settle_markers(table, index_memories(table, index, ids))

    def meta(self, memory_id: str) -> Meta:
        meta = self.ports.table.get(Meta, memory_id)
        assert meta is not None
        return meta


@pytest.fixture(
    params=[
        "sqlite, local index",
        "sqlite, no index",
        "dynamodb, no index",
        "dynamodb, opensearch",
    ]
)
def ports(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Ports]:
    home, _, search = request.param.partition(", ")
    table: Table = request.getfixturevalue({"sqlite": "sqlite_table"}.get(home, "dynamo_table"))
    if search == "no index":
        yield Ports(table, TableIndex(table, limit=5_000))
        return
    if search == "opensearch":
        client: OpenSearch = request.getfixturevalue("opensearch")
        card = {"model": HashingEmbedder.model, "dimensions": HashingEmbedder.dimensions}
        with empty_indexes(client, **card) as make:
            yield Ports(table, make())
        return
    index = LocalIndex(tmp_path / "index")
    yield Ports(table, index)
    index.close()


@pytest.fixture
def ada(ports: Ports) -> Agent:
    return arrives(ports)


@pytest.fixture
def ben(ports: Ports) -> Agent:
    return arrives(ports)


def arrives(ports: Ports) -> Agent:
    person = make_person(ports.table, ports.clock).person
    return Agent(ports, Caller(person, person, frozenset(GRANTS)))
