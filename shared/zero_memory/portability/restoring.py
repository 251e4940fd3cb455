"""Putting an exported memory into a home as it was: same id, same words, same past.

Its authoritative record comes last. What does not fit into one transaction with it comes before,
on the condition that the memory is not there: so that it is there whole, or not at all, and nothing
is ever added to somebody else's memory.
"""

import json
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
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
    AUTHORITY_AGENT,
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
from zero_memory.portability.model import Portable
from zero_memory.portability.names import ELSEWHERE
from zero_memory.portability.pasts import is_a_past, taken_in, targets_of_past
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    MAX_ACTIONS,
    Absent,
    Action,
    Check,
    ConditionFailed,
    Delete,
    LimitExceeded,
    Put,
    Ref,
    Table,
    ref,
)
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Membership
from zero_memory.scopes.visibility import visible

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
        _must_be_consistent(memory, now)
        passage = passage or read_passage(memory, canonical(memory.content))
        hidden = _hidden(table, memory, to)
        meta, body = _rebuilt(
            caller, memory, to=to, scope=scope, hidden=hidden, windows=len(passage.windows)
        )
        audits = _audits(caller, memory, meta, to=to, hidden=hidden, now=now)
        register(table, scope.scope, distinct_names(body.entities))
        main = _main(meta, body, passage, audits[-1])
        beside = _beside(caller, memory, to=to, hidden=hidden, audits=audits[:-1])
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
            if _was_in_sight(last[0], to):
                raise conflict(
                    "This memory was erased here for good; import its text as a new one."
                )
            raise _taken()
        if memory.state != "live":
            return None
        claim = table.get(DuplicateClaim, scope.scope, digest(memory.kind, memory.content))
        return claim and Restored(claim.memory_id, "deduplicated")
    if here.scope not in to.access.by_id:
        raise _taken()
    if here.digest != digest(memory.kind, memory.content):
        raise conflict("This id is here with other words; import the text as a new memory.")
    newest = memory.past.changes[-1].id if memory.past else None
    if newest is not None and table.get(AuditRecord, memory.id, newest) is None:
        raise conflict("This memory has another past here, which is kept; compare memory_history.")
    return Restored(memory.id, "unchanged")


def _taken() -> Exception:
    return conflict("This id is taken; import the text as a new memory.")


def _was_in_sight(tombstone: AuditRecord, to: Destinations) -> bool:
    """Whether the importer may know that a memory was there: by where it was, or who erased it."""
    places: dict[str, Any] = json.loads(tombstone.after)
    by = tombstone.principal.partition(".")[0]
    read_set = to.rights().read_set
    return by == to.person or visible(
        places.get("scope", ""), places.get("shared_to", ()), read_set
    )


def _hidden(table: Table, memory: Portable, to: Destinations) -> frozenset[str]:
    """What a record names and is somebody else's here, whose memories are not to be written at."""
    named = [link.target for link in memory.links]
    named += [] if memory.superseded_by is None else [memory.superseded_by]
    named += [] if memory.past is None else targets_of_past(memory.past)
    return hidden_targets(table, to.access, named)


def _vouched(name: str, caller: Caller, to: Destinations) -> str:
    """The principal of a portable name: the importer, whom nobody vouches for anybody else."""
    principal = to.principal(name)
    return principal if principal.partition(".")[0] == to.person else caller.principal


def _rebuilt(
    caller: Caller,
    memory: Portable,
    *,
    to: Destinations,
    scope: Membership,
    hidden: AbstractSet[str],
    windows: int,
) -> tuple[Meta, Body]:
    """The records of a memory."""
    born, alive = moment("created_at", memory.created_at), _lives(memory)
    author = _vouched(memory.author, caller, to)
    own = author == to.principal(memory.author)
    ended = alive[-1].end
    body = Body(
        content=memory.content,
        original=memory.original,
        language=memory.language,
        entities=memory.entities,
        agent_name=memory.agent_name,
        source_json=None if memory.source is None else json.dumps(memory.source),
    )
    inline = len(msgspec.json.encode(body)) <= INLINE_BODY_BYTES
    shared = {each.scope: each for each in map(to.find, memory.shared_to) if each is not None}
    meta = Meta(
        memory_id=memory.id,
        scope=scope.scope,
        owner=scope.owner,
        author=author,
        author_kind=memory.author_kind if own else "agent",
        kind=memory.kind,
        authority=memory.authority if own else min(memory.authority, AUTHORITY_AGENT),
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
        superseded_by=None if memory.superseded_by in hidden else memory.superseded_by,
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


def _lives(memory: Portable) -> tuple[Interval, ...]:
    return tuple(
        Interval(
            moment("alive", life.start), None if life.end is None else moment("alive", life.end)
        )
        for life in memory.alive
    )


def _must_be_consistent(memory: Portable, now: int) -> None:
    """Raises Refusal `validation_failed` for a record that contradicts itself."""
    born, alive = moment("created_at", memory.created_at), _lives(memory)
    links = [(link.type, link.target) for link in memory.links]
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
        or memory.superseded_by == memory.id
        or len(set(links)) < len(links)
        or (past is not None and not is_a_past(past))
    )
    if wrong:
        raise validation_failed(
            "This record contradicts itself (its times, its state, its links, its history or its "
            "source's size): export it again."
        )


def _state(memory: Portable, alive: Sequence[Interval]) -> str:
    if alive[-1].end is None:
        return "live" if memory.superseded_by is None else "none"
    return "invalid" if memory.superseded_by is None else "superseded"


def _audits(
    caller: Caller,
    memory: Portable,
    meta: Meta,
    *,
    to: Destinations,
    hidden: AbstractSet[str],
    now: int,
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
        principal = _vouched(change.by, caller, to)
        before, after = taken_in(memory.id, change, scope_of=scope, to=to, hidden=hidden)
        records.append(
            AuditRecord(
                memory_id=memory.id,
                audit_id=change.id,
                action=change.action,
                at=moment("at", change.at),
                principal=principal,
                revision=change.revision,
                before=before,
                after=after,
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
    caller: Caller,
    memory: Portable,
    *,
    to: Destinations,
    hidden: AbstractSet[str],
    audits: Sequence[AuditRecord],
) -> list[_Beside]:
    """The rest of its history, its links and its disputes."""
    records = [_Beside(Put(each), ref(AuditRecord, memory.id, each.audit_id)) for each in audits]
    for link in memory.links:
        if link.target in hidden or link.target == memory.id or link.type == "supersedes":
            continue
        at = moment("at", link.at)
        there = ref(LinkOut, memory.id, link.type, link.target)
        records.append(_Beside(Put(LinkOut(memory.id, link.type, link.target, at)), there))
        back = ref(LinkIn, link.target, link.type, memory.id)
        records.append(_Beside(Put(LinkIn(link.target, link.type, memory.id, at)), back))
    for doubt in memory.past.disputes if memory.past else ():
        principal = _vouched(doubt.by, caller, to)
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
    there: list[Sequence[_Beside]] = []
    try:
        for batch in batches:
            table.transact([absent, *(each.put for each in batch)])
            there.append(batch)
        table.transact([*main, *(each.put for each in first)])
    except (ConditionFailed, LimitExceeded):
        for batch in there:
            # What came to be there meanwhile keeps what hangs on it.
            with suppress(ConditionFailed):
                table.transact([absent, *(Delete(each.at) for each in batch)])
        raise
