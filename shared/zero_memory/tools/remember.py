"""The tool `remember`."""

import json
from collections.abc import Iterator

from zero_memory.contracts.errors import not_found, validation_failed
from zero_memory.contracts.kinds import LinkType
from zero_memory.contracts.memory import (
    LengthDirective,
    RememberArguments,
    RememberResult,
    SimilarMemory,
    SkippedSupersede,
)
from zero_memory.contracts.model import MAX_SOURCE_BYTES, MAX_SUPERSEDES, MAX_WINDOWS
from zero_memory.memory.ages import age
from zero_memory.memory.canonical import canonical
from zero_memory.memory.guard import refuse_secrets, text_leaves
from zero_memory.memory.history import cut_of
from zero_memory.memory.model import Meta
from zero_memory.memory.preview import preview
from zero_memory.memory.reading import load_visible, readable_memories, with_bodies
from zero_memory.memory.write import (
    Destination,
    Draft,
    Idempotency,
    Submission,
    Written,
    must_fit,
    remember,
    request_hash,
)
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.similar import similar_to
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.hints import strip_credentials
from zero_memory.scopes.session import WriteTarget, write_target
from zero_memory.scopes.visibility import ReadSet, seen_in
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool

_SIMILAR_SHOWN = 10
_PREVIEW = 120
_SIMILAR_HINT = (
    "If this corrects one of these, remember it again with that id in supersedes; "
    "if it says the same, forget one."
)
_SAMPLED = (
    "It is found by all of its words, but by its meaning only in parts at equal distances: it has "
    "more windows than are embedded. "
)
_ANCHOR_HINT = "Name in entities what this decision is about, so that it is found with it."


def run(services: Services, caller: Caller, arguments: RememberArguments) -> RememberResult:
    """Store one memory, or find the one that says it already."""
    _refuse_shape(arguments)
    # Before the text reaches a model, the index or the table.
    refuse_secrets(_texts(arguments))
    standing = stand(
        services,
        caller,
        project_hint=arguments.project_hint,
        thread=arguments.thread,
        write=True,
    )
    target = write_target(
        services.table,
        services.clock,
        standing.access,
        standing.session,
        scope=arguments.scope,
        kind=arguments.kind,
    )
    standing = standing.with_project(target.scope)
    written = remember(
        services.table,
        services.clock,
        _submission(caller, arguments, standing, target),
        lambda text: read_passage(services.embedder, text),
    )
    result = _answer(services, arguments, standing, target, written)
    if "memory:read" not in caller.grants:
        return result.model_copy(update={"similar_existing": [], "hint": None})
    return result


def _refuse_shape(arguments: RememberArguments) -> None:
    must_fit(arguments.kind, arguments.content)
    if len(_source_json(arguments) or "") > MAX_SOURCE_BYTES:
        raise validation_failed(
            f"source has at most {MAX_SOURCE_BYTES:,} bytes as JSON: point to what is longer."
        )
    if len(_declared(arguments)) > MAX_SUPERSEDES:
        raise validation_failed(
            f"supersedes, and links of that type, name at most {MAX_SUPERSEDES} memories together; "
            "supersede the rest with link."
        )


def _source_json(arguments: RememberArguments) -> str | None:
    return json.dumps(arguments.source) if arguments.source is not None else None


def _declared(arguments: RememberArguments) -> tuple[str, ...]:
    """The memories that the call supersedes: a link of that type declares it too."""
    linked = (link.target for link in arguments.links or () if link.type == "supersedes")
    return tuple(dict.fromkeys((*(arguments.supersedes or ()), *linked)))


def _texts(arguments: RememberArguments) -> Iterator[tuple[str, str]]:
    """Every text of the call that would be stored or looked up."""
    named = {
        "content": arguments.content,
        "original": arguments.original,
        "language": arguments.language,
        "agent_name": arguments.agent_name,
        "scope": arguments.scope,
        "thread": arguments.thread,
        "idempotency_key": arguments.idempotency_key,
        "project_hint": arguments.project_hint and strip_credentials(arguments.project_hint),
    }
    yield from ((name, text) for name, text in named.items() if text)
    yield from (("entities", name) for name in arguments.entities or ())
    yield from text_leaves("source", arguments.source)


