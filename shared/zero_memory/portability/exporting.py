"""Reading memories for export: live and dead, with all that the caller may know of them."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

from msgspec import Struct

from zero_memory.memory.ages import timestamp
from zero_memory.memory.model import AuditRecord, Dispute, LinkOut, Meta, SearchRecord
from zero_memory.memory.reading import Memory, load_visible, with_bodies
from zero_memory.portability.model import (
    FORMAT,
    Change,
    Doubt,
    Life,
    Link,
    Past,
    Portable,
    State,
    Vectors,
    Window,
)
from zero_memory.portability.names import Names, names_for, scope_name, targets_of
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table, every, ref
from zero_memory.scopes.access import Access
from zero_memory.scopes.model import Membership
from zero_memory.scopes.visibility import ReadSet, visible

_READ_AT_ONCE = 50


class ExportLimits(Struct, frozen=True):
    """What one call may take: memories, their UTF-8 bytes as rendered, milliseconds.

    A page has one memory at least, however long.
    """

    memories: int
    bytes: int
    milliseconds: int


class ExportedPage(Struct, frozen=True):
    """Rendered memories, in the order of scope name and id; `behind` continues, None: the end."""

    memories: tuple[tuple[Portable, str], ...]
    behind: str | None


class _Loaded(Struct, frozen=True):
    """What the table holds of one memory. The past is read for JSON Lines only."""

    memory: Memory
    links: tuple[LinkOut, ...]
    record: SearchRecord
    audits: tuple[AuditRecord, ...] | None
    disputes: tuple[Dispute, ...]


def export_page(
    table: Table,
    clock: Clock,
    access: Access,
    scopes: Sequence[Membership],
    *,
    whole: bool,
    render: Callable[[Portable], str],
    behind: str | None,
    limits: ExportLimits,
) -> ExportedPage:
    """One page of all memories whose home is in these scopes, behind a position.

    `whole` adds history and vectors. Memories that are only shared into a scope are exported with
    their own scope.
    """
    started = clock.now()
    taken: list[tuple[Portable, str]] = []
    size = 0
    position = behind
    for loaded in _read(table, scopes, whole=whole, behind=behind):
        for memory in _portable(table, access, loaded):
            text = render(memory)
            size += len(text.encode())
            if taken and size > limits.bytes:
                return ExportedPage(tuple(taken), position)
            taken.append((memory, text))
            position = f"{memory.scope}\n{memory.id}"
            if len(taken) == limits.memories:
                return ExportedPage(tuple(taken), position)
        if taken and clock.now() - started > limits.milliseconds:
            return ExportedPage(tuple(taken), position)
    return ExportedPage(tuple(taken), None)


def _read(
    table: Table, scopes: Sequence[Membership], *, whole: bool, behind: str | None
) -> Iterator[list[_Loaded]]:
    """Batches of what the table holds. Each memory, dead ones too, has one record in its scope."""
    name, _, memory_id = (behind or "").partition("\n")
    for membership in sorted(scopes, key=scope_name):
        here = scope_name(membership)
        if here < name:
            continue
        read_set = ReadSet({membership.scope: membership.path})
        since = memory_id if here == name else None
        after: str | None = None
        while True:
            page = table.query(
                SearchRecord, membership.scope, since=since, after=after, limit=_READ_AT_ONCE
            )
            records = [record for record in page.records if record.memory_id != since]
            yield [_load(table, each, whole=whole) for each in _at_home(table, read_set, records)]
            after = page.next
            if after is None:
                break


def _at_home(
    table: Table, read_set: ReadSet, records: Sequence[SearchRecord]
) -> Iterator[tuple[Memory, SearchRecord]]:
    metas = load_visible(table, [record.memory_id for record in records], read_set)
    memories = {
        memory.meta.memory_id: memory for memory in with_bodies(table, list(metas.values()))
    }
    for record in records:
        memory = memories.get(record.memory_id)
        if memory is not None and memory.meta.scope == record.scope:  # not moved in between
            yield memory, record


def _load(table: Table, found: tuple[Memory, SearchRecord], *, whole: bool) -> _Loaded:
    memory, record = found
    memory_id = memory.meta.memory_id
    links = (each for each in every(table, LinkOut, memory_id) if each.link != "supersedes")
    return _Loaded(
        memory=memory,
        links=tuple(links),
        record=record,
        audits=tuple(every(table, AuditRecord, memory_id)) if whole else None,
        disputes=tuple(every(table, Dispute, memory_id)) if whole else (),
    )


def _portable(table: Table, access: Access, batch: Sequence[_Loaded]) -> Iterator[Portable]:
    principals = {loaded.memory.meta.author for loaded in batch}
    principals |= {dispute.principal for loaded in batch for dispute in loaded.disputes}
    audits = [record for loaded in batch for record in loaded.audits or ()]
    targets = [link.target for loaded in batch for link in loaded.links]
    targets += [each for loaded in batch if (each := loaded.memory.meta.superseded_by) is not None]
    targets += [each for loaded in batch for each in loaded.memory.meta.follows]
    targets += [target for record in audits for target in targets_of(record)]
    here = {loaded.memory.meta.memory_id for loaded in batch}
    hidden = hidden_targets(table, access, [each for each in targets if each not in here])
    names = names_for(table, access, principals, audits, hidden)
    for loaded in batch:
        yield _exported(loaded, names)


def hidden_targets(table: Table, access: Access, targets: Sequence[str]) -> frozenset[str]:
    """Those of these memories that are there, and that the caller may not see."""
    distinct = list(dict.fromkeys(targets))
    if not distinct:
        return frozenset()
    read_set = ReadSet({each.scope: each.path for each in access.memberships})
    metas = table.get_many([ref(Meta, target) for target in distinct])
    return frozenset(
        meta.memory_id
        for meta in metas
        if meta is not None and not visible(meta.scope, meta.shared_to, read_set)
    )


def _exported(loaded: _Loaded, names: Names) -> Portable:
    meta, body = loaded.memory.meta, loaded.memory.body
    superseded_by = None if meta.superseded_by in names.hidden else meta.superseded_by
    return Portable(
        zero_memory=FORMAT,
        id=meta.memory_id,
        kind=meta.kind,
        scope=names.scope(meta.scope),
        state=_state(meta, superseded_by),
        created_at=timestamp(meta.created_at),
        author=names.principal(meta.author),
        author_kind=meta.author_kind,
        agent_name=body.agent_name,
        authority=meta.authority,
        entities=body.entities,
        language=body.language,
        valid_from=timestamp(meta.valid_from) if meta.valid_from != meta.created_at else None,
        alive=tuple(
            Life(timestamp(life.start), None if life.end is None else timestamp(life.end))
            for life in meta.alive
        ),
        reason=meta.invalidated_reason,
        superseded_by=superseded_by,
        checked_at=timestamp(meta.checked_at) if meta.checked_at is not None else None,
        links=tuple(
            Link(each.link, each.target, timestamp(each.created_at))
            for each in loaded.links
            if each.target not in names.hidden
        ),
        shared_to=tuple(names.scope(each) for each in meta.shared_to),
        thread=meta.thread,
        conversation=_token(meta.conversation, meta.author),
        follows=tuple(takewhile(lambda each: each not in names.hidden, meta.follows)),
        source=json.loads(body.source_json) if body.source_json is not None else None,
        original=body.original,
        content=body.content,
        past=_past(loaded, names),
        vectors=None if loaded.audits is None else _vectors(loaded.record),
    )


def _state(meta: Meta, superseded_by: str | None) -> State:
    if meta.live:
        return "live"
    return "invalid" if superseded_by is None else "superseded"


def _past(loaded: _Loaded, names: Names) -> Past | None:
    if loaded.audits is None:
        return None
    return Past(
        revision=loaded.memory.meta.revision,
        changes=tuple(
            Change(
                id=record.audit_id,
                action=record.action,
                at=timestamp(record.at),
                by=names.principal(record.principal),
                revision=record.revision,
                before=names.state(record.before),
                after=names.state(record.after) or {},
                reason=record.reason,
                conversation=_token(record.conversation, record.principal),
                undoes=record.undoes,
            )
            for record in loaded.audits
        ),
        disputes=tuple(
            Doubt(
                id=dispute.dispute_id,
                at=timestamp(dispute.raised_at),
                by=names.principal(dispute.principal),
                reason=dispute.reason,
                evidence=dispute.evidence,
                conversation=_token(dispute.conversation, dispute.principal),
            )
            for dispute in loaded.disputes
        ),
        dispute=loaded.memory.meta.dispute,
    )


def _vectors(record: SearchRecord) -> Vectors:
    windows = (Window(each.start, each.end, each.vector) for each in record.passage.windows)
    return Vectors(record.passage.model, tuple(windows))


def _token(conversation: str | None, principal: str) -> str | None:
    """The thread of a conversation, which names its principal before it."""
    return None if conversation is None else conversation.removeprefix(f"{principal}#")
