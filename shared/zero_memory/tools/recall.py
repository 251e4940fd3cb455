"""The tool `recall`."""

import re

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.memory import (
    Hit,
    LegRank,
    RecallArguments,
    RecallResult,
)
from zero_memory.memory.ages import age, last_moment, timestamp
from zero_memory.memory.canonical import canonical
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.model import Body
from zero_memory.memory.reading import load_readable, readable_memories, seen_successors
from zero_memory.memory.staleness import stale_days
from zero_memory.retrieval.excerpt import excerpt
from zero_memory.retrieval.gather import Query
from zero_memory.retrieval.recall import Ranked, ask, recall
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.hints import strip_credentials
from zero_memory.scopes.people import shown_people
from zero_memory.scopes.visibility import ReadSet, is_shared_into, seen_in
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool
from zero_memory.tools.whole import whole

_EXCERPT = 600
_ONE_ID = re.compile(r"\s*(mem_[0-9A-HJKMNP-TV-Z]{26})\s*")


def run(services: Services, caller: Caller, arguments: RecallArguments) -> RecallResult:
    """Find the memories that bear on a query, or answer memories whole by id."""
    refuse_secrets(
        (name, text)
        for name, text in (
            ("query", arguments.query),
            ("project_hint", strip_credentials(arguments.project_hint or "")),
        )
        if text
    )
    standing = stand(services, caller, project_hint=arguments.project_hint, thread=arguments.thread)
    ids = _ids(arguments)
    if ids is not None:
        return _by_id(services, standing, ids)
    return _by_query(services, standing, arguments)


def _ids(arguments: RecallArguments) -> list[str] | None:
    """The ids to answer whole; None for a query."""
    if (arguments.query is None) == (arguments.ids is None):
        raise validation_failed("Pass either query, to search, or ids, to read memories whole.")
    if arguments.ids is not None:
        return list(dict.fromkeys(arguments.ids))
    one = _ONE_ID.fullmatch(arguments.query or "")
    return [one[1]] if one else None


def _by_id(services: Services, standing: Standing, ids: list[str]) -> RecallResult:
    read_set = standing.rights().read_set
    metas, damaged = load_readable(services.table, ids, read_set)
    memories, wordless = readable_memories(
        services.table, [metas[memory_id] for memory_id in ids if memory_id in metas]
    )
    unreadable = {*damaged, *wordless}
    told = {*unreadable, *(memory.meta.memory_id for memory in memories)}
    successors = seen_successors(services.table, metas.values(), read_set)
    people = shown_people(services.table, [memory.meta.author for memory in memories])
    now = services.clock.now()
    return RecallResult(
        memories=[whole(memory, read_set, now, successors, people) for memory in memories],
        missing=[memory_id for memory_id in ids if memory_id not in told],
        unreadable=[memory_id for memory_id in ids if memory_id in unreadable] or None,
        session=standing.state(),
    )


def _by_query(services: Services, standing: Standing, arguments: RecallArguments) -> RecallResult:
    read_set = standing.reads(arguments.scopes)
    text = canonical(arguments.query or "")
    query = ask(services.embedder, text)
    found = recall(
        services.table,
        services.index,
        services.clock,
        query=query,
        read_set=read_set,
        ranking=services.ranking,
        k=arguments.k,
        kinds=frozenset(arguments.kinds) if arguments.kinds else None,
        alive_at=last_moment("as_of", arguments.as_of) if arguments.as_of else None,
    )
    memories, wordless = readable_memories(services.table, [each.meta for each in found.ranked])
    bodies = {memory.meta.memory_id: memory.body for memory in memories}
    cut = f"memories without their words left out: {len(wordless):,}" if wordless else None
    degraded = "; ".join(filter(None, (found.degraded, cut))) or None
    successors = seen_successors(
        services.table, (each.meta for each in found.ranked), standing.rights().read_set
    )
    now = services.clock.now()
    return RecallResult(
        hits=[
            _hit(
                each,
                bodies[each.meta.memory_id],
                read_set,
                now,
                query,
                core=standing.access.core.scope,
                successor=successors.get(each.meta.memory_id),
                explain=arguments.explain,
            )
            for each in found.ranked
            if each.meta.memory_id in bodies
        ],
        unreadable=[*found.unreadable, *wordless] or None,
        scopes=sorted(read_set.paths.values()),
        degraded=degraded is not None,
        degraded_reason=degraded,
        session=standing.state(searched=read_set),
    )


def _hit(
    each: Ranked,
    body: Body,
    read_set: ReadSet,
    now: int,
    query: Query,
    *,
    core: str,
    successor: str | None,
    explain: bool,
) -> Hit:
    meta, fused = each.meta, each.fused
    text, truncated = excerpt(
        canonical(body.content), fused.start, fused.end, _EXCERPT, query.tokens
    )
    return Hit(
        id=meta.memory_id,
        kind=meta.kind,
        scope=seen_in(meta.scope, meta.shared_to, read_set) or "",
        shared=is_shared_into(meta.scope, meta.shared_to, read_set) or None,
        score=round(each.score, 6),
        excerpt=text,
        truncated=truncated,
        created_at=timestamp(meta.created_at),
        age=age(meta.created_at, now),
        legs=[LegRank(leg=leg, rank=rank) for leg, rank in fused.legs],
        stale_days=stale_days(meta, now) if meta.scope == core else None,
        disputed=True if meta.dispute else None,
        superseded_by=successor,
        factors=dict(each.factors) if explain else None,
    )


TOOL = Tool(
    name="recall",
    title="Recall",
    description=(
        "Recall what is known about a topic before you search code or the web, and before you "
        "work out an answer anew. Ask in English, in the words of the answer you hope for; "
        "identifiers and error codes work as they are. With ids, read those memories whole. "
        "Pass project_hint on the first call and thread on every call."
    ),
    input=RecallArguments,
    output=RecallResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table", "index", "embedder")),
    run=run,
)
