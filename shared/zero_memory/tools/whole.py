"""A memory, whole, as the wire has it."""

import json
from collections.abc import Mapping

from zero_memory.contracts.memory import WholeMemory
from zero_memory.memory.ages import age, timestamp
from zero_memory.memory.reading import Memory
from zero_memory.scopes.visibility import (
    ReadSet,
    hidden_places,
    is_shared_into,
    seen_in,
    shown_places,
)


def whole(
    memory: Memory,
    read_set: ReadSet,
    now: int,
    successors: Mapping[str, str],
    people: Mapping[str, str],
) -> WholeMemory:
    """Everything that a memory holds, live or not.

    `successors` are those that may be shown, `people` what to show for each author.
    """
    meta, body = memory.meta, memory.body
    return WholeMemory(
        id=meta.memory_id,
        kind=meta.kind,
        scope=seen_in(meta.scope, meta.shared_to, read_set) or "",
        shared=is_shared_into(meta.scope, meta.shared_to, read_set) or None,
        shared_to=shown_places(meta.shared_to, read_set) or None,
        shared_elsewhere=hidden_places(meta.scope, meta.shared_to, read_set) or None,
        content=body.content,
        original=body.original,
        language=body.language,
        entities=list(body.entities),
        author=people[meta.author],
        author_kind=meta.author_kind,
        agent_name=body.agent_name,
        authority=meta.authority,
        created_at=timestamp(meta.created_at),
        age=age(meta.created_at, now),
        live=meta.live,
        invalidated_at=timestamp(meta.invalidated_at) if meta.invalidated_at else None,
        invalidated_reason=meta.invalidated_reason,
        superseded_by=successors.get(meta.memory_id),
        disputed=True if meta.dispute else None,
        revision=meta.revision,
        source=json.loads(body.source_json) if body.source_json else None,
    )
