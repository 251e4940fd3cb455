"""The write path behind `remember`: deduplicate, then commit everything in one transaction.

The caller of `remember` has validated the draft, guarded it and resolved its scope.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import conflict, forbidden, not_found, validation_failed
from zero_memory.contracts.kinds import LinkType
from zero_memory.contracts.model import MAX_LOOP_CHARACTERS
from zero_memory.memory.apart import apart
from zero_memory.memory.canonical import canonical, digest, folded_digest
from zero_memory.memory.commit import effects, link_actions
from zero_memory.memory.entities import distinct_names, mentions, register, spoken_of
from zero_memory.memory.ids import new_memory_id
from zero_memory.memory.lifecycle import Change, LinkStep, audit, invalidate
from zero_memory.memory.model import (
    AUTHORITY_AGENT,
    AUTHORITY_PROVISIONAL,
    FOLLOWED,
    LOOP_KINDS,
    AnswerPointer,
    AuditRecord,
    AuthorKind,
    Body,
    DuplicateClaim,
    IdempotentAnswer,
    Interval,
    Kind,
    Meta,
    Passage,
    SearchRecord,
    SharedMemory,
    StoredBody,
    Wording,
    timeline_of,
)
from zero_memory.memory.reading import load_visible
from zero_memory.memory.rights import Actor
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Absent,
    Action,
    Check,
    ConditionFailed,
    DamagedRecord,
    Present,
    Put,
    RevisionIs,
    Table,
    ref,
)
from zero_memory.scopes.model import Membership
from zero_memory.scopes.visibility import visible

_NO_WRITER = "You may not write to this scope; ask one of its admins, or name another scope."

SkipReason = Literal["dead", "missing", "self"]

_ATTEMPTS = 8
# Ten declared targets and one restatement; with all else that a write may hold, a transaction is
# full. Restatements beyond are older ones that were restored on purpose.
_MOST_RETIRED = 11
_WORDINGS_READ = 50
_ANSWER_KEPT_SECONDS = 7 * 24 * 3600
# A body up to this size rides in the memory's own record: one read instead of two.
INLINE_BODY_BYTES = 600


class Draft(Struct, frozen=True):
    """What somebody asks to be remembered.

    `source_json` is their `source` as JSON text. `gesture` is what the audit calls the end of a
    superseded memory; `all_or_none` fails the write unless all of them end. `inherited_links` and
    `shared_to` come from a predecessor, whatever the caller may see of their targets and scopes.
    `follows` are the memories that it stands behind, the nearest first; None: what was written last
    in its scope.
    """

    content: str
    kind: Kind = "fact"
    entities: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    links: tuple[tuple[LinkType, str], ...] = ()
    original: str | None = None
    language: str | None = None
    source_json: str | None = None
    agent_name: str | None = None
    author_kind: AuthorKind = "agent"
    authority: int = AUTHORITY_AGENT
    valid_from: int | None = None
    gesture: Literal["supersede", "revise", "close"] = "supersede"
    all_or_none: bool = False
    inherited_links: tuple[tuple[LinkType, str], ...] = ()
    shared_to: tuple[str, ...] = ()
    follows: tuple[str, ...] | None = None


class Destination(Struct, frozen=True):
    """Where a draft goes: the scope and its owner."""

    scope: str
    owner: str


class Idempotency(Struct, frozen=True):
    """A call that happens once: its tool, its key, and the hash of its arguments."""

    tool: str
    key: str
    request: str


class Submission(Struct, frozen=True):
    """A draft with its writer and its destination."""

    actor: Actor
    draft: Draft
    to: Destination
    once: Idempotency | None = None


class Written(Struct, frozen=True):
    """What a write did. `memory_id` is the new memory, or the one that absorbed the draft.

    `audits` are the records of the ends of the `superseded`, in their order.
    """

    memory_id: str
    deduplicated: bool = False
    superseded: tuple[str, ...] = ()
    skipped: tuple[tuple[str, SkipReason], ...] = ()
    windows: int = 1
    audits: tuple[str, ...] = ()


class _Findings(Struct, frozen=True):
    """What the table says of a draft: who says the same, what its targets are, what it follows.

    `inherited` are those of its links whose other end is still there.
    """

    exact: Meta | None
    same_wording: tuple[Meta, ...]
    targets: Mapping[str, Meta | None]
    follows: tuple[str, ...]
    inherited: tuple[tuple[LinkType, str], ...]


def must_fit(kind: Kind, content: str) -> None:
    """Raises Refusal `validation_failed` for a loop that is a payload rather than a pointer."""
    if kind in LOOP_KINDS and len(content) > MAX_LOOP_CHARACTERS:
        raise validation_failed(
            f"A loop has at most {MAX_LOOP_CHARACTERS:,} characters: store the details in a file "
            "or page, and remember a summary with its path or URL."
        )


def request_hash(arguments: Mapping[str, object]) -> str:
    """The SHA-256 of a call's arguments, whatever their order."""
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def remember(
    table: Table, clock: Clock, submission: Submission, read_passage: Callable[[str], Passage]
) -> Written:
    """Store a draft, or find the memory that already says it; all or nothing.

    `read_passage` embeds and analyses the canonical text. Raises Refusal: `not_found` for a link
    or supersede target that the caller may not see, `forbidden` for a scope or target that it may
    not change, `conflict` when the key was used for another request or others kept changing the
    same memories.
    """
    draft, to = submission.draft, submission.to
    if to.scope not in submission.actor.rights.writable:
        raise forbidden(_NO_WRITER)
    if draft.authority == AUTHORITY_PROVISIONAL and draft.supersedes:
        raise forbidden("A provisional capture can't supersede; write it with remember instead.")
    passage: Passage | None = None
    entities: dict[str, str] | None = None
    for _ in range(_ATTEMPTS):
        earlier = _earlier_answer(table, submission)
        if earlier is not None:
            return earlier
        now = clock.now()
        findings = _look(table, submission)
        absorber = _absorber(submission, findings)
        if absorber is not None:
            written, actions = _absorb(submission, findings, absorber, now)
        else:
            if passage is None or entities is None:
                passage = read_passage(canonical(draft.content))
                _refuse_former_writer(table, submission)
                entities = distinct_names(draft.entities) or spoken_of(
                    table, to.scope, draft.content
                )
            written, actions = _create(submission, findings, passage, entities, now)
        answered = _answered(submission, written, now)
        actions += [each for each in answered if each not in actions]
        if not actions:
            return written
        if absorber is None and entities:
            register(table, to.scope, entities)
        try:
            table.transact(actions)
        except ConditionFailed:
            continue
        return written
    raise conflict("The memories that this write touches keep changing; read them and try again.")


