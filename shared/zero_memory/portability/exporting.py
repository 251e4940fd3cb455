"""Reading memories for export: live and dead, with all that the caller may know of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from msgspec import Struct

from zero_memory.memory.ages import timestamp
from zero_memory.memory.apart import apart
from zero_memory.memory.model import AuditRecord, Dispute, LinkOut, Meta, SearchRecord
from zero_memory.memory.reading import Memory, load_readable, load_visible, with_bodies
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
from zero_memory.ports.table import DamagedRecord, Table, every, ref
from zero_memory.retrieval.reading import search_record_page
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
    """Rendered memories, in the order of scope name and id; `behind` continues, None: the end.

    `unreadable` are the ids of those in its stretch that are damaged, or can't be rendered, and are
    left out.
    """

    memories: tuple[tuple[Portable, str], ...]
    unreadable: tuple[str, ...]
    behind: str | None


class _Loaded(Struct, frozen=True):
    """What the table holds of one memory. The past is read for JSON Lines only.

    Without a search record that can be read it has no vectors, which an import makes anew.
    """

    memory: Memory
    links: tuple[LinkOut, ...]
    record: SearchRecord | None
    audits: tuple[AuditRecord, ...] | None
    disputes: tuple[Dispute, ...]


class _Batch(Struct, frozen=True):
    """Some memories in their order, and the positions of those between them that are damaged."""

    loaded: Sequence[_Loaded]
    unreadable: Sequence[str]


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
    unreadable: list[str] = []
    size = 0
    position = behind

    def cut() -> ExportedPage:
        # Those behind the position are met again.
        before = (each for each in unreadable if position is not None and each < position)
        return ExportedPage(tuple(taken), tuple(_id_at(each) for each in sorted(before)), position)

    for batch in _read(table, scopes, whole=whole, behind=behind):
        unreadable += batch.unreadable
        memories, unfit = _shown(table, access, batch.loaded)
        unreadable += unfit
        for memory in memories:
            text = _text(render, memory)
            if text is None:
                unreadable.append(_position(memory.scope, memory.id))
                continue
            size += len(text.encode())
            if taken and size > limits.bytes:
                return cut()
            taken.append((memory, text))
            position = _position(memory.scope, memory.id)
            if len(taken) == limits.memories:
                return cut()
        if taken and clock.now() - started > limits.milliseconds:
            return cut()
    return ExportedPage(tuple(taken), tuple(_id_at(each) for each in sorted(unreadable)), None)


def _position(scope_name: str, memory_id: str) -> str:
    """Where in the order of an export a memory is."""
    return f"{scope_name}\n{memory_id}"


def _id_at(position: str) -> str:
    return position.partition("\n")[2]


def _read(
    table: Table, scopes: Sequence[Membership], *, whole: bool, behind: str | None
) -> Iterator[_Batch]:
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
            page, unread = search_record_page(
                table, membership.scope, after=after, since=since, limit=_READ_AT_ONCE
            )
            records = {each.memory_id: each for each in page.records}
            memory_ids = sorted({*records, *unread}.difference([since]))
            load = partial(_loaded, table, read_set, records, whole=whole)
            loaded, damaged = apart(load, memory_ids, fault=DamagedRecord)
            yield _Batch(loaded, [_position(here, each) for each in damaged])
            after = page.next
            if after is None:
                break


def _loaded(
    table: Table,
    read_set: ReadSet,
    records: Mapping[str, SearchRecord],
    memory_ids: Sequence[str],
    *,
    whole: bool,
) -> list[_Loaded]:
    metas = load_visible(table, memory_ids, read_set).values()
    here = [meta for meta in metas if meta.scope in read_set]  # not moved in between
    return [
        _load(table, memory, records.get(memory.meta.memory_id), whole=whole)
        for memory in with_bodies(table, here)
    ]


def _load(table: Table, memory: Memory, record: SearchRecord | None, *, whole: bool) -> _Loaded:
    memory_id = memory.meta.memory_id
    links = (each for each in every(table, LinkOut, memory_id) if each.link != "supersedes")
    return _Loaded(
        memory=memory,
        links=tuple(links),
        record=record,
        audits=tuple(every(table, AuditRecord, memory_id)) if whole else None,
        disputes=tuple(every(table, Dispute, memory_id)) if whole else (),
    )


def _shown(
    table: Table, access: Access, batch: Sequence[_Loaded]
) -> tuple[list[Portable], list[str]]:
    """What these are outside, and the positions of those that are nothing there."""
    by_id = {each.memory.meta.memory_id: each for each in batch}

    def show(some: Sequence[str]) -> list[Portable]:
        return list(_portable(table, access, [by_id[memory_id] for memory_id in some]))

    shown, unfit = apart(show, list(by_id))
    homes = {each: access.by_id[by_id[each].memory.meta.scope] for each in unfit}
    return shown, [_position(scope_name(homes[each]), each) for each in unfit]


def _text(render: Callable[[Portable], str], memory: Portable) -> str | None:
    """A memory's text, None when it can't be written so."""
    texts, _ = apart(lambda _: [render(memory)], [memory.id])
    return texts[0] if texts else None


def _portable(table: Table, access: Access, batch: Sequence[_Loaded]) -> Iterator[Portable]:
    principals = {loaded.memory.meta.author for loaded in batch}
    principals |= {dispute.principal for loaded in batch for dispute in loaded.disputes}
    audits = [record for loaded in batch for record in loaded.audits or ()]
    targets = [link.target for loaded in batch for link in loaded.links]
    targets += [each for loaded in batch if (each := loaded.memory.meta.superseded_by) is not None]
    targets += [each for loaded in batch for each in loaded.memory.meta.follows]
    targets += [target for record in audits for target in targets_of(record)]
    here = {loaded.memory.meta.memory_id for loaded in batch}
    hidden = _unseen_targets(table, access, [each for each in targets if each not in here])
    names = names_for(table, access, principals, audits, hidden)
    for loaded in batch:
        yield _exported(loaded, names)


def _unseen_targets(table: Table, access: Access, targets: Sequence[str]) -> frozenset[str]:
    """Those of these memories that the caller does not see: foreign ones, and those that are none.

    Alike, since whoever imports a record may name in it whatever they guess.
    """
    read_set = ReadSet({each.scope: each.path for each in access.memberships})
    seen, _ = load_readable(table, targets, read_set)
    return frozenset(targets) - seen.keys()


def hidden_targets(table: Table, access: Access, targets: Sequence[str]) -> frozenset[str]:
    """Those of these memories that are there, and that the caller may not see."""
    distinct = list(dict.fromkeys(targets))
    read_set = ReadSet({each.scope: each.path for each in access.memberships})

    def hidden(some: Sequence[str]) -> list[str]:
        metas = table.get_many([ref(Meta, target) for target in some])
        return [
            meta.memory_id
            for meta in metas
            if meta is not None and not visible(meta.scope, meta.shared_to, read_set)
        ]

    found, damaged = apart(hidden, distinct, fault=DamagedRecord)
    return frozenset([*found, *damaged])  # whose the damaged ones are can't be told


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
        vectors=_vectors(loaded),
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
                before=before,
                after=after,
                reason=record.reason,
                conversation=_token(record.conversation, record.principal),
                undoes=record.undoes,
            )
            for record in loaded.audits
            for before, after in [names.sides(record)]
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


def _vectors(loaded: _Loaded) -> Vectors | None:
    if loaded.audits is None or loaded.record is None:
        return None
    passage = loaded.record.passage
    windows = (Window(each.start, each.end, each.vector) for each in passage.windows)
    return Vectors(passage.model, tuple(windows))


def _token(conversation: str | None, principal: str) -> str | None:
    """The thread of a conversation, which names its principal before it."""
    return None if conversation is None else conversation.removeprefix(f"{principal}#")
