"""Memories by id, for a caller: the one way from ids to what may be shown."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from zero_memory.memory.model import Body, Meta, StoredBody
from zero_memory.ports.table import Table, ref
from zero_memory.scopes.visibility import ReadSet, visible


class Memory(Struct, frozen=True):
    """A memory with its words."""

    meta: Meta
    body: Body


def load_visible(table: Table, memory_ids: Sequence[str], read_set: ReadSet) -> dict[str, Meta]:
    """The memories among these, live or not, that the read set lets the caller see.

    Reads the authoritative records, consistently; what is missing and what is foreign are absent
    alike.
    """
    distinct = list(dict.fromkeys(memory_ids))
    found = table.get_many([ref(Meta, memory_id) for memory_id in distinct])
    return {
        meta.memory_id: meta
        for meta in found
        if meta is not None and visible(meta.scope, meta.shared_to, read_set)
    }


def seen_successors(table: Table, metas: Iterable[Meta], read_set: ReadSet) -> dict[str, str]:
    """What superseded each of these memories, by their ids, as far as the caller may see it."""
    successors = {meta.memory_id: meta.superseded_by for meta in metas if meta.superseded_by}
    seen = load_visible(table, list(successors.values()), read_set) if successors else {}
    return {each: successor for each, successor in successors.items() if successor in seen}


def with_bodies(table: Table, metas: Sequence[Meta]) -> list[Memory]:
    """These memories with their words, in their order; one erased meanwhile is left out."""
    apart = [meta.memory_id for meta in metas if meta.body is None]
    stored = table.get_many([ref(StoredBody, memory_id) for memory_id in apart]) if apart else []
    bodies = {record.memory_id: record.body for record in stored if record is not None}
    memories: list[Memory] = []
    for meta in metas:
        body = meta.body or bodies.get(meta.memory_id)
        if body is not None:
            memories.append(Memory(meta, body))
    return memories
