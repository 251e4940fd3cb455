"""The entry point of the schedule: what is due at each tick, each within its own bound."""

import time
from collections.abc import Mapping
from typing import Any

from zero_memory.ports.search_index import DerivedIndex
from zero_memory.retrieval.drift import mend_drift
from zero_memory.retrieval.indexing import settle_each
from zero_memory.runtime.bootstrap import Composition, services
from zero_memory.runtime.telemetry import record_drift


def tick(event: Mapping[str, Any], context: object) -> None:
    """Run what is due. A failure is the function's: it comes again, and raises its alarm."""
    del event, context
    composed = services()
    index = composed.derived_index
    if index is not None:
        _compare(composed, index)


def _compare(composed: Composition, index: DerivedIndex) -> None:
    """Compare the next memories with the index, and mend and count what differs."""
    drift = mend_drift(
        composed.table, composed.clock, index, limit=composed.settings.sweep_memories
    )
    record_drift(drift, composed.settings)
    if drift.indexed:
        time.sleep(composed.table.view_lag_ms / 1000)  # views must show these revisions too
        settle_each(composed.table, drift.indexed)
    if drift.away is not None:
        raise drift.away
