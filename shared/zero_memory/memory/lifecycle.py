"""How a memory's state changes: pure steps from one `Meta` to the next.

Each step raises the revision by one, so that a write conditional on the revision that was read
can't overwrite what somebody else did meanwhile.
"""

import json
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import conflict, validation_failed
from zero_memory.contracts.kinds import LinkType
from zero_memory.memory.ids import new_audit_id
from zero_memory.memory.model import AuditRecord, Interval, Meta, timeline_of
from zero_memory.scopes.caller import Caller

# Each interval costs 40 bytes in every read and update of the memory.
MAX_LIVES = 50

_STATE_FIELDS = (
    "scope",
    "owner",
    "alive",
    "timeline",
    "invalidated_at",
    "invalidated_reason",
    "superseded_by",
    "checked_at",
    "shared_to",
    "dispute",
)
# What follows from whether a memory is live, and so is never put back by itself.
_FROM_LIFE = frozenset(("alive", "timeline", "invalidated_at"))


class LinkStep(Struct, frozen=True):
    """A typed link from the changed memory to another, added or taken away."""

    link: LinkType
    target: str
    added: bool


class Change(Struct, frozen=True):
    """One memory's step from `before` (None: it is new) to `after`, and why."""

    before: Meta | None
    after: Meta
    action: str
    reason: str | None = None
    undoes: str | None = None
    link: LinkStep | None = None


def touch(meta: Meta, **changes: Any) -> Meta:
    """The memory with these fields changed, a revision later."""
    return replace(meta, **changes, revision=meta.revision + 1)


def invalidate(
    meta: Meta, *, at: int, reason: str | None, superseded_by: str | None = None
) -> Meta:
    """The memory as it is once it no longer holds."""
    last = meta.alive[-1]
    return touch(
        meta,
        alive=(*meta.alive[:-1], Interval(last.start, max(at, last.start))),
        timeline=None,
        invalidated_at=at,
        invalidated_reason=reason,
        superseded_by=superseded_by,
    )


def revive(meta: Meta, *, at: int) -> Meta:
    """The memory as it is once it holds again. Raises Refusal past `MAX_LIVES` lives."""
    if len(meta.alive) >= MAX_LIVES:
        raise conflict(
            f"This memory was restored {MAX_LIVES - 1} times already; write it anew with remember."
        )
    return touch(
        meta,
        alive=(*meta.alive, Interval(at)),
        timeline=timeline_of(meta.kind),
        invalidated_at=None,
        invalidated_reason=None,
        superseded_by=None,
    )


def undo(meta: Meta, record: AuditRecord, *, at: int) -> Change:
    """The step that reverses one recorded change, and leaves everything else as it is.

    A life that the change ended begins anew, one that it began ends: the past itself stays. Where
    the memory then lives, it is not shared to, as after a move. Raises Refusal `conflict` when what
    the change did was changed again since, and `validation_failed` for the record of the memory's
    birth.
    """
    before: dict[str, Any] | None = json.loads(record.before)
    after: dict[str, Any] = json.loads(record.after)
    if before is None:
        raise validation_failed("A memory's birth can't be undone; use forget.")
    if not stands(meta, record):
        raise conflict("What this change did was changed again since; undo the later one first.")
    undone = touch(meta)
    if "alive" in after:
        undone = (
            invalidate(meta, at=at, reason=before.get("invalidated_reason"))
            if meta.live
            else revive(meta, at=at)
        )
    restored = {name: before[name] for name in before.keys() - _FROM_LIFE - {"link"}}
    stored: dict[str, Any] = msgspec.to_builtins(undone)
    back = msgspec.convert({**stored, **restored}, Meta)
    shared_to = tuple(each for each in back.shared_to if each != back.scope)
    return Change(
        meta,
        replace(back, shared_to=shared_to),
        "restore",
        undoes=record.audit_id,
        link=_reversed(before, after),
    )


def stands(meta: Meta, record: AuditRecord) -> bool:
    """Whether what a recorded change did to the memory itself is still so; links are not in it."""
    now, after = state_of(meta), json.loads(record.after)
    if "alive" in after and meta.live is not _ends_open(after["alive"]):
        return False
    return all(now[name] == after[name] for name in after.keys() - _FROM_LIFE - {"link"})


def _ends_open(alive: list[dict[str, Any]]) -> bool:
    return bool(alive) and alive[-1]["end"] is None


def _reversed(before: dict[str, Any], after: dict[str, Any]) -> LinkStep | None:
    if "link" not in after:
        return None
    link, target = after["link"] or before["link"]
    return LinkStep(link, target, added=after["link"] is None)


def state_of(meta: Meta) -> dict[str, Any]:
    """The fields that a change may change, as JSON values."""
    values: dict[str, Any] = {name: getattr(meta, name) for name in _STATE_FIELDS}
    values["alive"] = [{"start": life.start, "end": life.end} for life in meta.alive]
    values["shared_to"] = list(meta.shared_to)
    return values


def audit(change: Change, *, caller: Caller, at: int, conversation: str | None) -> AuditRecord:
    """The record of a change: the state fields that it changed, as they were and as they are."""
    before = state_of(change.before) if change.before else None
    after = state_of(change.after)
    changed = [name for name in _STATE_FIELDS if before is None or before[name] != after[name]]
    was = {name: before[name] for name in changed} if before else None
    became = {name: after[name] for name in changed}
    if was is not None and change.link is not None:
        pair = [change.link.link, change.link.target]
        was["link"], became["link"] = (None, pair) if change.link.added else (pair, None)
    return AuditRecord(
        memory_id=change.after.memory_id,
        audit_id=new_audit_id(at),
        action=change.action,
        at=at,
        principal=caller.principal,
        revision=change.after.revision,
        before=json.dumps(was),
        after=json.dumps(became),
        reason=change.reason,
        conversation=conversation,
        undoes=change.undoes,
    )
