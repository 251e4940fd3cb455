"""Moving memories to another scope, with everything that finds them there."""

from zero_memory.memory.changing import Outcome, Plan, change_memory, refuse_taken_key
from zero_memory.memory.entities import distinct_names, mentions, register
from zero_memory.memory.lifecycle import Change, touch
from zero_memory.memory.model import Mention, Meta, SearchRecord, Wording
from zero_memory.memory.reading import with_bodies
from zero_memory.memory.rights import Actor
from zero_memory.memory.sharing import entries
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Action, Delete, Put, Table, ref


def move(
    table: Table, clock: Clock, actor: Actor, memory_id: str, *, scope: str, owner: str
) -> Outcome:
    """Move a memory, live or not, to a scope that the caller may write to; there already: nothing.

    Raises Refusal: as `change_memory`.
    """

    def plan(meta: Meta, now: int) -> Plan | None:
        del now
        if meta.scope == scope:
            return None
        shared_to = tuple(each for each in meta.shared_to if each != scope)
        moved = touch(meta, scope=scope, owner=owner, shared_to=shared_to)
        refuse_taken_key(table, moved)  # before its names are told to the scope
        also = (*relocation(table, meta, moved), *entries(table, meta, moved))
        return Plan(Change(meta, moved, "move"), also=also)

    return change_memory(table, clock, actor, memory_id, plan)


def relocation(table: Table, before: Meta, after: Meta) -> list[Action]:
    """What moves beside the memory itself: search record, wording and mentions.

    They are made from what never changes, so that they hold whenever the memory's own revision
    does. The scope that it comes to gets to know its entities first.
    """
    actions: list[Action] = []
    memory_id = before.memory_id
    record = table.get(SearchRecord, before.scope, memory_id)
    if record is not None:
        actions.append(Delete(ref(SearchRecord, before.scope, memory_id)))
        actions.append(Put(SearchRecord(after.scope, memory_id, record.passage)))
    if before.owner != after.owner:
        actions.append(Delete(ref(Wording, before.owner, before.folded, memory_id)))
        actions.append(Put(Wording(after.owner, before.folded, memory_id)))
    for memory in with_bodies(table, [before]):
        entities = distinct_names(memory.body.entities)
        register(table, after.scope, entities)
        actions += [Delete(ref(Mention, before.scope, folded, memory_id)) for folded in entities]
        actions += mentions(after.scope, memory_id, entities)
    return actions