def _refuse_former_writer(table: Table, submission: Submission) -> None:
    """Raises Refusal `forbidden` for who was removed while the text was embedded, for seconds."""
    membership = table.get(Membership, submission.actor.caller.person, submission.to.scope)
    if membership is None or membership.role == "reader":
        raise forbidden(_NO_WRITER)


def _earlier_answer(table: Table, submission: Submission) -> Written | None:
    once = submission.once
    if once is None:
        return None
    kept = table.get(IdempotentAnswer, submission.actor.caller.principal, once.tool, once.key)
    if kept is None:
        return None
    if kept.request != once.request:
        raise conflict(
            "This idempotency_key was used for other arguments; use a fresh key for a new write."
        )
    return msgspec.json.decode(kept.result, type=Written)


def _answered(submission: Submission, written: Written, now: int) -> list[Action]:
    """The answer for repeats, and what finds it when a memory that it names is erased.

    Targets that were retired find it through their successor.
    """
    once = submission.once
    if once is None:
        return []
    principal = submission.actor.caller.principal
    expires_at = now // 1000 + _ANSWER_KEPT_SECONDS
    result = msgspec.json.encode(written).decode()
    kept = [target for target, reason in written.skipped if reason == "dead"]
    if written.deduplicated and not written.superseded:
        kept.append(written.memory_id)
    return [
        Put(
            IdempotentAnswer(principal, once.tool, once.key, once.request, result, expires_at),
            Absent(),
        ),
        *(
            Put(AnswerPointer(named, principal, once.tool, once.key, expires_at))
            for named in dict.fromkeys((*kept, written.memory_id))
        ),
        # Erased meanwhile, nothing would find the answer again.
        *(Check(ref(Meta, each), Present()) for each in kept),
    ]


