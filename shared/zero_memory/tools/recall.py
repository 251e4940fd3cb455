"""The tool `recall`."""

import re

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.memory import (
    Hit,
    LegRank,
    RecallArguments,
    RecallResult,
)
from zero_memory.memory.ages import age, moment, timestamp
from zero_memory.memory.guard import refuse_secrets, strip_credentials
from zero_memory.memory.reading import load_visible, with_bodies
from zero_memory.ports.services import Services
from zero_memory.retrieval.recall import Found, recall
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.visibility import ReadSet, seen_in
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool
from zero_memory.tools.whole import whole

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
    metas = load_visible(services.table, ids, read_set)
    memories = with_bodies(
        services.table, [metas[memory_id] for memory_id in ids if memory_id in metas]
    )
    found = {memory.meta.memory_id for memory in memories}
    now = services.clock.now()
    return RecallResult(
        memories=[whole(memory, read_set, now) for memory in memories],
        missing=[memory_id for memory_id in ids if memory_id not in found],
        session=standing.state(),
    )
