"""The entry point of the table's stream: the indexer."""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from zero_memory.adapters.schema import memory_of
from zero_memory.memory.model import Meta
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.runtime.bootstrap import Composition, services

_log = logging.getLogger(__name__)


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
    indexed, failed = _index(composed, list(first_sequence))
    if indexed:
        newest = max(change["ApproximateCreationDateTime"] for change in changes)
        _wait_for_views(composed, int(newest * 1000))
        settle_markers(composed.table, indexed)
    return {
        "batchItemFailures": [{"itemIdentifier": first_sequence[each]} for each in failed],
    }


def _index(composed: Composition, memory_ids: Sequence[str]) -> tuple[list[Meta], list[str]]:
    """What was indexed, and the ids that could not be; one bad memory holds no other back."""
    try:
        return index_memories(composed.table, composed.index, memory_ids), []
    except (IndexUnavailable, TableUnavailable):
        return [], list(memory_ids)
    except Exception as failure:  # noqa: BLE001 - whatever a record does, the others go on
        if len(memory_ids) == 1:
            _log.error("memory not indexed: %s", type(failure).__name__)
            return [], list(memory_ids)
    indexed: list[Meta] = []
    failed: list[str] = []
    for memory_id in memory_ids:
        done, not_done = _index(composed, [memory_id])
        indexed += done
        failed += not_done
    return indexed, failed


def _wait_for_views(composed: Composition, newest: int) -> None:
    """Sleep until the views of the table must show the newest change too."""
    remaining = newest + composed.table.view_lag_ms - composed.clock.now()
    if remaining > 0:
        time.sleep(remaining / 1000)
