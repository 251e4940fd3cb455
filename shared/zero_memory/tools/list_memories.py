"""The tool `list_memories`."""

from collections.abc import Mapping

from zero_memory.contracts.memory import ListArguments, ListedMemory, ListResult
from zero_memory.memory.ages import age, last_moment, moment, timestamp
from zero_memory.memory.ids import first_id_at, last_id_at
from zero_memory.memory.listing import Wanted, list_live
from zero_memory.memory.preview import preview
from zero_memory.memory.reading import Memory, readable_memories
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.cursors import seal, seal_key_of, unseal
from zero_memory.scopes.people import shown_people
from zero_memory.scopes.visibility import ReadSet, is_shared_into, seen_in
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool

_PREVIEW = 300


def run(services: Services, caller: Caller, arguments: ListArguments) -> ListResult:
    """One page of live memories, newest first."""
    standing = stand(services, caller, project_hint=arguments.project_hint, thread=arguments.thread)
    read_set = standing.reads(arguments.scopes)
    wanted = Wanted(
        kinds=frozenset(arguments.kinds) if arguments.kinds else None,
        author=arguments.author,
        entity=arguments.entity,
        since=first_id_at(moment("since", arguments.since)) if arguments.since else None,
        until=last_id_at(last_moment("until", arguments.until)) if arguments.until else None,
        behind=_behind(services, caller, arguments),
    )
    listed = list_live(services.table, read_set, wanted, limit=arguments.limit)
    memories, wordless = readable_memories(services.table, listed.memories)
    people = shown_people(services.table, [memory.meta.author for memory in memories])
    now = services.clock.now()
    cursor = None
    if listed.behind is not None:
        key = seal_key_of(services.table, caller.person)
        cursor = seal(listed.behind, key=key, query=_query(arguments))
    return ListResult(
        memories=[_listed(memory, read_set, now, people) for memory in memories],
        unreadable=sorted([*listed.unreadable, *wordless], reverse=True) or None,
        cursor=cursor,
        session=standing.state(searched=read_set),
    )


def _query(arguments: ListArguments) -> dict[str, object]:
    """What a cursor is bound to: everything but where and how far one reads on."""
    return arguments.model_dump(mode="json", exclude={"cursor", "limit", "thread"})


def _behind(services: Services, caller: Caller, arguments: ListArguments) -> str | None:
    if arguments.cursor is None:
        return None
    key = seal_key_of(services.table, caller.person)
    return unseal(arguments.cursor, key=key, query=_query(arguments))


def _listed(memory: Memory, read_set: ReadSet, now: int, people: Mapping[str, str]) -> ListedMemory:
    meta, body = memory.meta, memory.body
    text, truncated = preview(body.content, _PREVIEW)
    return ListedMemory(
        id=meta.memory_id,
        kind=meta.kind,
        scope=seen_in(meta.scope, meta.shared_to, read_set) or "",
        shared=is_shared_into(meta.scope, meta.shared_to, read_set) or None,
        preview=text,
        truncated=truncated,
        author=people[meta.author],
        entities=list(body.entities),
        created_at=timestamp(meta.created_at),
        age=age(meta.created_at, now),
        disputed=True if meta.dispute else None,
    )


TOOL = Tool(
    name="list_memories",
    title="List memories",
    description=(
        "List live memories, newest first, by scope, kind, author, entity or time; pages by "
        "cursor. To find what bears on a topic use recall instead."
    ),
    input=ListArguments,
    output=ListResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table",)),
    run=run,
)
