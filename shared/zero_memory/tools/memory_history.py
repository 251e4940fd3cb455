"""The tool `memory_history`."""

import json
from collections.abc import Mapping
from typing import Any

from zero_memory.contracts.lifecycle import (
    AuditEntry,
    DisputeView,
    HistoryArguments,
    HistoryResult,
    LifeSpan,
    LinkEnd,
    Version,
)
from zero_memory.memory.ages import timestamp
from zero_memory.memory.history import History, history
from zero_memory.memory.model import AuditRecord, Dispute
from zero_memory.memory.preview import preview
from zero_memory.memory.reading import Memory, load_readable
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.cursors import seal, seal_key_of, unseal
from zero_memory.scopes.people import shown_people
from zero_memory.scopes.visibility import ReadSet, seen_in, shown_places
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool

_PREVIEW = 300
_TIMES = ("invalidated_at", "checked_at")
# Where a memory lives is the business of its scope's members, and owners are.
_OF_PLACES = ("owner", "timeline")


def run(services: Services, caller: Caller, arguments: HistoryArguments) -> HistoryResult:
    """What became of a memory."""
    rights = stand(services, caller, thread=arguments.thread).rights()
    query: dict[str, object] = {"memory_id": arguments.memory_id}
    after = None
    if arguments.cursor is not None:
        key = seal_key_of(services.table, caller.person)
        after = unseal(arguments.cursor, key=key, query=query)
    found = history(services.table, rights, arguments.memory_id, after=after, limit=arguments.limit)
    cursor = None
    if found.next is not None:
        key = seal_key_of(services.table, caller.person)
        cursor = seal(found.next, key=key, query=query)
    seen, _ = load_readable(services.table, _named(found), rights.read_set)
    people = shown_people(services.table, _people(found))
    return _answer(found, rights.read_set, frozenset(seen), people, cursor)


def _people(found: History) -> list[str]:
    """Everybody whom the history names."""
    named = [each.principal for each in found.audits]
    named += [memory.meta.author for memory in found.versions]
    return [*named, found.dispute.principal] if found.dispute else named


def _named(found: History) -> list[str]:
    """The other memories that the states of this one name."""
    states = (json.loads(state) for each in found.audits for state in (each.before, each.after))
    named = [state.get(name) for state in states if state for name in ("superseded_by", "link")]
    named += [memory.meta.superseded_by for memory in found.versions]
    return [each[1] if isinstance(each, list) else each for each in named if each is not None]


def _answer(
    found: History,
    read_set: ReadSet,
    seen: frozenset[str],
    people: Mapping[str, str],
    cursor: str | None,
) -> HistoryResult:
    meta = found.meta
    return HistoryResult(
        id=meta.memory_id,
        scope=seen_in(meta.scope, meta.shared_to, read_set) or "",
        live=meta.live,
        lives=[LifeSpan(start=timestamp(life.start), end=_time(life.end)) for life in meta.alive],
        versions=[_version(memory, read_set, seen, people) for memory in found.versions],
        links=[LinkEnd(type=each.link, id=each.target) for each in found.links_out],
        linked_from=[LinkEnd(type=each.link, id=each.source) for each in found.links_in],
        dispute=_dispute(found.dispute, people) if found.dispute else None,
        audit=[_entry(record, read_set, seen, people) for record in found.audits],
        cursor=cursor,
    )


def _time(at: int | None) -> str | None:
    return None if at is None else timestamp(at)


def _version(
    memory: Memory, read_set: ReadSet, seen: frozenset[str], people: Mapping[str, str]
) -> Version:
    meta = memory.meta
    text, truncated = preview(memory.body.content, _PREVIEW)
    return Version(
        id=meta.memory_id,
        kind=meta.kind,
        scope=seen_in(meta.scope, meta.shared_to, read_set) or "",
        preview=text,
        truncated=truncated,
        author=people[meta.author],
        created_at=timestamp(meta.created_at),
        live=meta.live,
        superseded_by=meta.superseded_by if meta.superseded_by in seen else None,
        disputed=True if meta.dispute else None,
    )


def _dispute(dispute: Dispute, people: Mapping[str, str]) -> DisputeView:
    return DisputeView(
        id=dispute.dispute_id,
        raised_at=timestamp(dispute.raised_at),
        raised_by=people[dispute.principal],
        reason=dispute.reason,
        evidence=dispute.evidence,
    )


def _entry(
    record: AuditRecord, read_set: ReadSet, seen: frozenset[str], people: Mapping[str, str]
) -> AuditEntry:
    return AuditEntry(
        audit_id=record.audit_id,
        action=record.action,
        at=timestamp(record.at),
        by=people[record.principal],
        revision=record.revision,
        reason=record.reason,
        undoes=record.undoes,
        before=_shown(json.loads(record.before), read_set, seen),
        after=_shown(json.loads(record.after), read_set, seen) or {},
    )


def _shown(
    state: dict[str, Any] | None, read_set: ReadSet, seen: frozenset[str]
) -> dict[str, Any] | None:
    """A recorded state as people read it: times in words, and nothing that they may not see."""
    if state is None:
        return None
    shown = {name: value for name, value in state.items() if name not in _OF_PLACES}
    if "scope" in shown:
        shown["scope"] = read_set.paths.get(shown["scope"])
    if "shared_to" in shown:
        shown["shared_to"] = shown_places(shown["shared_to"], read_set)
    if shown.get("superseded_by") not in seen and "superseded_by" in shown:
        shown["superseded_by"] = None
    if shown.get("link") is not None and shown["link"][1] not in seen:
        shown["link"] = [shown["link"][0], None]
    if "alive" in shown:
        shown["alive"] = [
            {"start": timestamp(life["start"]), "end": _time(life.get("end"))}
            for life in shown["alive"]
        ]
    for name in _TIMES:
        if name in shown:
            shown[name] = _time(shown[name])
    return shown


TOOL = Tool(
    name="memory_history",
    title="History of a memory",
    description=(
        "Show what became of one memory: when it was live, the versions that superseded each "
        "other, its links, an open dispute, and every change with who made it, when and why. The "
        "audit_id of a change is what restore_memory undoes it by."
    ),
    input=HistoryArguments,
    output=HistoryResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table",)),
    run=run,
)
