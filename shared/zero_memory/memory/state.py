"""The use cases that end a memory's life, begin it anew, or throw doubt on it."""

from zero_memory.contracts.errors import conflict, forbidden, not_found, validation_failed
from zero_memory.memory.changing import Outcome, Plan, change_memory
from zero_memory.memory.ids import new_dispute_id
from zero_memory.memory.lifecycle import Change, invalidate, revive, touch, undo
from zero_memory.memory.model import LOOP_KINDS, AuditRecord, Dispute, Meta
from zero_memory.memory.moving import relocation
from zero_memory.memory.rights import Rights
from zero_memory.memory.sharing import entries, must_share
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Absent, Action, Check, Present, Put, RevisionIs, Table, ref
from zero_memory.scopes.caller import Caller

_AUDITS_READ = 200
# Longer chains of successors don't fit into the transaction that relies on them.
_CHAIN_CHECKED = 60
_REASONS_TO_TAKE_BACK = {
    "revise": "Its revision was undone.",
    "close": "The loop that it closed was opened again.",
}


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

    Raises Refusal: as `change_memory`, or `validation_failed` for a loop.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        if meta.kind in LOOP_KINDS:
            raise validation_failed("An open loop is closed, not forgotten; use close_loop.")
        if not meta.live:
            return None
        return Plan(Change(meta, invalidate(meta, at=now, reason=reason), "forget", reason))

    return change_memory(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        plan=plan,
    )


def close(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    rights: Rights,
    memory_id: str,
    conversation: str | None = None,
) -> Outcome:
    """Close a loop without a word on its outcome; closing a closed one changes nothing.

    Raises Refusal: as `change_memory`, or `validation_failed` for another kind.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        must_be_loop(meta)
        if not meta.live:
            return None
        return Plan(Change(meta, invalidate(meta, at=now, reason="closed"), "close"))

    return change_memory(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        plan=plan,
    )


def must_be_loop(meta: Meta) -> None:
    """Raises Refusal `validation_failed` for a memory of another kind."""
    if meta.kind not in LOOP_KINDS:
        raise validation_failed("Only a task or an open-question is closed; use forget.")


def challenge(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    rights: Rights,
    memory_id: str,
    reason: str,
    evidence: str | None = None,
    conversation: str | None = None,
) -> Outcome:
    """Open a dispute about a live memory, which ranks lower meanwhile; one that is open stays.

    Raises Refusal: as `change_memory`, or `validation_failed` for a memory that is not live.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        if not meta.live:
            raise validation_failed(
                "This memory no longer holds; restore it before you dispute it."
            )
        if meta.dispute is not None:
            return None
        dispute = Dispute(
            memory_id=memory_id,
            dispute_id=new_dispute_id(now),
            raised_at=now,
            principal=caller.principal,
            reason=reason,
            evidence=evidence,
            conversation=conversation,
        )
        disputed = touch(meta, dispute=dispute.dispute_id)
        return Plan(Change(meta, disputed, "challenge", reason), also=(Put(dispute),))

    return change_memory(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        plan=plan,
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

    Undoing a revision also ends the life of the revised wording, and undoing the closing of a loop
    that of the outcome that was stored with it. Raises Refusal: as `change_memory`, `not_found` for
    an unknown record, or `conflict` when what the change did was changed again since, or can't be
    had back.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        if audit_id is not None:
            record = table.get(AuditRecord, memory_id, audit_id)
            if record is None:
                raise not_found("This memory has no such audit record; see memory_history.")
            return _undoing(table, rights, undo(meta, record, at=now), record, now)
        if meta.live:
            return None
        end = _end_of(table, meta)
        step = Change(
            meta, revive(meta, at=now), "restore", undoes=None if end is None else end.audit_id
        )
        return Plan(step, others=_taken_back(table, rights, step, _origin(table, end), now))

    return change_memory(
        table,
        clock,
        caller=caller,
        rights=rights,
        memory_id=memory_id,
        conversation=conversation,
        plan=plan,
    )


def _undoing(table: Table, rights: Rights, step: Change, record: AuditRecord, now: int) -> Plan:
    """An undoing step with all that must hold for it and goes along with it."""
    before, after = step.before, step.after
    assert before is not None  # noqa: S101 - only what is stored is undone
    must_share(rights, before, after)
    also = entries(table, before, after)
    if after.scope != before.scope:
        if after.scope not in rights.writable:
            raise forbidden(
                "This memory came from a scope that you can't write to; ask one of its writers."
            )
        also += relocation(table, before, after)
    if after.superseded_by is not None and after.superseded_by != before.superseded_by:
        also += _unending(table, after)
    if step.link is not None and step.link.added:
        target = ref(Meta, step.link.target)
        if table.get_many([target]) == [None]:
            raise conflict(
                "What this memory was linked to is erased; link it to another with link."
            )
        also.append(Check(target, Present()))
    return Plan(step, _taken_back(table, rights, step, record, now), tuple(also))


def _taken_back(
    table: Table, rights: Rights, step: Change, undone: AuditRecord | None, now: int
) -> tuple[Change, ...]:
    """The end of what the undone gesture wrote in the memory's place: one gesture, one inverse.

    Only a revision and a closing write for the sake of what they end.
    """
    assert step.before is not None  # noqa: S101 - only what is stored is undone
    successor = step.before.superseded_by
    if successor is None or not step.after.live:
        return ()
    if undone is None or undone.action not in _REASONS_TO_TAKE_BACK:
        return ()
    written = table.get(Meta, successor)
    if written is None or not written.live or written.scope not in rights.writable:
        return ()
    if written.created_at != undone.at:  # it was known before
        return ()
    reason = _REASONS_TO_TAKE_BACK[undone.action]
    return (Change(written, invalidate(written, at=now, reason=reason), "forget", reason),)


def _origin(table: Table, end: AuditRecord | None) -> AuditRecord | None:
    """The gesture that ended a life, through the undoing of its undoing."""
    while end is not None and end.undoes is not None:
        end = table.get(AuditRecord, end.memory_id, end.undoes)
    return end


def _unending(table: Table, after: Meta) -> list[Action]:
    """Holds while what succeeds a memory, and succeeds that, never comes back to it."""
    checks: list[Action] = []
    successor = after.superseded_by
    while successor is not None:
        if successor == after.memory_id or len(checks) == _CHAIN_CHECKED:
            raise conflict("This would make a memory succeed itself; forget it instead.")
        meta = table.get(Meta, successor)
        checks.append(
            Check(ref(Meta, successor), Absent() if meta is None else RevisionIs(meta.revision))
        )
        successor = None if meta is None else meta.superseded_by
    return checks


def _end_of(table: Table, meta: Meta) -> AuditRecord | None:
    """The audit record that ended the memory's last life, among its newest 200."""
    page = table.query(AuditRecord, meta.memory_id, limit=_AUDITS_READ, newest_first=True)
    ends = {"forget", "close", "supersede", "restate", "revise", "restore"}
    for record in page.records:
        if record.at == meta.invalidated_at and record.action in ends:
            return record
    return None
