"""The use cases that end a memory's life, begin it anew, or throw doubt on it."""

from collections.abc import Sequence

from msgspec.structs import replace

from zero_memory.contracts.errors import conflict, forbidden, not_found, validation_failed
from zero_memory.memory.changing import Outcome, Plan, change_memory
from zero_memory.memory.ids import new_dispute_id
from zero_memory.memory.lifecycle import Change, LinkStep, invalidate, revive, stands, touch, undo
from zero_memory.memory.model import LOOP_KINDS, AuditRecord, Dispute, LinkOut, Meta
from zero_memory.memory.moving import relocation
from zero_memory.memory.reading import load_visible
from zero_memory.memory.rights import Actor, Rights
from zero_memory.memory.sharing import entries, must_share
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Absent, Action, Check, Present, Put, RevisionIs, Table, ref
from zero_memory.scopes.visibility import visible

_AUDITS_READ = 200
# Longer chains of successors don't fit into the transaction that relies on them.
_CHAIN_CHECKED = 60
_TAKE_BACK, _PUT_BACK = "take_back", "put_back"
"""What happens to a memory along with the undoing of the gesture that wrote it for another's sake,
and along with the undoing of that."""
_REASONS_TO_TAKE_BACK = {
    "revise": "Its revision was undone.",
    "close": "The loop that it closed was opened again.",
}


def forget(table: Table, clock: Clock, actor: Actor, memory_id: str, *, reason: str) -> Outcome:
    """Make a memory no longer hold; forgetting what is forgotten changes nothing.

    Raises Refusal: as `change_memory`, or `validation_failed` for a loop.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        if meta.kind in LOOP_KINDS:
            raise validation_failed("An open loop is closed, not forgotten; use close_loop.")
        if not meta.live:
            return None
        return Plan(Change(meta, invalidate(meta, at=now, reason=reason), "forget", reason))

    return change_memory(table, clock, actor, memory_id, plan)


def close(table: Table, clock: Clock, actor: Actor, memory_id: str) -> Outcome:
    """Close a loop without a word on its outcome; closing a closed one changes nothing.

    Raises Refusal: as `change_memory`, or `validation_failed` for another kind.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        must_be_loop(meta)
        if not meta.live:
            return None
        return Plan(Change(meta, invalidate(meta, at=now, reason="closed"), "close"))

    return change_memory(table, clock, actor, memory_id, plan)


def must_be_loop(meta: Meta) -> None:
    """Raises Refusal `validation_failed` for a memory of another kind."""
    if meta.kind not in LOOP_KINDS:
        raise validation_failed("Only a task or an open-question is closed; use forget.")


def challenge(
    table: Table,
    clock: Clock,
    actor: Actor,
    memory_id: str,
    *,
    reason: str,
    evidence: str | None = None,
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
            principal=actor.caller.principal,
            reason=reason,
            evidence=evidence,
            conversation=actor.conversation,
        )
        disputed = touch(meta, dispute=dispute.dispute_id)
        return Plan(Change(meta, disputed, "challenge", reason), also=(Put(dispute),))

    return change_memory(table, clock, actor, memory_id, plan)


