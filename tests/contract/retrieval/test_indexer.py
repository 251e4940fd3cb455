"""What the indexer cannot index holds nobody up: it is parked, and looked at again."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from msgspec.structs import replace

from tests.contract.memory.damage import damage_marker
from tests.contract.retrieval.conftest import Agent, arrives
from tests.hashing_embedder import HashingEmbedder
from tests.ports import Ports
from tests.samples import sample
from zero_memory.adapters import sqs
from zero_memory.adapters.bundled_model import CARD
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import PendingMarker
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import Put
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.runtime.stream import index_changes


class CardEmbedder(HashingEmbedder):
    """Of the model that the composition expects, so that its memories can be indexed."""

    model = CARD.model


class Indexer:
    """The indexer of a home, with a queue; and an agent whose memories it can and cannot index."""

    def __init__(self, composed: Composition, client: Any) -> None:
        self.composed = composed
        self.client = client
        whole = Ports(composed.table, composed.index, embedder=CardEmbedder())
        self.ada = arrives(whole)
        # The index refuses memories of another model.
        self.odd = Agent(Ports(composed.table, composed.index), self.ada.caller)

    def streams(self, *memory_ids: str) -> list[str]:
        """Have the indexer look at these by the stream; those that it reports."""
        event = sample("table_stream")
        (record,) = event["Records"]
        event["Records"] = [
            {
                **record,
                "dynamodb": {
                    **record["dynamodb"],
                    "Keys": {"pk": {"S": f"M#{memory_id}"}, "sk": {"S": "META"}},
                    "SequenceNumber": memory_id,
                },
            }
            for memory_id in memory_ids
        ]
        return reported(index_changes(event, None))

    def returns(self, *memory_ids: str) -> list[str]:
        """Have the indexer look at these by the queue; those that it reports."""
        event = sample("parked")
        (record,) = event["Records"]
        event["Records"] = [
            {**record, "messageId": each, "body": json.dumps({"memory_id": each})}
            for each in memory_ids
        ]
        return reported(index_changes(event, None))

    def parked(self) -> list[str]:
        url = self.composed.settings.parking_queue_url
        found = self.client.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [sqs.parked_memory(each["Body"]) for each in found.get("Messages", ())]

    def holds(self, *memory_ids: str) -> list[str]:
        index = self.composed.derived_index
        assert index is not None
        return sorted(index.revisions(memory_ids))

    def is_marked(self, memory_id: str) -> bool:
        scope = self.ada.meta(memory_id).scope
        marked = self.composed.table.keys(PendingMarker, scope, since=memory_id, limit=1)
        return memory_id in marked.records


def reported(result: Any) -> list[str]:
    return [each["itemIdentifier"] for each in result["batchItemFailures"]]


@pytest.fixture
def indexer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Indexer]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        client = sqs.sqs_client()
        url = client.create_queue(QueueName="parked")["QueueUrl"]
        composed = Composition(Settings(data_dir=tmp_path, parking_queue_url=url))
        monkeypatch.setattr(bootstrap, "_composition", composed)
        yield Indexer(composed, client)
    for port in (composed.derived_index, composed.table):
        assert isinstance(port, (LocalIndex, SqliteTable))
        port.close()


def test_a_memory_that_cannot_be_indexed_is_parked_and_holds_nobody_up(indexer: Indexer) -> None:
    whole = [indexer.ada.remembers(f"The cache {name}") for name in "ab"]
    poison = indexer.odd.remembers("The cache c")
    assert indexer.streams(whole[0], poison, whole[1]) == []
    assert indexer.holds(*whole, poison) == sorted(whole)
    assert indexer.parked() == [poison]


def test_what_was_parked_is_read_again_and_stays_until_it_can_be_indexed(indexer: Indexer) -> None:
    whole, poison = indexer.ada.remembers("The cache a"), indexer.odd.remembers("The cache b")
    assert indexer.returns(whole, poison) == [poison]
    assert indexer.holds(whole, poison) == [whole]
    assert indexer.parked() == []
    assert not indexer.ada.recalls("The cache a").degraded


def test_many_are_parked_in_batches(indexer: Indexer) -> None:
    poison = [indexer.odd.remembers(f"The cache {number}") for number in range(12)]
    assert indexer.streams(*poison) == []
    assert {*indexer.parked(), *indexer.parked()} == set(poison)


def test_when_the_index_is_away_the_batch_comes_again_and_nothing_is_parked(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise IndexUnavailable("away")

    ids = [indexer.ada.remembers(f"The cache {name}") for name in "ab"]
    monkeypatch.setattr(LocalIndex, "apply", away)
    assert indexer.streams(*ids) == ids
    assert indexer.returns(*ids) == ids
    assert indexer.parked() == []


def test_when_the_queue_is_away_too_the_stream_brings_it_again(indexer: Indexer) -> None:
    poison = indexer.odd.remembers("The cache c")
    indexer.client.delete_queue(QueueUrl=indexer.composed.settings.parking_queue_url)
    assert indexer.streams(poison) == [poison]


def test_a_memory_whose_marker_cannot_be_read_is_parked_alone(indexer: Indexer) -> None:
    whole = [indexer.ada.remembers(f"The cache {name}") for name in "ab"]
    odd = indexer.ada.remembers("The cache c")
    damage_marker(indexer.composed.table, odd)
    assert indexer.streams(whole[0], odd, whole[1]) == []
    assert indexer.holds(*whole, odd) == sorted([*whole, odd])
    assert [each for each in (*whole, odd) if indexer.is_marked(each)] == [odd]
    assert indexer.parked() == [odd]
    assert indexer.returns(odd) == [odd]


def test_a_memory_that_is_said_to_be_shared_where_it_lives_is_indexed(ada: Agent) -> None:
    table = ada.ports.table
    memory_id, other = ada.remembers("The cache a"), ada.remembers("The cache b")
    meta = ada.meta(memory_id)
    table.transact([Put(replace(meta, shared_to=(meta.scope,)))])
    ada.indexed()
    for each in (memory_id, other):
        assert table.get(PendingMarker, meta.scope, each) is None
    assert ada.finds("The cache") == [memory_id, other]
