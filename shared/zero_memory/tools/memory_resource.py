"""The resource `zm://memory/{id}`: a memory, whole."""

import re

from zero_memory.contracts.errors import not_found
from zero_memory.contracts.memory import WholeMemory
from zero_memory.memory.reading import load_visible, seen_successors, with_bodies
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.people import shown_people
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.whole import whole

MEMORY_ID = "mem_[0-9A-HJKMNP-TV-Z]{26}"
_URI = re.compile(f"zm://memory/({MEMORY_ID})")


def read(services: Services, caller: Caller, uri: str) -> WholeMemory:
    """The memory that a URI names. Raises Refusal `not_found`."""
    named = _URI.fullmatch(uri)
    if named is not None:
        read_set = stand(services, caller).rights().read_set
        metas = load_visible(services.table, [named[1]], read_set)
        successors = seen_successors(services.table, metas.values(), read_set)
        for memory in with_bodies(services.table, list(metas.values())):
            people = shown_people(services.table, [memory.meta.author])
            return whole(memory, read_set, services.clock.now(), successors, people)
    raise not_found("There is no such memory; recall or list_memories give the ids of yours.")
