"""Erasing a memory for good: nothing that was said stays, but that it was erased, when, by whom."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from zero_memory.contracts.errors import conflict, forbidden, not_found
from zero_memory.memory.entities import distinct_names
from zero_memory.memory.ids import new_audit_id
from zero_memory.memory.ledger import ImportEntry, import_path
from zero_memory.memory.model import (
    AnswerPointer,
    AuditRecord,
    Dispute,
    DuplicateClaim,
    EntityName,
    IdempotentAnswer,
    LinkIn,
    LinkOut,
    Mention,
    Meta,
    PendingMarker,
    SearchRecord,
    SharedMemory,
    StoredBody,
    Wording,
)
from zero_memory.memory.reading import load_visible, with_bodies
from zero_memory.memory.rights import Actor
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Action,
    AttributeIs,
    ConditionFailed,
    Delete,
    Present,
    Put,
    Ref,
    RevisionIs,
    Table,
    delete_all,
    every,
    ref,
)
from zero_memory.scopes.caller import Caller

_ATTEMPTS = 8


def erase(table: Table, clock: Clock, actor: Actor, memory_id: str) -> AuditRecord:
    """Erase a memory; the record that this leaves behind.

    One transaction takes the memory and everything that finds it, so that nobody sees half of one.
    What else hangs on it goes before and after; interrupted, it is completed by calling again.
    Raises Refusal: `not_found`, `forbidden` for anybody but an admin of its scope.
    """
    for _ in range(_ATTEMPTS):
        meta = load_visible(table, [memory_id], actor.rights.read_set).get(memory_id)
        if meta is None:
            tombstone = _tombstone_of(table, actor, memory_id)
            break
        if meta.scope not in actor.rights.administered:
            raise forbidden("Only an admin of its scope may erase a memory; use forget.")
        scopes = _scopes_before(table, meta)
        _unname(table, meta, scopes)
        _unlist(table, meta, [meta.scope, *scopes])
        tombstone = _tombstone(meta, actor.caller, clock.now())
        try:
            table.transact([*_taking(table, meta), Put(tombstone)])
        except ConditionFailed:
            continue
        break
    else:
        raise conflict("This memory keeps changing; read it again and retry.")
    _sweep(table, tombstone)
    return tombstone


def _tombstone(meta: Meta, caller: Caller, now: int) -> AuditRecord:
    places = {"scope": meta.scope, "shared_to": meta.shared_to}
    return AuditRecord(
        memory_id=meta.memory_id,
        audit_id=new_audit_id(now),
        action="erase",
        at=now,
        principal=caller.principal,
        revision=meta.revision + 1,
        before="{}",
        after=json.dumps(places),
    )


def _tombstone_of(table: Table, actor: Actor, memory_id: str) -> AuditRecord:
    """What an earlier erasure left, for whom it was and for the scope's admins."""
    for record in table.query(AuditRecord, memory_id, limit=1, newest_first=True).records:
        erased_from = json.loads(record.after).get("scope")
        if record.action == "erase" and (
            record.principal == actor.caller.principal or erased_from in actor.rights.administered
        ):
            return record
    raise not_found("There is no such memory; check the id with recall or list_memories.")


def _taking(table: Table, meta: Meta) -> list[Action]:
    """The memory, and everything by which it is found."""
    memory_id, scope = meta.memory_id, meta.scope
    actions: list[Action] = [Delete(ref(Meta, memory_id), RevisionIs(meta.revision))]
    if meta.live:
        claim = ref(DuplicateClaim, scope, meta.digest)
        actions.append(Delete(claim, AttributeIs("memory_id", memory_id)))
    for folded in _entities(table, meta):
        actions.append(Delete(ref(Mention, scope, folded, memory_id)))
        if _alone_mentions(table, scope, folded, memory_id):
            actions.append(Delete(ref(EntityName, scope, folded)))
    actions.append(Delete(ref(StoredBody, memory_id)))
    actions.append(Delete(ref(SearchRecord, scope, memory_id)))
    actions.append(Delete(ref(Wording, meta.owner, meta.folded, memory_id)))
    return actions


def _scopes_before(table: Table, meta: Meta) -> list[str]:
    """The scopes that a memory was moved from."""
    states: list[dict[str, Any]] = [
        json.loads(each.before) or {} for each in every(table, AuditRecord, meta.memory_id)
    ]
    return sorted({state["scope"] for state in states if "scope" in state} - {meta.scope})