def restore(
    table: Table, clock: Clock, actor: Actor, memory_id: str, *, audit_id: str | None = None
) -> Outcome:
    """Undo what made a memory invalid or superseded, or the change that `audit_id` names.

    Undoing a revision also ends the life of the revised wording, and undoing the closing of a loop
    that of the outcome that was stored with it; undoing that begins it anew. Raises Refusal: as
    `change_memory`, `not_found` for an unknown record, or `conflict` when what the change did was
    changed again since, or can't be had back.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        if audit_id is not None:
            record = table.get(AuditRecord, memory_id, audit_id)
            if record is None:
                raise not_found("This memory has no such audit record; see memory_history.")
            return _undoing(table, actor.rights, undo(meta, record, at=now), record, now)
        if meta.live:
            return None
        end = _end_of(table, meta)
        step = Change(
            meta, revive(meta, at=now), "restore", undoes=None if end is None else end.audit_id
        )
        return Plan(step, others=_along(table, actor.rights, step, end, now))

    return change_memory(table, clock, actor, memory_id, plan)


def _undoing(
    table: Table, rights: Rights, step: Change, record: AuditRecord, now: int
) -> Plan | None:
    """An undoing step with all that must hold for it and goes along with it.

    None for a link that is as the undoing would leave it.
    """
    before, after = step.before, step.after
    assert before is not None  # noqa: S101 - only what is stored is undone
    if step.link is not None and _is_there(table, after.memory_id, step.link) is step.link.added:
        return None
    must_share(rights, before, after)
    others = _along(table, rights, step, record, now)
    also = entries(table, before, after)
    if after.scope != before.scope:
        if after.scope not in rights.writable:
            raise forbidden(
                "This memory came from a scope that you can't write to; ask one of its writers."
            )
        also += relocation(table, before, after)
    successor = after.superseded_by
    if successor is not None and successor != before.superseded_by:
        written = table.get(Meta, successor)
        if written is not None and not visible(written.scope, written.shared_to, rights.read_set):
            raise conflict(
                "What this memory was superseded by is not there for you any more; forget it "
                "instead."
            )
        also += _unending(table, after, others)
    if step.link is not None and step.link.added:
        target = step.link.target
        if target not in load_visible(table, [target], rights.read_set):
            raise conflict(
                "What this memory was linked to is not there for you any more; link it to another "
                "with link."
            )
        also.append(Check(ref(Meta, target), Present()))
    return Plan(step, others, tuple(also))


def _is_there(table: Table, source: str, step: LinkStep) -> bool:
    return table.get(LinkOut, source, step.link, step.target) is not None


def _along(
    table: Table, rights: Rights, step: Change, undone: AuditRecord | None, now: int
) -> tuple[Change, ...]:
    """What the undoing of a gesture does to the memory in this one's place.

    A revision and a closing write one for the sake of what they end, so that it ends with them;
    what went along with an undoing is undone with it. What was known before, and what somebody did
    to it since, stays.
    """
    assert step.before is not None  # noqa: S101 - only what is stored is undone
    successor = step.before.superseded_by or step.after.superseded_by
    written = None if successor is None else table.get(Meta, successor)
    if undone is None or written is None or written.scope not in rights.writable:
        return ()
    if undone.action in _REASONS_TO_TAKE_BACK and written.created_at == undone.at:
        if not written.live:
            return ()
        reason = _REASONS_TO_TAKE_BACK[undone.action]
        return (Change(written, invalidate(written, at=now, reason=reason), _TAKE_BACK, reason),)
    page = table.query(AuditRecord, written.memory_id, limit=_AUDITS_READ, newest_first=True)
    for record in page.records:
        went_along = record.at == undone.at and record.action in {_TAKE_BACK, _PUT_BACK}
        if went_along and stands(written, record):
            undoing = undo(written, record, at=now)
            return (replace(undoing, action=_PUT_BACK if undoing.after.live else _TAKE_BACK),)
    return ()


def _unending(table: Table, after: Meta, others: Sequence[Change]) -> list[Action]:
    """Holds while what succeeds a memory, and succeeds that, never comes back to it.

    `others` change along with it, on the condition of what they were read as.
    """
    changing = {each.after.memory_id: each.before for each in others}
    checks: list[Action] = []
    successor = after.superseded_by
    while successor is not None:
        if successor == after.memory_id or len(checks) == _CHAIN_CHECKED:
            raise conflict("This would make a memory succeed itself; forget it instead.")
        meta = changing[successor] if successor in changing else table.get(Meta, successor)
        if successor not in changing:
            checks.append(
                Check(ref(Meta, successor), Absent() if meta is None else RevisionIs(meta.revision))
            )
        successor = None if meta is None else meta.superseded_by
    return checks


def _end_of(table: Table, meta: Meta) -> AuditRecord | None:
    """The audit record that ended the memory's last life, among its newest 200."""
    page = table.query(AuditRecord, meta.memory_id, limit=_AUDITS_READ, newest_first=True)
    ends = {"forget", "close", "supersede", "restate", "revise", "restore", _TAKE_BACK}
    for record in page.records:
        if record.at == meta.invalidated_at and record.action in ends:
            return record
    return None
