"""The index follows the table: for each memory that changed, write what is true now."""

from collections.abc import Sequence

from zero_memory.memory.apart import apart
from zero_memory.memory.model import Meta, PendingMarker, SearchRecord
from zero_memory.ports.search_index import (
    IndexDocument,
    IndexedWindow,
    IndexWriter,
)
from zero_memory.ports.table import (
    MAX_ACTIONS,
    ConditionFailed,
    Delete,
    RevisionIs,
    Table,
    ref,
)
from zero_memory.retrieval.vectors import unpack_all


def document_of(meta: Meta, record: SearchRecord) -> IndexDocument:
    """What the index holds of a memory as it is now."""
    windows = record.passage.windows
    vectors = unpack_all([window.vector for window in windows])
    return IndexDocument(
        memory_id=meta.memory_id,
        revision=meta.revision,
        visible_in=_places(meta),
        kind=meta.kind,
        author=meta.author,
        created_at=meta.created_at,
        alive=tuple((interval.start, interval.end) for interval in meta.alive),
        model=record.passage.model,
        windows=tuple(
            IndexedWindow(window.start, window.end, vector)
            for window, vector in zip(windows, vectors, strict=True)
        ),
        tokens=record.passage.tokens,
    )


def index_memories(table: Table, index: IndexWriter, memory_ids: Sequence[str]) -> list[Meta]:
    """Bring the index up to date for these memories; answers those that it now holds.

    What the table no longer has is erased from the index. Idempotent, in any order: the table's
    revision decides. Raises IndexUnavailable.
    """
    distinct = list(dict.fromkeys(memory_ids))
    metas = [
        meta for meta in table.get_many([ref(Meta, each) for each in distinct]) if meta is not None
    ]
    records = table.get_many([ref(SearchRecord, meta.scope, meta.memory_id) for meta in metas])
    pairs = [
        (meta, record) for meta, record in zip(metas, records, strict=True) if record is not None
    ]
    known = {meta.memory_id for meta in metas}
    erased = [memory_id for memory_id in distinct if memory_id not in known]
    if erased:
        # First, since an index of another model takes no documents, and must forget all the same.
        index.erase(erased)
    index.apply([document_of(meta, record) for meta, record in pairs])
    return [meta for meta, _ in pairs]


def index_each(
    table: Table, index: IndexWriter, memory_ids: Sequence[str]
) -> tuple[list[Meta], list[str]]:
    """As `index_memories`; and the ids of those that could not be indexed, which hold nobody up.

    Raises IndexUnavailable and TableUnavailable.
    """
    return apart(lambda some: index_memories(table, index, some), memory_ids)


def settle_markers(table: Table, indexed: Sequence[Meta]) -> None:
    """Remove the pending markers that these indexed revisions make needless.

    A marker that a newer write has put in the meantime stays.
    """
    refs = dict.fromkeys(
        ref(PendingMarker, scope, meta.memory_id) for meta in indexed for scope in _places(meta)
    )
    revisions = {meta.memory_id: meta.revision for meta in indexed}
    settled = [
        Delete(ref(PendingMarker, marker.scope, marker.memory_id), RevisionIs(marker.revision))
        for marker in table.get_many(list(refs))
        if marker is not None and marker.revision <= revisions[marker.memory_id]
    ]
    for start in range(0, len(settled), MAX_ACTIONS):
        _delete(table, settled[start : start + MAX_ACTIONS])


def settle_each(table: Table, indexed: Sequence[Meta]) -> list[str]:
    """As `settle_markers`; answers the ids of those whose markers could not be settled.

    Raises TableUnavailable.
    """
    metas = {meta.memory_id: meta for meta in indexed}

    def settle(some: Sequence[str]) -> Sequence[str]:
        settle_markers(table, [metas[each] for each in some])
        return ()

    _, failed = apart(settle, list(metas))
    return failed


def _places(meta: Meta) -> tuple[str, ...]:
    """Where a memory is found, each once: a record may name its own scope among the others."""
    return tuple(dict.fromkeys((meta.scope, *meta.shared_to)))


def _delete(table: Table, deletes: list[Delete]) -> None:
    while deletes:
        try:
            table.transact(deletes)
        except ConditionFailed as failure:
            deletes = [each for at, each in enumerate(deletes) if at not in failure.failed]
        else:
            return