def _look(table: Table, submission: Submission) -> _Findings:
    draft, to, read_set = submission.draft, submission.to, submission.actor.rights.read_set
    claim = table.get(DuplicateClaim, to.scope, digest(draft.kind, draft.content))
    wordings = table.query(
        Wording,
        to.owner,
        folded_digest(draft.kind, draft.content),
        limit=_WORDINGS_READ,
        newest_first=True,
    ).records
    follows = draft.follows
    if follows is None:
        # By their keys alone: who can't be read must not keep others from being written.
        follows = table.keys(SearchRecord, to.scope, limit=FOLLOWED, newest_first=True).records
    linked = {target for _, target in draft.links}
    inherited = {target for _, target in draft.inherited_links}
    wanted = {
        *([claim.memory_id] if claim else []),
        *(wording.memory_id for wording in wordings),
        *draft.supersedes,
        *linked,
        *inherited,
    }
    metas = _metas(table, wanted, submission)
    for memory_id in (*draft.supersedes, *linked):
        meta = metas[memory_id]
        foreign = meta is not None and not visible(meta.scope, meta.shared_to, read_set)
        if foreign or (meta is None and memory_id in linked):
            raise not_found("A supersede or link target does not exist; check the ids.")
    same_wording = (metas[wording.memory_id] for wording in wordings)
    return _Findings(
        exact=metas[claim.memory_id] if claim else None,
        same_wording=tuple(
            meta
            for meta in same_wording
            if meta is not None and meta.live and visible(meta.scope, meta.shared_to, read_set)
        ),
        targets={target: metas[target] for target in draft.supersedes},
        follows=follows[:FOLLOWED],
        inherited=tuple(each for each in draft.inherited_links if metas[each[1]] is not None),
    )


def _metas(
    table: Table, memory_ids: AbstractSet[str], submission: Submission
) -> dict[str, Meta | None]:
    """These memories, None for one that is not there.

    Of damaged ones, those that the caller can't see are as if they were not there either.
    """

    def read(some: Sequence[str]) -> list[Meta]:
        found = table.get_many([ref(Meta, memory_id) for memory_id in some])
        return [meta for meta in found if meta is not None]

    found, damaged = apart(read, list(memory_ids), fault=DamagedRecord)
    load_visible(table, damaged, submission.actor.rights.read_set)
    return dict.fromkeys(memory_ids) | {meta.memory_id: meta for meta in found}


def _absorber(submission: Submission, findings: _Findings) -> Meta | None:
    """The memory that already says this with at least the draft's authority, if there is one."""
    if findings.exact is not None and findings.exact.live:
        return findings.exact
    exactly = digest(submission.draft.kind, submission.draft.content)
    for meta in findings.same_wording:
        # Its key was claimed between the two reads.
        if meta.digest == exactly and meta.scope == submission.to.scope:
            return meta
        if _restated(submission, meta) and submission.draft.authority < meta.authority:
            return meta
        if (
            submission.draft.authority == AUTHORITY_PROVISIONAL
            and meta.authority > AUTHORITY_PROVISIONAL
        ):
            return meta
    return None


def _restated(submission: Submission, meta: Meta) -> bool:
    """Whether the draft repeats this memory of its own scope in the same conversation."""
    conversation = submission.actor.conversation
    return (
        conversation is not None
        and meta.conversation == conversation
        and meta.scope == submission.to.scope
    )


def _retirements(
    submission: Submission, findings: _Findings, successor: str, now: int
) -> tuple[list[Change], list[tuple[str, SkipReason]]]:
    """The declared targets' ends, and the targets that stay as they are."""
    draft = submission.draft
    changes: list[Change] = []
    skipped: list[tuple[str, SkipReason]] = []
    for target, meta in findings.targets.items():
        if target == successor:
            skipped.append((target, "self"))
        elif draft.all_or_none and (meta is None or not meta.live):
            raise conflict("This memory no longer holds; read it again, it may have a successor.")
        elif meta is None:
            skipped.append((target, "missing"))
        elif meta.scope not in submission.actor.rights.writable:
            raise forbidden(
                "You may read a memory that you supersede but not change it; "
                "ask a writer of its scope, or store yours without supersedes."
            )
        elif not meta.live:
            skipped.append((target, "dead"))
        else:
            changes.append(_retire(meta, successor, draft.gesture, now))
    return changes, skipped


def _retire(meta: Meta, successor: str, action: str, now: int) -> Change:
    after = invalidate(meta, at=now, reason=None, superseded_by=successor)
    return Change(meta, after, action)


def _written(
    memory_id: str,
    changes: Sequence[Change],
    skipped: Sequence[tuple[str, SkipReason]],
    records: Sequence[AuditRecord],
    *,
    deduplicated: bool,
    windows: int,
) -> Written:
    return Written(
        memory_id=memory_id,
        deduplicated=deduplicated,
        superseded=tuple(change.after.memory_id for change in changes),
        skipped=tuple(skipped),
        windows=windows,
        audits=tuple(record.audit_id for record in records),
    )