def _submission(
    caller: Caller, arguments: RememberArguments, standing: Standing, target: WriteTarget
) -> Submission:
    links: list[tuple[LinkType, str]] = [(link.type, link.target) for link in arguments.links or ()]
    once = None
    if arguments.idempotency_key is not None:
        request = request_hash(arguments.model_dump(mode="json"))
        once = Idempotency(TOOL.name, arguments.idempotency_key, request)
    return Submission(
        actor=standing.actor(caller),
        draft=Draft(
            content=arguments.content,
            kind=arguments.kind,
            entities=tuple(arguments.entities or ()),
            supersedes=_declared(arguments),
            links=tuple(each for each in links if each[0] != "supersedes"),
            original=arguments.original,
            language=arguments.language,
            source_json=_source_json(arguments),
            agent_name=arguments.agent_name,
        ),
        to=Destination(target.scope.scope, target.scope.owner),
        once=once,
    )


def _answer(
    services: Services,
    arguments: RememberArguments,
    standing: Standing,
    target: WriteTarget,
    written: Written,
) -> RememberResult:
    read_set = standing.rights().read_set
    memories = with_bodies(
        services.table,
        list(load_visible(services.table, [written.memory_id], read_set).values()),
    )
    if not memories:
        raise not_found("What this call stored is no longer there, or no longer yours to read.")
    memory = memories[0]
    settled = bool(written.deduplicated or written.superseded or written.skipped)
    similar = [] if settled else _similar(services, standing, target, memory.meta)
    decision = memory.meta.kind == "decision" and not memory.body.entities
    return RememberResult(
        id=memory.meta.memory_id,
        scope=seen_in(memory.meta.scope, memory.meta.shared_to, read_set) or "",
        deduplicated=written.deduplicated,
        routed_to_project=target.routed_to_project,
        routing_reason=target.reason,
        anchors=list(memory.body.entities),
        superseded=list(written.superseded),
        skipped_supersedes=[
            SkippedSupersede(id=memory_id, reason=reason) for memory_id, reason in written.skipped
        ],
        similar_existing=similar,
        hint=_SIMILAR_HINT if similar else None,
        anchor_hint=_ANCHOR_HINT if decision else None,
        status_hint=_status(services, standing, memory.meta, written),
        length_directive=_length(services, arguments, written),
        session=standing.state(),
    )


def _status(services: Services, standing: Standing, meta: Meta, written: Written) -> str | None:
    """What to say of a task that was cut again; nothing of a first cut, or of a question."""
    if meta.kind != "task" or not written.superseded:
        return None
    cut = cut_of(services.table, standing.rights(), meta)
    if cut == 1:
        return None
    return (
        f"This is cut {cut} of this task. A loop says what is left to do; keep running status "
        "where the work is tracked, not in new cuts."
    )


def _length(
    services: Services, arguments: RememberArguments, written: Written
) -> LengthDirective | None:
    if written.windows == 1:
        return None
    windows = written.windows
    if windows == MAX_WINDOWS:
        windows = len(services.embedder.windows(canonical(arguments.content)))
    sampled = _SAMPLED if windows > written.windows else ""
    return LengthDirective(
        characters=len(arguments.content),
        windows=windows,
        embedded=written.windows,
        advice=f"{sampled}Split this into one memory a statement; each is found better alone.",
    )


def _similar(
    services: Services, standing: Standing, target: WriteTarget, meta: Meta
) -> list[SimilarMemory]:
    """The owner's nearest live memories, of this scope and the caller's personal layer."""
    access = standing.access
    near = (target.scope, access.personal, access.core)
    read_set = ReadSet({each.scope: each.path for each in near})
    metas = similar_to(
        services.table,
        services.index,
        services.clock,
        meta=meta,
        read_set=read_set,
        ranking=services.ranking,
        limit=_SIMILAR_SHOWN,
    )
    memories, _ = readable_memories(services.table, metas)
    now = services.clock.now()
    return [
        SimilarMemory(
            id=memory.meta.memory_id,
            kind=memory.meta.kind,
            scope=seen_in(memory.meta.scope, memory.meta.shared_to, read_set) or "",
            age=age(memory.meta.created_at, now),
            preview=preview(memory.body.content, _PREVIEW)[0],
        )
        for memory in memories
    ]


TOOL = Tool(
    name="remember",
    title="Remember",
    description=(
        "Remember one fact, decision, preference, convention, gotcha, reference or piece of "
        "unfinished work for every later session, on every machine. Write one self-contained "
        "statement in English, with its why, at the moment you learn it; never secrets, never a "
        "transcript. Pass project_hint on the first call and thread on every call. A new "
        "truth names what it replaces in supersedes; for better words alone use revise."
    ),
    input=RememberArguments,
    output=RememberResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=False),
    grant="memory:write",
    needs=frozenset(("table", "index", "embedder")),
    run=run,
)
