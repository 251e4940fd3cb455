"""Drift between the table and its index: found a bounded part at a time, and mended.

The stream brings every change to the index. What differs all the same, since an index was made or
put back from a copy, a record of the stream was lost, or the table was restored to an earlier time,
is found by comparing the two in both directions, from where the last run stopped.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from zero_memory.memory.apart import apart
from zero_memory.memory.model import IndexSweep, Meta, PendingMarker, SearchRecord
from zero_memory.ports.clock import Clock
from zero_memory.ports.search_index import DerivedIndex, IndexUnavailable
from zero_memory.ports.table import (
    Absent,
    ConditionFailed,
    Delete,
    Put,
    RevisionIs,
    Table,
    TableUnavailable,
    ref,
)
from zero_memory.retrieval.indexing import index_each
from zero_memory.scopes.model import Scope

_AT_ONCE = 250
_KEPT_S = 90 * 24 * 3_600


class Drift(Struct):
    """What a run found, by ids, all of it mended but for `refused`.

    The index had lost memories, held them at another revision than the table (`stale`), or held
    what the table has erased; or the index would not take what is true (`refused`), and then they
    count as that alone. Changes that the stream may still bring count as none of these;
    `indexed` has them too, as they are in the index now, for `settle_each`. `finished` says
    whether the run came to the end, and the next one begins anew. `away` is what ended it before
    its limit: index or table did not answer.
    """

    lost: list[str] = field(default_factory=list[str])
    stale: list[str] = field(default_factory=list[str])
    erased: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    indexed: list[Meta] = field(default_factory=list[Meta])
    compared: int = 0
    finished: bool = False
    away: IndexUnavailable | TableUnavailable | None = None

    @property
    def found(self) -> int:
        """How many memories differed."""
        return len(self.lost) + len(self.stale) + len(self.erased)


def mend_drift(table: Table, clock: Clock, index: DerivedIndex, *, limit: int) -> Drift:
    """Compare the next memories of table and index, and write what is true to the index.

    Reads at most about `limit` memories, a query of an empty page counting as one. An index that
    was gone through from end to end, and took everything, is complete. Runs may overlap: what one
    finds the other does not, and the slower one's progress is lost. Raises IndexUnavailable and
    TableUnavailable before anything was compared; later they end the run, whose progress is kept.
    """
    drift = Drift()
    identity = index.identity()
    known = table.get(IndexSweep, identity)
    sweep = known or IndexSweep(identity)
    left = limit
    try:
        while left > 0 and not drift.finished:
            ids, behind, last = _next(table, index, sweep, min(left, _AT_ONCE))
            left -= max(len(ids), 1)
            refused = _compare(table, index, sweep.side, ids, drift) if ids else []
            drift.compared += len(ids)
            drift.refused += refused
            sweep = replace(behind, refused=sweep.refused + len(refused))
            # The live index may be another one than was compared.
            if last and not sweep.refused and index.identity() == identity:
                index.mark_complete()
            drift.finished = last
    except (IndexUnavailable, TableUnavailable) as away:
        drift.away = away
    try:
        _keep(table, clock, sweep, known, finished=drift.finished)
    except TableUnavailable as away:
        drift.away = drift.away or away
    return drift


def _next(
    table: Table, index: DerivedIndex, at: IndexSweep, limit: int
) -> tuple[Sequence[str], IndexSweep, bool]:
    """The next memories to compare, where to go on behind them, and whether that is the end."""
    if at.side == "index":
        stored = index.stored(after=at.stored_after, limit=limit)
        return stored, replace(at, stored_after=stored[-1] if stored else ""), len(stored) < limit
    if at.scope is None:
        page = table.keys(Scope, after=at.scopes_after, limit=1)
        if page.records:
            return (), replace(at, scope=page.records[0], scopes_after=page.next), False
        return (), _behind_scope(replace(at, scopes_after=page.next)), False
    ids = table.keys(SearchRecord, at.scope, after=at.memory_after, limit=limit)
    moved = replace(at, memory_after=ids.next)
    return ids.records, moved if ids.next is not None else _behind_scope(moved), False


def _behind_scope(at: IndexSweep) -> IndexSweep:
    side = "index" if at.scopes_after is None else "table"
    return replace(at, side=side, scope=None, memory_after=None)


def _compare(
    table: Table,
    index: DerivedIndex,
    side: Literal["table", "index"],
    memory_ids: Sequence[str],
    drift: Drift,
) -> list[str]:
    """Mend what differs among these; answers those that could not be, which hold nobody up."""

    def compare(some: Sequence[str]) -> list[str]:
        differing = _lacking(index, some) if side == "table" else _differing(table, index, some)
        return _mend(table, index, differing, drift) if differing else []

    unmended, failed = apart(compare, memory_ids)
    return [*unmended, *failed]


def _lacking(index: DerivedIndex, ids: Sequence[str]) -> list[str]:
    held = index.revisions(ids)
    return [each for each in ids if each not in held]


def _differing(table: Table, index: DerivedIndex, ids: Sequence[str]) -> list[str]:
    metas = _metas(table, ids)
    held = index.revisions(ids)
    return [
        each for each in ids if (meta := metas.get(each)) is None or held.get(each) != meta.revision
    ]


def _mend(table: Table, index: DerivedIndex, differing: Sequence[str], drift: Drift) -> list[str]:
    """Tell those that differ from those on their way, and write what is true of all of them.

    Answers those that could not be written.
    """
    # In this order, what the stream brings meanwhile is either marked or in the index by now.
    metas = _metas(table, differing)
    pending = _pending(table, list(metas.values()))
    held = index.revisions(differing)
    newer = [each for each in metas if held.get(each, 0) > metas[each].revision]
    metas |= _metas(table, newer)
    ahead = [each for each in newer if held[each] > metas[each].revision]
    if ahead:
        # The table was put back: an older revision is the true one, and the index would keep its.
        index.erase(ahead)
    indexed, refused = index_each(table, index, differing)
    drift.indexed += indexed
    for each in differing:
        meta, revision = metas.get(each), held.get(each)
        if each in refused:
            continue
        if meta is None and revision is not None:
            drift.erased.append(each)
        elif meta is None or meta.revision == revision or each in pending:
            continue
        elif revision is None:
            drift.lost.append(each)
        else:
            drift.stale.append(each)
    return refused


def _metas(table: Table, ids: Sequence[str]) -> dict[str, Meta]:
    found = table.get_many([ref(Meta, each) for each in ids]) if ids else []
    return {meta.memory_id: meta for meta in found if meta is not None}


def _pending(table: Table, metas: Sequence[Meta]) -> set[str]:
    refs = [ref(PendingMarker, meta.scope, meta.memory_id) for meta in metas]
    found = table.get_many(refs) if refs else []
    return {marker.memory_id for marker in found if marker is not None}


def _keep(
    table: Table, clock: Clock, sweep: IndexSweep, known: IndexSweep | None, *, finished: bool
) -> None:
    """Keep how far it came, unless another run was quicker; nothing, when it came to the end."""
    unchanged = Absent() if known is None else RevisionIs(known.revision)
    kept = replace(sweep, revision=sweep.revision + 1, expires_at=clock.now() // 1_000 + _KEPT_S)
    try:
        if finished:
            table.transact([Delete(ref(IndexSweep, sweep.index))])
        else:
            table.transact([Put(kept, unchanged)])
    except ConditionFailed:
        return
