"""People as others see them: by their id while they are here."""

from collections.abc import Iterable

from zero_memory.ports.table import Table, ref
from zero_memory.scopes.model import Person

FORMER_MEMBER = "a former member"


def shown_people(table: Table, principals: Iterable[str]) -> dict[str, str]:
    """What to show for each of these principals: itself, or that its person left for good."""
    distinct = sorted(set(principals))
    people = {principal: principal.partition(".")[0] for principal in distinct}
    ids = sorted(set(people.values()))
    found = table.get_many([ref(Person, each) for each in ids]) if ids else []
    here = {person.person for person in found if person is not None}
    return {each: each if people[each] in here else FORMER_MEMBER for each in distinct}
