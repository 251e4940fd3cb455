"""What a change of state does to the table: every effect follows from the two states.

A live memory holds its duplicate key; a memory that becomes live, or changes where it is seen,
leaves a pending marker for readers until index and views have caught up; a successor is linked to
what it superseded.
"""

from collections.abc import Iterator

from zero_memory.memory.lifecycle import Change, LinkStep
from zero_memory.memory.model import (
    AuditRecord,
    DuplicateClaim,
    LinkIn,
    LinkOut,
    Meta,
    PendingMarker,
)
from zero_memory.ports.table import Absent, Action, AttributeIs, Delete, Put, RevisionIs, ref


def effects(change: Change, audit: AuditRecord) -> list[Action]:
    """The actions of one change: the memory first, then all that follows, and the audit record.

    What a move takes along is not among them (`moving`).
    """
    before, after = change.before, change.after
    actions: list[Action] = [Put(after, RevisionIs(before.revision) if before else Absent())]
    actions += _claims(before, after)
    actions += _markers(before, after)
    actions += _succession(before, after)
    if change.link is not None:
        actions += link_actions(after.memory_id, change.link, audit.at)
    actions.append(Put(audit))
    return actions


def link_actions(source: str, step: LinkStep, at: int) -> list[Action]:
    """A typed link at both ends, put or taken away."""
    if step.added:
        return [
            Put(LinkOut(source, step.link, step.target, at)),
            Put(LinkIn(step.target, step.link, source, at)),
        ]
    return [
        Delete(ref(LinkOut, source, step.link, step.target)),
        Delete(ref(LinkIn, step.target, step.link, source)),
    ]


def _claims(before: Meta | None, after: Meta) -> Iterator[Action]:
    held, holds = _claim(before), _claim(after)
    if held == holds:
        return
    if held is not None:
        released = ref(DuplicateClaim, held.scope, held.digest)
        yield Delete(released, AttributeIs("memory_id", held.memory_id))
    if holds is not None:
        yield Put(holds, Absent())


def _claim(meta: Meta | None) -> DuplicateClaim | None:
    if meta is None or not meta.live:
        return None
    return DuplicateClaim(meta.scope, meta.digest, meta.memory_id)


def _markers(before: Meta | None, after: Meta) -> Iterator[Action]:
    if after.live and (before is None or not before.live or _places(before) != _places(after)):
        for scope in _places(after):
            yield Put(PendingMarker(scope, after.memory_id, after.revision))
    # The indexer settles markers where a memory is, and would never come to these.
    for scope in _places(before):
        if scope not in _places(after):
            yield Delete(ref(PendingMarker, scope, after.memory_id))


def _places(meta: Meta | None) -> tuple[str, ...]:
    return () if meta is None else tuple(dict.fromkeys((meta.scope, *meta.shared_to)))


def _succession(before: Meta | None, after: Meta) -> Iterator[Action]:
    was = before.superseded_by if before else None
    if was == after.superseded_by:
        return
    if was is not None:
        yield Delete(ref(LinkOut, was, "supersedes", after.memory_id))
    if after.superseded_by is not None:
        at = after.invalidated_at or after.created_at
        yield Put(LinkOut(after.superseded_by, "supersedes", after.memory_id, at))
