"""Putting an exported memory into a home as it was: same id, same words, same past.

Its authoritative record comes last. What does not fit into one transaction with it comes before,
on the condition that the memory is not there: so that it is there whole, or not at all, and nothing
is ever added to somebody else's memory.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct
from ulid import ULID

from zero_memory.contracts.errors import conflict, validation_failed
from zero_memory.contracts.model import MAX_SOURCE_BYTES
from zero_memory.memory.ages import moment
from zero_memory.memory.canonical import canonical, digest, folded_digest
from zero_memory.memory.commit import effects
from zero_memory.memory.entities import distinct_names, mentions, register
from zero_memory.memory.lifecycle import Change, audit
from zero_memory.memory.model import (
    AuditRecord,
    Body,
    Dispute,
    DuplicateClaim,
    Interval,
    LinkIn,
    LinkOut,
    Meta,
    Passage,
    SearchRecord,
    SharedMemory,
    StoredBody,
    Wording,
    timeline_of,
)
from zero_memory.memory.write import INLINE_BODY_BYTES, must_fit
from zero_memory.portability.destinations import Destinations
from zero_memory.portability.exporting import hidden_targets
from zero_memory.portability.model import Past, Portable
from zero_memory.portability.names import ELSEWHERE, renamed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    MAX_ACTIONS,
    Absent,
    Action,
    Check,
    ConditionFailed,
    Delete,
    Put,
    Ref,
    Table,
    ref,
)
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Membership

CLOCK_SKEW_MS = 5 * 60_000
"""How far two machines' clocks may be apart, before a birth lies in the future."""

_ATTEMPTS = 3


class Restored(Struct, frozen=True):
    """What became of a record: `deduplicated` names another live memory that says the same."""

    memory_id: str
    status: Literal["created", "unchanged", "deduplicated"]


def restore(
    table: Table,
    clock: Clock,
    *,
    caller: Caller,
    to: Destinations,
    memory: Portable,
    read_passage: Callable[[Portable, str], Passage],
) -> Restored:
    """Put a memory into the importer's scope of its name.

    `read_passage` takes the memory and its canonical text. Raises Refusal: `validation_failed` for
    a record that contradicts itself, `not_found` and `forbidden` as `Destinations.home`, and
    `conflict` for an id that was erased here, is somebody else's, or has another past here.
    """
    must_fit(memory.kind, memory.content)
    scope = to.home(memory.scope)
    now = clock.now()
    passage: Passage | None = None
    for _ in range(_ATTEMPTS):
        known = _known(table, memory, to, scope)
        if known is not None:
            return known
        passage = passage or read_passage(memory, canonical(memory.content))
        meta, body = _rebuilt(memory, to, scope, len(passage.windows), now)
        audits = _audits(caller, memory, meta, to, now)
        register(table, scope.scope, distinct_names(body.entities))
        main = _main(meta, body, passage, audits[-1])
        beside = _beside(table, memory, to, audits[:-1])
        try:
            _commit(table, memory.id, main, beside)
        except ConditionFailed:
            continue
        return Restored(memory.id, "created")
    raise conflict("The memories of this scope keep changing; import this one again.")


def _known(table: Table, memory: Portable, to: Destinations, scope: Membership) -> Restored | None:
    """What this home knows of a memory already, None when nothing hinders it."""
    here = table.get(Meta, memory.id)
    if here is None:
        last = table.query(AuditRecord, memory.id, limit=1, newest_first=True).records
        if last and last[0].action == "erase":
            raise conflict("This memory was erased here for good; import its text as a new one.")
        if memory.state != "live":
            return None
        claim = table.get(DuplicateClaim, scope.scope, digest(memory.kind, memory.content))
        return claim and Restored(claim.memory_id, "deduplicated")
    if here.scope not in to.access.by_id:
        raise conflict("This id is taken; import the text as a new memory.")
    if here.digest != digest(memory.kind, memory.content):
        raise conflict("This id is here with other words; import the text as a new memory.")
    newest = memory.past.changes[-1].id if memory.past else None
    if newest is not None and table.get(AuditRecord, memory.id, newest) is None:
        raise conflict("This memory has another past here, which is kept; compare memory_history.")
    return Restored(memory.id, "unchanged")


