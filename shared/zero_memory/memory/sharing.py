"""Sharing: the readers of another scope may read a memory, which stays where it is."""

from zero_memory.contracts.errors import conflict, forbidden, validation_failed
from zero_memory.memory.changing import Outcome, Plan, change_memory, must_write
from zero_memory.memory.lifecycle import Change, touch
from zero_memory.memory.model import Meta, SharedMemory
from zero_memory.memory.reading import with_bodies
from zero_memory.memory.rights import Actor, Rights
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Action, Delete, Put, Table, ref

MAX_SHARED_TO = 20
"""Each costs 30 bytes of the memory's record, and a pending marker in every transaction."""


def share(table: Table, clock: Clock, actor: Actor, memory_id: str, *, scope: str) -> Outcome:
    """Let the readers of a scope, to which the caller may write, read a live memory.

    One that is there already stays as it is. Raises Refusal: as `change_memory`, `conflict` for a
    memory that no longer holds, `validation_failed` past 20 scopes.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        del now
        if scope in (meta.scope, *meta.shared_to):
            return None
        if not meta.live:
            raise conflict("This memory no longer holds; restore it before you share it.")
        if len(meta.shared_to) >= MAX_SHARED_TO:
            raise validation_failed(
                f"A memory is shared to at most {MAX_SHARED_TO} scopes; unshare it from one, or "
                "move it to a team whose members are all of these people."
            )
        shared = touch(meta, shared_to=(*meta.shared_to, scope))
        return Plan(Change(meta, shared, "share"), also=tuple(entries(table, meta, shared)))

    return change_memory(table, clock, actor, memory_id, plan)


def unshare(
    table: Table, clock: Clock, actor: Actor, memory_id: str, *, scope: str | None
) -> Outcome:
    """End the sharing of a memory, live or not, to a scope; None: to all of them.

    For those who may change the memory, and for admins of the scope. Raises Refusal: as
    `change_memory`.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        del now
        kept = () if scope is None else tuple(each for each in meta.shared_to if each != scope)
        if kept == meta.shared_to:
            return None
        unshared = touch(meta, shared_to=kept)
        return Plan(Change(meta, unshared, "unshare"), also=tuple(entries(table, meta, unshared)))

    def may(rights: Rights, meta: Meta) -> None:
        if scope is None or scope not in rights.administered:
            must_write(rights, meta)

    return change_memory(table, clock, actor, memory_id, plan, may=may)


def entries(table: Table, before: Meta, after: Meta) -> list[Action]:
    """What makes a memory found in the scopes that it is shared to now, and in no other."""
    actions: list[Action] = [
        Delete(ref(SharedMemory, scope, after.memory_id))
        for scope in before.shared_to
        if scope not in after.shared_to
    ]
    added = [scope for scope in after.shared_to if scope not in before.shared_to]
    if added:
        for memory in with_bodies(table, [after]):
            entities = memory.body.entities
            actions += [Put(SharedMemory(scope, after.memory_id, entities)) for scope in added]
    return actions


def must_share(rights: Rights, before: Meta, after: Meta) -> None:
    """Raises Refusal `forbidden` when a step shares to a scope that the caller can't write to."""
    if not set(after.shared_to) - set(before.shared_to) <= rights.writable:
        raise forbidden(
            "This memory was shared to a scope that you can't write to; ask one of its writers."
        )