def _unname(table: Table, meta: Meta, scopes: Sequence[str]) -> None:
    """Let the scopes that a memory was moved from forget names that only it brought there."""
    delete_all(
        table,
        [
            ref(EntityName, scope, folded)
            for scope in scopes
            for folded in _entities(table, meta)
            if _alone_mentions(table, scope, folded, meta.memory_id)
        ],
    )


def _unlist(table: Table, meta: Meta, scopes: Sequence[str]) -> None:
    """Take a memory from its author's ledger of imports; where nothing is left, its path too."""
    person = meta.author.partition(".")[0]
    for memory in with_bodies(table, [meta]):
        path = import_path(memory.body.source_json)
        if path is None:
            continue
        refs = [ref(ImportEntry, person, scope, path) for scope in scopes]
        for at, entry in zip(refs, table.get_many(refs), strict=True):
            if entry is None:
                continue
            left = tuple(each for each in entry.sections if each.memory_id != meta.memory_id)
            if not left:
                table.transact([Delete(at)])
            elif left != entry.sections:
                table.transact([Put(replace(entry, sha256="", sections=left))])


def _entities(table: Table, meta: Meta) -> list[str]:
    """A memory's entities, by their folded names."""
    return [
        folded
        for memory in with_bodies(table, [meta])
        for folded in distinct_names(memory.body.entities)
    ]


def _alone_mentions(table: Table, scope: str, folded: str, memory_id: str) -> bool:
    mentioned = table.query(Mention, scope, folded, limit=2).records
    return all(mention.memory_id == memory_id for mention in mentioned)


def _sweep(table: Table, tombstone: AuditRecord) -> None:
    """Delete what hangs on an erased memory; what leads to other things goes after them."""
    memory_id = tombstone.memory_id
    audits = [
        record
        for record in every(table, AuditRecord, memory_id)
        if record.audit_id != tombstone.audit_id
    ]
    successors = _successors(audits)
    places: dict[str, Any] = json.loads(tombstone.after)
    scopes: list[str] = [places["scope"], *places["shared_to"]]
    delete_all(table, _answers(table, memory_id, successors))
    _unreason(table, memory_id)
    delete_all(table, _links(table, memory_id, successors))
    delete_all(
        table,
        [
            *(ref(PendingMarker, scope, memory_id) for scope in scopes),
            *(ref(SharedMemory, scope, memory_id) for scope in places["shared_to"]),
            *(
                ref(Dispute, memory_id, each.dispute_id)
                for each in every(table, Dispute, memory_id)
            ),
            *(ref(AuditRecord, memory_id, each.audit_id) for each in audits),
        ],
    )


def _successors(audits: Sequence[AuditRecord]) -> list[str]:
    """Every memory that ever superseded the one of these records."""
    states: list[dict[str, Any]] = [
        json.loads(state) or {} for each in audits for state in (each.before, each.after)
    ]
    named = (state.get("superseded_by") for state in states)
    return list(dict.fromkeys(each for each in named if each is not None))


def _answers(table: Table, memory_id: str, successors: Sequence[str]) -> Iterator[Ref[object]]:
    """The idempotent answers that name the memory, and what points to them."""
    for holder in (memory_id, *successors):
        for pointer in every(table, AnswerPointer, holder):
            at = ref(IdempotentAnswer, pointer.principal, pointer.tool, pointer.key)
            answer = table.get(IdempotentAnswer, *at.parts)
            if holder == memory_id or (answer is not None and memory_id in answer.result):
                yield at
                yield ref(AnswerPointer, holder, *at.parts)


def _unreason(table: Table, memory_id: str) -> None:
    """Clear why others were linked to the memory, which their own histories keep."""
    for source in dict.fromkeys(each.source for each in every(table, LinkIn, memory_id)):
        for record in every(table, AuditRecord, source):
            state: dict[str, Any] = json.loads(record.after)
            if record.reason is not None and memory_id in (state.get("link") or ()):
                with suppress(ConditionFailed):  # it is being erased itself
                    table.transact([Put(replace(record, reason=None), Present())])


def _links(table: Table, memory_id: str, successors: Sequence[str]) -> Iterator[Ref[object]]:
    """The memory's links to and from others, at both ends."""
    for out in every(table, LinkOut, memory_id):
        yield ref(LinkIn, out.target, out.link, memory_id)
        yield ref(LinkOut, memory_id, out.link, out.target)
    for each in every(table, LinkIn, memory_id):
        yield ref(LinkOut, each.source, each.link, memory_id)
        yield ref(LinkIn, memory_id, each.link, each.source)
    for successor in successors:
        yield ref(LinkOut, successor, "supersedes", memory_id)