def _rebuilt(
    memory: Portable, to: Destinations, scope: Membership, windows: int, now: int
) -> tuple[Meta, Body]:
    """The records of a memory. Raises Refusal `validation_failed` where they contradict."""
    born = moment("created_at", memory.created_at)
    alive = tuple(
        Interval(
            moment("alive", life.start), None if life.end is None else moment("alive", life.end)
        )
        for life in memory.alive
    )
    _consistent(memory, born, alive, now)
    author = to.principal(memory.author)
    ended = alive[-1].end
    body = Body(
        content=memory.content,
        original=memory.original,
        language=memory.language,
        entities=memory.entities,
        agent_name=memory.agent_name,
        source_json=None if memory.source is None else json.dumps(memory.source),
    )
    # What succeeded it may be somebody else's here, whose memory is not to be written at.
    successors = [memory.superseded_by] if memory.superseded_by is not None else []
    unseen = hidden_targets(to.table, to.access, successors)
    inline = len(msgspec.json.encode(body)) <= INLINE_BODY_BYTES
    shared = {each.scope: each for each in map(to.find, memory.shared_to) if each is not None}
    meta = Meta(
        memory_id=memory.id,
        scope=scope.scope,
        owner=scope.owner,
        author=author,
        author_kind=memory.author_kind,
        kind=memory.kind,
        authority=memory.authority,
        created_at=born,
        valid_from=born if memory.valid_from is None else moment("valid_from", memory.valid_from),
        alive=alive,
        revision=memory.past.revision if memory.past else 1,
        digest=digest(memory.kind, memory.content),
        folded=folded_digest(memory.kind, memory.content),
        windows=windows,
        timeline=timeline_of(memory.kind) if ended is None else None,
        conversation=_conversation(memory.conversation, author),
        thread=memory.thread,
        body=body if inline else None,
        invalidated_at=ended,
        invalidated_reason=memory.reason,
        superseded_by=None if memory.superseded_by in unseen else memory.superseded_by,
        checked_at=None if memory.checked_at is None else moment("checked_at", memory.checked_at),
        # Sharing grants reading, which an importer can do only where they may write.
        shared_to=tuple(
            each.scope
            for each in shared.values()
            if each.role != "reader" and each.scope != scope.scope
        ),
        dispute=memory.past.dispute if memory.past else None,
        follows=memory.follows,
    )
    return meta, body


def _consistent(memory: Portable, born: int, alive: Sequence[Interval], now: int) -> None:
    moments = [at for life in alive for at in (life.start, life.end) if at is not None]
    ends = [life.end for life in alive]
    past = memory.past
    wrong = (
        ULID.from_str(memory.id.removeprefix("mem_")).milliseconds != born
        or not 0 <= born <= now + CLOCK_SKEW_MS
        or moments != sorted(moments)
        or moments[0] < born
        or moments[-1] > now + CLOCK_SKEW_MS
        or None in ends[:-1]
        or memory.state != _state(memory, alive)
        or (alive[-1].end is None and memory.reason is not None)
        or len(json.dumps(memory.source)) > MAX_SOURCE_BYTES
        or (past is not None and not _is_a_past(past))
    )
    if wrong:
        raise validation_failed(
            "This record contradicts itself (its times, its state, its history or its source's "
            "size): export it again."
        )


def _state(memory: Portable, alive: Sequence[Interval]) -> str:
    if alive[-1].end is None:
        return "live" if memory.superseded_by is None else "none"
    return "invalid" if memory.superseded_by is None else "superseded"


def _is_a_past(past: Past) -> bool:
    ids = [change.id for change in past.changes]
    states = [state or {} for change in past.changes for state in (change.before, change.after)]
    open_dispute = past.dispute is None or past.dispute in {each.id for each in past.disputes}
    return ids == sorted(set(ids)) and all(map(_is_a_state, states)) and open_dispute


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """The fields that an audit record may speak of, and what they hold."""

    scope: str = ""
    owner: str = ""
    alive: tuple[Interval, ...] = ()
    timeline: Literal["knowledge", "loops", "episodes"] | None = None
    invalidated_at: int | None = None
    invalidated_reason: str | None = None
    superseded_by: str | None = None
    checked_at: int | None = None
    shared_to: tuple[str, ...] = ()
    dispute: str | None = None
    link: tuple[Literal["relates_to", "supersedes", "contradicts", "derived_from"], str] | None = (
        None
    )


