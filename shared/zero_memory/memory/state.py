"""The use cases that change a stored memory's state: forget and restore."""

from collections.abc import Callable
from dataclasses import dataclass

from zero_memory.contracts.errors import conflict, forbidden, not_found, validation_failed
from zero_memory.memory.commit import effects
from zero_memory.memory.lifecycle import Change, audit, invalidate, revive, undo
from zero_memory.memory.model import (
    LOOP_KINDS,
    AuditRecord,
    DuplicateClaim,
    LinkOut,
    Meta,
)
from zero_memory.memory.reading import load_visible
from zero_memory.memory.rights import Rights
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Action, ConditionFailed, Delete, Table, ref
from zero_memory.scopes.caller import Caller

_ATTEMPTS = 8
_AUDITS_READ = 200


@dataclass(frozen=True)
class Outcome:
    """A memory after a change, and the record of the change (None: nothing had to change)."""

    meta: Meta
    audit: AuditRecord | None


def forget(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    rights: Rights,
    memory_id: str,
    reason: str,
    conversation: str | None = None,
) -> Outcome:
    """Make a memory no longer hold; forgetting what is forgotten changes nothing.

    Raises Refusal: `not_found`, `forbidden`, or `validation_failed` for an open loop.
    """

    def step(meta: Meta, now: int) -> Change | None:
        if meta.kind in LOOP_KINDS:
            raise validation_failed("An open loop is closed, not forgotten; use close_loop.")
        if not meta.live:
            return None
        return Change(meta, invalidate(meta, at=now, reason=reason), "forget", reason)

    return _change(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        step=step,
    )


def restore(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    rights: Rights,
    memory_id: str,
    audit_id: str | None = None,
    conversation: str | None = None,
) -> Outcome:
    """Undo what made a memory invalid or superseded, or the change that `audit_id` names.

    Raises Refusal: `not_found`, `forbidden`, or `conflict` when another live memory says the same
    (it is named), or when what the named change did was changed again since.
    """

    def step(meta: Meta, now: int) -> Change | None:
        if audit_id is not None:
            record = table.get(AuditRecord, memory_id, audit_id)
            if record is None:
                raise not_found("This memory has no such audit record; see memory_history.")
            after = undo(meta, record, at=now)
            return Change(meta, after, "restore", undoes=audit_id)
        if meta.live:
            return None
        ended = _end_of(table, meta)
        return Change(meta, revive(meta, at=now), "restore", undoes=ended)

    return _change(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        step=step,
    )


def _end_of(table: Table, meta: Meta) -> str | None:
    """The audit record that ended the memory's last life, among its newest 200."""
    page = table.query(AuditRecord, meta.memory_id, limit=_AUDITS_READ, newest_first=True)
    for record in page.records:
        if record.at == meta.invalidated_at and record.revision <= meta.revision:
            return record.audit_id
    return None


def _change(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    rights: Rights,
    memory_id: str,
    conversation: str | None,
    step: Callable[[Meta, int], Change | None],
) -> Outcome:
    for _ in range(_ATTEMPTS):
        meta = load_visible(table, [memory_id], rights.read_set).get(memory_id)
        if meta is None:
            raise not_found("There is no such memory; check the id with recall or list_memories.")
        if meta.scope not in rights.writable:
            raise forbidden(
                "You may read this memory but not change it; ask a writer of its scope."
            )
        now = clock.now()
        change = step(meta, now)
        if change is None:
            return Outcome(meta, None)
        record = audit(change, caller=caller, at=now, conversation=conversation)
        try:
            table.transact([*effects(change, record), *_unlinking(change)])
        except ConditionFailed:
            _refuse_taken_key(table, change)
            continue
        return Outcome(change.after, record)
    raise conflict("This memory keeps changing; read it again and retry.")


def _unlinking(change: Change) -> list[Action]:
    """A memory that is restored is no longer superseded: the link to it goes too."""
    before, after = change.before, change.after
    if before is None or before.superseded_by is None or after.superseded_by is not None:
        return []
    return [Delete(ref(LinkOut, before.superseded_by, "supersedes", after.memory_id))]


def _refuse_taken_key(table: Table, change: Change) -> None:
    after = change.after
    if not after.live:
        return
    holder = table.get(DuplicateClaim, after.scope, after.digest)
    if holder is not None and holder.memory_id != after.memory_id:
        raise conflict(
            f"{holder.memory_id} says the same and is live; forget it first, or keep it.",
            {"holder": holder.memory_id},
        )
