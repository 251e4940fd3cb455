"""The entry point of the table's stream, and of the queue of what failed on it: the indexer."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from msgspec import Struct

from zero_memory.adapters.schema import memory_of
from zero_memory.adapters.sqs import parked_memory
from zero_memory.ports.parking import ParkingUnavailable
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable
from zero_memory.retrieval.indexing import index_each, settle_each
from zero_memory.runtime.bootstrap import Composition, services


class ItemFailure(TypedDict):
    """A record that must come again, by its sequence number or message id."""

    itemIdentifier: str


class BatchResult(TypedDict):
    """What the indexer answers: the records that failed."""

    batchItemFailures: list[ItemFailure]


class _Change(Struct, frozen=True):
    """What a record says: to look at this memory, which changed no later than `at`, in ms."""

    item: str
    memory_id: str | None
    at: int
    parked: bool


def index_changes(event: Mapping[str, Any], context: object) -> BatchResult:
    """Bring the index up to date for the memories that a batch of stream or queue names.

    A record says which memory to look at, no more. When index or table do not answer, the whole
    batch comes again. A memory that can't be indexed, or whose markers can't be settled, holds up
    no other: from the stream it goes to the queue, and stays there until it can, or goes to the
    failures. Where there is no queue, it is reported alone.
    """
    del context
    composed = services()
    changes = [_change(record) for record in event["Records"]]
    items: dict[str, str] = {}
    for change in changes:
        if change.memory_id is not None:
            items.setdefault(change.memory_id, change.item)
    try:
        indexed, failed = index_each(composed.table, composed.index, list(items))
        if indexed:
            _wait_for_views(composed, max(change.at for change in changes))
            failed += settle_each(composed.table, indexed)
    except (IndexUnavailable, TableUnavailable):
        failed = list(items)
    else:
        if not any(change.parked for change in changes):
            failed = _park(composed, failed)
    return {"batchItemFailures": [{"itemIdentifier": items[each]} for each in failed]}


def _change(record: Mapping[str, Any]) -> _Change:
    if record["eventSource"] == "aws:sqs":
        sent = int(record["attributes"]["SentTimestamp"])
        return _Change(record["messageId"], parked_memory(record["body"]), sent, parked=True)
    changed = record["dynamodb"]
    return _Change(
        changed["SequenceNumber"],
        memory_of(changed["Keys"]["pk"]["S"]),
        int(changed["ApproximateCreationDateTime"] * 1000),
        parked=False,
    )


def _park(composed: Composition, memory_ids: Sequence[str]) -> list[str]:
    """Leave them in the queue; those that no queue took."""
    if composed.parking is None or not memory_ids:
        return list(memory_ids)
    try:
        composed.parking.park(memory_ids)
    except ParkingUnavailable:
        return list(memory_ids)
    return []


def _wait_for_views(composed: Composition, newest: int) -> None:
    """Sleep until the views of the table must show the newest change too."""
    remaining = newest + composed.table.view_lag_ms - composed.clock.now()
    if remaining > 0:
        time.sleep(remaining / 1000)
