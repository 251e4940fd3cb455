"""The local search files beside the table that they are derived from."""

import logging

from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.retrieval.indexing import rebuild

_LOGGED_EVERY = 10_000

_logger = logging.getLogger(__name__)


def catch_up(table: SqliteTable, index: LocalIndex) -> None:
    """Rebuild search files that are older than what the table believes to be in them.

    They were deleted, or put back from a copy. What the outbox still holds comes by the stream.
    """
    delivered = table.acknowledged()
    if index.applied >= delivered:
        return
    _logger.warning("the search files are missing or old: building them from the table")
    told = 0
    for done in rebuild(table, index):
        if done >= told + _LOGGED_EVERY:
            told = done
            _logger.warning("%d memories are searchable again", done)
    index.mark_applied(delivered)
