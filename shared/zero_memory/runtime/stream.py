"""The entry point of the table's stream: the indexer."""

import time
from collections.abc import Mapping
from typing import Any, TypedDict

from zero_memory.adapters.schema import memory_of
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable
from zero_memory.retrieval.indexing import index_each, settle_markers
from zero_memory.runtime.bootstrap import Composition, services


class ItemFailure(TypedDict):
    """A record that must come again, by its sequence number."""

    itemIdentifier: str


class BatchResult(TypedDict):
    """What a stream's function answers: the records that failed."""

    batchItemFailures: list[ItemFailure]


def index_stream(event: Mapping[str, Any], context: object) -> BatchResult:
    """Bring the index up to date for the memories that a batch of the stream names.

    A record says which memory to look at, no more. A memory that can't be indexed is reported
    alone; when index or table do not answer, the whole batch comes again.
    """
    del context
    composed = services()
    changes = [record["dynamodb"] for record in event["Records"]]
    first_sequence: dict[str, str] = {}
    for change in changes:
        memory_id = memory_of(change["Keys"]["pk"]["S"])
        if memory_id is not None:
            first_sequence.setdefault(memory_id, change["SequenceNumber"])
    try:
        indexed, failed = index_each(composed.table, composed.index, list(first_sequence))
    except (IndexUnavailable, TableUnavailable):
        indexed, failed = [], list(first_sequence)
    if indexed:
        newest = max(change["ApproximateCreationDateTime"] for change in changes)
        _wait_for_views(composed, int(newest * 1000))
        settle_markers(composed.table, indexed)
    return {
        "batchItemFailures": [{"itemIdentifier": first_sequence[each]} for each in failed],
    }


def _wait_for_views(composed: Composition, newest: int) -> None:
    """Sleep until the views of the table must show the newest change too."""
    remaining = newest + composed.table.view_lag_ms - composed.clock.now()
    if remaining > 0:
        time.sleep(remaining / 1000)
