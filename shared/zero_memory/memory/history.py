"""What became of a memory: its versions, its states, its links, and who did what when."""

from collections.abc import Iterable

from msgspec import Struct

from zero_memory.memory.changing import visible_memory
from zero_memory.memory.model import AuditRecord, Dispute, LinkIn, LinkOut, Meta
from zero_memory.memory.reading import Memory, load_readable, readable_memories
from zero_memory.memory.rights import Rights
from zero_memory.ports.table import Table

_VERSIONS_SHOWN = 50
_LINKS_SHOWN = 100


class History(Struct, frozen=True):
    """One memory's past and present.

    `versions` are the memory and, of what it superseded and what superseded it, the nearest 50
    that the caller may see, by their birth. `audits` are a page, newest first; `next` continues.
    """

    meta: Meta
    versions: tuple[Memory, ...]
    links_out: tuple[LinkOut, ...]
    links_in: tuple[LinkIn, ...]
    dispute: Dispute | None
    audits: tuple[AuditRecord, ...]
    next: str | None


def history(
    table: Table, rights: Rights, memory_id: str, *, after: str | None = None, limit: int
) -> History:
    """The history of a memory, live or not. Raises Refusal `not_found`."""
    meta = visible_memory(table, rights, memory_id)
    page = table.query(AuditRecord, memory_id, after=after, limit=limit, newest_first=True)
    links_out = table.query(LinkOut, memory_id, limit=_LINKS_SHOWN).records
    links_in = table.query(LinkIn, memory_id, limit=_LINKS_SHOWN).records
    ends = [*(each.target for each in links_out), *(each.source for each in links_in)]
    seen, _ = load_readable(table, ends, rights.read_set)
    found = sorted(_versions(table, rights, meta), key=lambda each: each.memory_id)
    versions, _ = readable_memories(table, found)
    return History(
        meta=meta,
        versions=tuple(versions),
        links_out=tuple(
            each for each in links_out if each.link != "supersedes" and each.target in seen
        ),
        links_in=tuple(each for each in links_in if each.source in seen),
        dispute=table.get(Dispute, memory_id, meta.dispute) if meta.dispute else None,
        audits=page.records,
        next=page.next,
    )


def cut_of(table: Table, rights: Rights, meta: Meta) -> int:
    """Which cut of a task a memory is: 1, and one more for each task before it.

    Counts what the caller may see of 50 memories at most: itself, and those next before it.
    """
    cuts, edge, room = 0, [meta], _VERSIONS_SHOWN
    while edge:
        cuts += 1
        room -= len(edge)
        earlier = [
            link.target
            for each in edge
            for link in table.query(LinkOut, each.memory_id, "supersedes", limit=room + 1).records
        ]
        found, _ = load_readable(table, earlier[:room], rights.read_set)
        edge = [each for each in found.values() if each.kind == "task"]
    return cuts


def _versions(table: Table, rights: Rights, meta: Meta) -> Iterable[Meta]:
    found = {meta.memory_id: meta}
    edge = [meta]
    while edge and len(found) < _VERSIONS_SHOWN:
        beside: list[str] = []
        for each in edge:
            earlier = table.query(LinkOut, each.memory_id, "supersedes", limit=_VERSIONS_SHOWN)
            beside += (link.target for link in earlier.records)
            beside += [each.superseded_by] if each.superseded_by else []
        fresh = [each for each in dict.fromkeys(beside) if each not in found]
        room = _VERSIONS_SHOWN - len(found)
        loaded, _ = load_readable(table, fresh[:room], rights.read_set)
        found |= loaded
        edge = list(loaded.values())
    return found.values()