def _is_a_state(state: dict[str, Any]) -> bool:
    try:
        msgspec.convert(state, _State)
    except msgspec.ValidationError:
        return False
    return True


def _audits(
    caller: Caller, memory: Portable, meta: Meta, to: Destinations, now: int
) -> list[AuditRecord]:
    """The memory's history, oldest first; without one, that it was imported."""
    if memory.past is None:
        return [audit(Change(None, meta, "import"), caller=caller, at=now, conversation=None)]

    def scope(name: str) -> str:
        membership = to.instead if name == memory.scope else None
        membership = membership or to.find(name)
        return ELSEWHERE if membership is None else membership.scope

    records: list[AuditRecord] = []
    for change in memory.past.changes:
        principal = to.principal(change.by)
        records.append(
            AuditRecord(
                memory_id=memory.id,
                audit_id=change.id,
                action=change.action,
                at=moment("at", change.at),
                principal=principal,
                revision=change.revision,
                before=json.dumps(renamed(change.before, scope, to.principal)),
                after=json.dumps(renamed(change.after, scope, to.principal)),
                reason=change.reason,
                conversation=_conversation(change.conversation, principal),
                undoes=change.undoes,
            )
        )
    return records


def _conversation(token: str | None, principal: str) -> str | None:
    return None if token is None else f"{principal}#{token}"


def _main(meta: Meta, body: Body, passage: Passage, last: AuditRecord) -> list[Action]:
    """The memory with all by which it is found, and the newest record of its history."""
    actions = effects(Change(None, meta, last.action), last)
    if meta.body is None:
        actions.append(Put(StoredBody(meta.memory_id, body)))
    actions.append(Put(SearchRecord(meta.scope, meta.memory_id, passage)))
    actions.append(Put(Wording(meta.owner, meta.folded, meta.memory_id)))
    actions += [Put(SharedMemory(each, meta.memory_id, body.entities)) for each in meta.shared_to]
    return actions + mentions(meta.scope, meta.memory_id, distinct_names(body.entities))


class _Beside(Struct, frozen=True):
    """A record that hangs on a memory, and its address."""

    put: Put
    at: Ref[object]


def _beside(
    table: Table, memory: Portable, to: Destinations, audits: Sequence[AuditRecord]
) -> list[_Beside]:
    """The rest of its history, its links and its disputes."""
    records = [_Beside(Put(each), ref(AuditRecord, memory.id, each.audit_id)) for each in audits]
    hidden = hidden_targets(table, to.access, [link.target for link in memory.links])
    for link in memory.links:
        if link.target in hidden or link.target == memory.id or link.type == "supersedes":
            continue
        at = moment("at", link.at)
        there = ref(LinkOut, memory.id, link.type, link.target)
        records.append(_Beside(Put(LinkOut(memory.id, link.type, link.target, at)), there))
        back = ref(LinkIn, link.target, link.type, memory.id)
        records.append(_Beside(Put(LinkIn(link.target, link.type, memory.id, at)), back))
    for doubt in memory.past.disputes if memory.past else ():
        principal = to.principal(doubt.by)
        dispute = Dispute(
            memory_id=memory.id,
            dispute_id=doubt.id,
            raised_at=moment("at", doubt.at),
            principal=principal,
            reason=doubt.reason,
            evidence=doubt.evidence,
            conversation=_conversation(doubt.conversation, principal),
        )
        records.append(_Beside(Put(dispute), ref(Dispute, memory.id, doubt.id)))
    return records


def _commit(
    table: Table, memory_id: str, main: Sequence[Action], beside: Sequence[_Beside]
) -> None:
    room = MAX_ACTIONS - len(main)
    first, rest = beside[:room], beside[room:]
    absent = Check(ref(Meta, memory_id), Absent())
    batches = [
        rest[start : start + MAX_ACTIONS - 1] for start in range(0, len(rest), MAX_ACTIONS - 1)
    ]
    for batch in batches:
        table.transact([absent, *(each.put for each in batch)])
    try:
        table.transact([*main, *(each.put for each in first)])
    except ConditionFailed:
        for batch in batches:
            # What came to be there meanwhile keeps what hangs on it.
            with suppress(ConditionFailed):
                table.transact([absent, *(Delete(each.at) for each in batch)])
        raise
