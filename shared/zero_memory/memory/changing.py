"""How every gesture changes stored memories: read, plan, commit if nothing changed meanwhile."""

from collections.abc import Callable

from msgspec import Struct

from zero_memory.contracts.errors import conflict, forbidden, not_found
from zero_memory.memory.commit import effects
from zero_memory.memory.lifecycle import Change, audit
from zero_memory.memory.model import AuditRecord, DuplicateClaim, Meta
from zero_memory.memory.reading import load_visible
from zero_memory.memory.rights import Actor, Rights
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Action, ConditionFailed, Table

_ATTEMPTS = 8


class Plan(Struct, frozen=True):
    """What a gesture does: the change of the memory that it names, others, and what goes along."""

    change: Change
    others: tuple[Change, ...] = ()
    also: tuple[Action, ...] = ()


class Outcome(Struct, frozen=True):
    """A memory after a gesture, and the record of its change (None: nothing had to change).

    `others` are the memories that the gesture changed too.
    """

    meta: Meta
    audit: AuditRecord | None
    others: tuple[Meta, ...] = ()


def must_write(rights: Rights, meta: Meta) -> None:
    """Raises Refusal `forbidden` for a memory that the caller may only read."""
    if meta.scope not in rights.writable:
        raise forbidden("You may read this memory but not change it; ask a writer of its scope.")


def change_memory(
    table: Table,
    clock: Clock,
    actor: Actor,
    memory_id: str,
    plan: Callable[[Meta, int], Plan | None],
    *,
    may: Callable[[Rights, Meta], None] = must_write,
) -> Outcome:
    """Change a memory as planned from what stands now, again until nothing raced it.

    `may` raises when the caller must not. Raises Refusal: `not_found`, `forbidden` for what the
    caller may only read, `conflict` when another live memory says the same (it is named), or when
    others kept changing this one.
    """
    for _ in range(_ATTEMPTS):
        meta = visible_memory(table, actor.rights, memory_id)
        may(actor.rights, meta)
        now = clock.now()
        planned = plan(meta, now)
        if planned is None:
            return Outcome(meta, None)
        changes = (planned.change, *planned.others)
        records = [
            audit(change, caller=actor.caller, at=now, conversation=actor.conversation)
            for change in changes
        ]
        actions = [
            action
            for change, record in zip(changes, records, strict=True)
            for action in effects(change, record)
        ]
        try:
            table.transact([*actions, *planned.also])
        except ConditionFailed:
            for change in changes:
                refuse_taken_key(table, change.after)
            continue
        others = tuple(change.after for change in planned.others)
        return Outcome(planned.change.after, records[0], others)
    raise conflict("This memory keeps changing; read it again and retry.")


def visible_memory(table: Table, rights: Rights, memory_id: str) -> Meta:
    """The memory, live or not. Raises Refusal `not_found` for what the caller may not see."""
    meta = load_visible(table, [memory_id], rights.read_set).get(memory_id)
    if meta is None:
        raise not_found("There is no such memory; check the id with recall or list_memories.")
    return meta


def refuse_taken_key(table: Table, after: Meta) -> None:
    """Raises Refusal `conflict` when another live memory of the scope says the same."""
    if not after.live:
        return
    holder = table.get(DuplicateClaim, after.scope, after.digest)
    if holder is not None and holder.memory_id != after.memory_id:
        raise conflict(
            f"{holder.memory_id} says the same and is live; forget it first, or keep it.",
            {"holder": holder.memory_id},
        )
