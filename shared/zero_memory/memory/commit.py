"""What a change of state does to the table: every effect follows from the two states.

A live memory holds its duplicate key; a memory that becomes live, or changes where it is seen,
leaves a pending marker for readers until index and views have caught up.
"""

from zero_memory.memory.lifecycle import Change
from zero_memory.memory.model import AuditRecord, DuplicateClaim, Meta, PendingMarker
from zero_memory.ports.table import Absent, Action, AttributeIs, Delete, Put, RevisionIs, ref


def _claim(meta: Meta | None) -> DuplicateClaim | None:
    if meta is None or not meta.live:
        return None
    return DuplicateClaim(meta.scope, meta.digest, meta.memory_id)


def _seen(meta: Meta | None) -> tuple[str, ...]:
    return (meta.scope, *meta.shared_to) if meta is not None and meta.live else ()


def effects(change: Change, audit: AuditRecord) -> list[Action]:
    """The actions of one change: the memory first, then key, markers and audit record."""
    before, after = change.before, change.after
    actions: list[Action] = [Put(after, RevisionIs(before.revision) if before else Absent())]
    held, holds = _claim(before), _claim(after)
    if held != holds:
        if held is not None:
            released = ref(DuplicateClaim, held.scope, held.digest)
            actions.append(Delete(released, AttributeIs("memory_id", held.memory_id)))
        if holds is not None:
            actions.append(Put(holds, Absent()))
    if _seen(before) != _seen(after):
        actions.extend(
            Put(PendingMarker(scope, after.memory_id, after.revision)) for scope in _seen(after)
        )
    actions.append(Put(audit))
    return actions
