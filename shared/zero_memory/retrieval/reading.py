"""Search records, read so that one that cannot be read holds up no other."""

from collections.abc import Mapping, Sequence

from zero_memory.memory.apart import apart
from zero_memory.memory.model import SearchRecord
from zero_memory.ports.table import DamagedRecord, Page, Table, ref


def search_records(table: Table, scopes: Mapping[str, str]) -> tuple[list[SearchRecord], list[str]]:
    """The search records of memories, given with their scopes, and the ids of the unreadable ones.

    A memory without one is left out. Raises TableUnavailable.
    """

    def read(some: Sequence[str]) -> list[SearchRecord]:
        found = table.get_many([ref(SearchRecord, scopes[each], each) for each in some])
        return [record for record in found if record is not None]

    return apart(read, list(scopes), fault=DamagedRecord)


def search_record_page(
    table: Table,
    scope: str,
    *,
    after: str | None,
    since: str | None = None,
    limit: int,
    newest_first: bool = False,
) -> tuple[Page[SearchRecord], list[str]]:
    """A page of a scope's search records, and the ids of the unreadable ones.

    Pages as `Table.query`. Raises TableUnavailable.
    """
    try:
        page = table.query(
            SearchRecord, scope, after=after, since=since, limit=limit, newest_first=newest_first
        )
    except DamagedRecord:
        # It does not say which one: they are asked one by one.
        keys = table.keys(
            SearchRecord, scope, after=after, since=since, limit=limit, newest_first=newest_first
        )
    else:
        return page, []
    records, unreadable = search_records(table, dict.fromkeys(keys.records, scope))
    return Page(tuple(records), keys.next), unreadable
