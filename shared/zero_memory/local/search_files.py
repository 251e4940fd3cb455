"""The local search files beside the table that they are derived from."""

import logging

from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.ports.search_index import DocumentRefused, IndexUnavailable
from zero_memory.retrieval.reindexing import rebuild

_LOGGED_EVERY = 10_000

_logger = logging.getLogger(__name__)


def catch_up(table: SqliteTable, index: LocalIndex) -> None:
    """Build search files anew that are not of the table's own history.

    They were deleted, or put back from a copy, and hold less than the table believes; or the table
    was, and knows less than they do. What the outbox still holds comes by the stream. When memories
    have another model's vectors, the files stay unfinished and ask for a reindex; damaged ones are
    left out.
    """
    delivered = table.acknowledged()
    if delivered <= index.applied <= table.newest():
        return
    _logger.warning("the search files are missing, or not of this table: building them from it")
    try:
        _build(table, index)
    except (DocumentRefused, IndexUnavailable) as refused:
        _logger.error("the search files are not built: %s", refused)  # noqa: TRY400
    else:
        index.mark_applied(delivered)


def _build(table: SqliteTable, index: LocalIndex) -> None:
    told = 0
    with index.replacing() as files:
        for done in rebuild(table, files):
            if len(done.refused) > len(done.damaged):
                raise DocumentRefused(
                    "memories have the vectors of another model: zm admin reindex"
                )
            if done.indexed >= told + _LOGGED_EVERY:
                told = done.indexed
                _logger.warning("%d memories are searchable again", done.indexed)
