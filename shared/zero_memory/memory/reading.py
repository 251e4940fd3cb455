"""Memories by id, for a caller: the one way from ids to what may be shown."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from zero_memory.memory.apart import apart
from zero_memory.memory.model import Body, Meta, SearchRecord, StoredBody
from zero_memory.ports.table import DamagedRecord, Table, ref
from zero_memory.scopes.visibility import ReadSet, visible


class Memory(Struct, frozen=True):
    """A memory with its words."""

    meta: Meta
    body: Body


def load_visible(table: Table, memory_ids: Sequence[str], read_set: ReadSet) -> dict[str, Meta]:
    """The memories among these, live or not, that the read set lets the caller see.

    Reads the authoritative records, consistently; what is missing and what is foreign are absent
    alike. Raises DamagedRecord as `load_readable` counts them.
    """
    metas, unreadable = load_readable(table, memory_ids, read_set)
    if unreadable:
        raise DamagedRecord(f"Meta of {', '.join(unreadable)}")
    return metas


def load_readable(
    table: Table, memory_ids: Sequence[str], read_set: ReadSet
) -> tuple[dict[str, Meta], list[str]]:
    """As `load_visible`, and the ids of those that are damaged, which hold up no other.

    Of a damaged one only that it lives in a scope of the read set can be told without it; others,
    shared ones too, are absent as if they were foreign.
    """

    def read(some: Sequence[str]) -> list[Meta]:
        found = table.get_many([ref(Meta, memory_id) for memory_id in some])
        return [meta for meta in found if meta is not None]

    found, damaged = apart(read, list(dict.fromkeys(memory_ids)), fault=DamagedRecord)
    metas = {
        meta.memory_id: meta for meta in found if visible(meta.scope, meta.shared_to, read_set)
    }
    return metas, [each for each in damaged if _lives_in(table, each, read_set)]


def _lives_in(table: Table, memory_id: str, read_set: ReadSet) -> bool:
    try:
        here = table.get_many([ref(SearchRecord, each, memory_id) for each in read_set.paths])
    except DamagedRecord:
        return True
    return any(record is not None for record in here)


def seen_successors(table: Table, metas: Iterable[Meta], read_set: ReadSet) -> dict[str, str]:
    """What superseded each of these memories, by their ids, as far as the caller may see it."""
    successors = {meta.memory_id: meta.superseded_by for meta in metas if meta.superseded_by}
    seen, _ = load_readable(table, list(successors.values()), read_set)
    return {each: successor for each, successor in successors.items() if successor in seen}


def readable_memories(table: Table, metas: Sequence[Meta]) -> tuple[list[Memory], list[str]]:
    """As `with_bodies`, and the ids of those whose words are damaged, which hold up no other."""
    by_id = {meta.memory_id: meta for meta in metas}

    def read(some: Sequence[str]) -> list[Memory]:
        return with_bodies(table, [by_id[memory_id] for memory_id in some])

    return apart(read, list(by_id), fault=DamagedRecord)


def with_bodies(table: Table, metas: Sequence[Meta]) -> list[Memory]:
    """These memories with their words, in their order; one erased meanwhile is left out.

    Raises DamagedRecord.
    """
    beside = [meta.memory_id for meta in metas if meta.body is None]
    stored = table.get_many([ref(StoredBody, memory_id) for memory_id in beside]) if beside else []
    bodies = {record.memory_id: record.body for record in stored if record is not None}
    memories: list[Memory] = []
    for meta in metas:
        body = meta.body or bodies.get(meta.memory_id)
        if body is not None:
            memories.append(Memory(meta, body))
    return memories