def _absorb(
    submission: Submission, findings: _Findings, absorber: Meta, now: int
) -> tuple[Written, list[Action]]:
    changes, skipped = _retirements(submission, findings, absorber.memory_id, now)
    # Undone, another gesture takes back what it wrote; the absorber's words are its own.
    changes = [replace(change, action="supersede") for change in changes]
    records = [_audit(submission, change, now) for change in changes]
    actions: list[Action] = []
    if changes:
        # What it supersedes must not be retired in favour of a memory that just died.
        actions.append(Check(ref(Meta, absorber.memory_id), RevisionIs(absorber.revision)))
        actions.extend(_retiring(changes, records))
    written = _written(
        absorber.memory_id, changes, skipped, records, deduplicated=True, windows=absorber.windows
    )
    return written, actions


def _retiring(changes: Sequence[Change], records: Sequence[AuditRecord]) -> Iterator[Action]:
    for change, record in zip(changes, records, strict=True):
        yield from effects(change, record)


def _audit(submission: Submission, change: Change, now: int) -> AuditRecord:
    actor = submission.actor
    return audit(change, caller=actor.caller, at=now, conversation=actor.conversation)


def _create(
    submission: Submission,
    findings: _Findings,
    passage: Passage,
    entities: Mapping[str, str],
    now: int,
) -> tuple[Written, list[Action]]:
    draft, to = submission.draft, submission.to
    memory_id = new_memory_id(now)
    changes, skipped = _retirements(submission, findings, memory_id, now)
    declared = {change.after.memory_id for change in changes}
    restated = [
        _retire(meta, memory_id, "restate", now)
        for meta in findings.same_wording
        if _restated(submission, meta) and meta.memory_id not in declared
    ]
    changes += restated[: _MOST_RETIRED - len(changes)]
    body = Body(
        content=draft.content,
        original=draft.original,
        language=draft.language,
        entities=tuple(entities.values()),
        agent_name=draft.agent_name,
        source_json=draft.source_json,
    )
    inline = len(msgspec.json.encode(body)) <= INLINE_BODY_BYTES
    meta = Meta(
        memory_id=memory_id,
        scope=to.scope,
        owner=to.owner,
        author=submission.actor.caller.principal,
        author_kind=draft.author_kind,
        kind=draft.kind,
        authority=draft.authority,
        created_at=now,
        valid_from=now if draft.valid_from is None else draft.valid_from,
        alive=(Interval(now),),
        revision=1,
        digest=digest(draft.kind, draft.content),
        folded=folded_digest(draft.kind, draft.content),
        windows=len(passage.windows),
        timeline=timeline_of(draft.kind),
        conversation=submission.actor.conversation,
        thread=submission.actor.thread,
        body=body if inline else None,
        shared_to=draft.shared_to,
        follows=findings.follows,
    )
    birth = Change(None, meta, "remember")
    actions = effects(birth, _audit(submission, birth, now))
    if not inline:
        actions.append(Put(StoredBody(memory_id, body)))
    actions.append(Put(SearchRecord(to.scope, memory_id, passage)))
    actions.append(Put(Wording(to.owner, meta.folded, memory_id)))
    actions.extend(mentions(to.scope, memory_id, entities))
    actions.extend(Put(SharedMemory(scope, memory_id, body.entities)) for scope in draft.shared_to)
    retired = {change.after.memory_id for change in changes}
    links = dict.fromkeys((*draft.links, *findings.inherited))
    actions.extend(_links(links, memory_id, now, written_anyway=retired))
    records = [_audit(submission, change, now) for change in changes]
    actions.extend(_retiring(changes, records))
    written = _written(
        memory_id, changes, skipped, records, deduplicated=False, windows=len(passage.windows)
    )
    return written, actions


def _links(
    links: Iterable[tuple[LinkType, str]],
    memory_id: str,
    now: int,
    *,
    written_anyway: AbstractSet[str],
) -> list[Action]:
    actions: list[Action] = []
    for link, target in links:
        actions += link_actions(memory_id, LinkStep(link, target, added=True), now)
    targets = {target for _, target in links} - written_anyway
    actions.extend(Check(ref(Meta, target), Present()) for target in targets)
    return actions
