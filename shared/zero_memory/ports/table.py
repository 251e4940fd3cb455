"""The table, as a port: records under keys, transactions with conditions, paged queries.

The domain speaks of record types (frozen structs); the adapter's schema module alone knows
their keys. A record type's key parts are named there, and are passed here in that order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

MAX_ACTIONS = 100
"""The most actions of one transaction."""

MAX_PAGE = 1_000
"""The most records of one page of a query."""

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ConditionFailed(Exception):
    """A transaction that changed nothing because conditions did not hold.

    `failed` holds the positions of those actions, ascending.
    """

    def __init__(self, failed: tuple[int, ...]) -> None:
        super().__init__(f"conditions of actions {failed} did not hold")
        self.failed = failed


class LimitExceeded(Exception):
    """A transaction or record past a limit of the table; nothing was changed."""


class DamagedRecord(Exception):
    """What is at an address cannot be read as a record of its type; the others can be."""


class TableUnavailable(Exception):
    """The table did not answer within its time and retries; a write may have happened."""


class Absent(Struct, frozen=True):
    """Holds when no record is there (one that expired counts as there until it is removed)."""


class Present(Struct, frozen=True):
    """Holds when a record is there."""


class RevisionIs(Struct, frozen=True):
    """Holds when a record is there whose field `revision` is this."""

    revision: int


class AttributeIs(Struct, frozen=True):
    """Holds when a record is there whose field `name` is this value."""

    name: str
    value: str | int | bool


Condition = Absent | Present | RevisionIs | AttributeIs


class Ref(Struct, Generic[R_co], frozen=True):
    """The address of one record: its type, and its key parts in the schema's order."""

    record: type[R_co]
    parts: tuple[str, ...]


def ref(record: type[R], *parts: str) -> Ref[R]:
    """The address of one record of a type."""
    return Ref(record, parts)


class Put(Struct, frozen=True):
    """Write this record whole, in place of what is at its address."""

    record: object
    when: Condition | None = None


class Delete(Struct, frozen=True):
    """Remove what is at this address; nothing there is no failure unless `when` says so."""

    at: Ref[object]
    when: Condition | None = None


class Check(Struct, frozen=True):
    """Change nothing here, but fail the transaction unless this holds."""

    at: Ref[object]
    when: Condition


Action = Put | Delete | Check


class Page(Struct, Generic[R_co], frozen=True):
    """A page of a query. `next`, passed as `after`, continues behind it; None: no more."""

    records: tuple[R_co, ...]
    next: str | None


class Table(Protocol):
    """One table. Safe to call from several threads and processes.

    Reads by key and of collections are consistent; those of views (a record type that the schema
    declares as a secondary index) may be some writes old. `get`, `get_many` and `query` raise
    DamagedRecord as soon as one of their records is, and like `keys` TableUnavailable.
    """

    @property
    def view_lag_ms(self) -> int:
        """How long after a write its views and its derived index must be expected to be behind."""
        ...

    def get(self, record: type[R], *parts: str) -> R | None:
        """The record at this address, or None."""
        ...

    def get_many(self, refs: Sequence[Ref[R]]) -> list[R | None]:
        """The records at these addresses, in their order; any number, each address any times."""
        ...

    def query(
        self,
        record: type[R],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[R]:
        """One page of a collection or view: the records that share these leading key parts.

        `parts` names the partition and may go on into the sort key. Ordered by the sort key.
        `since` and `until` bound the next key part, both inclusive. `limit` is 1 to `MAX_PAGE`; a
        page may be shorter than it and still have a `next`. `after` is the `next` of a page of the
        same query. Raises ValueError for a limit, or an `after`, that is none.
        """
        ...

    def keys(
        self,
        record: type[object],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[str]:
        """One page of a collection by the last key part of each record, which must be there as is.

        Pages as `query`, but the records themselves are not read: one that can't be is listed too.
        """
        ...

    def transact(self, actions: Sequence[Action]) -> None:
        """All of these, or nothing: at most `MAX_ACTIONS`, each address once.

        Raises ConditionFailed, LimitExceeded (more than 100 actions, 400 KB a record or 4 MB in
        all, a key too long, one address twice) or TableUnavailable.
        """
        ...

    def scrub(self) -> None:
        """Leave no byte of what was deleted wherever the table keeps its data, but for its backups.

        Raises TableUnavailable when others hold on to it; repeat it then.
        """
        ...


def every(table: Table, record: type[R], *parts: str) -> Iterator[R]:
    """All records of a collection that share these leading key parts, read page by page."""
    after: str | None = None
    while True:
        page = table.query(record, *parts, after=after, limit=MAX_PAGE)
        yield from page.records
        after = page.next
        if after is None:
            return


def delete_all(table: Table, refs: Iterable[Ref[object]]) -> None:
    """Remove what is at these addresses, each named any times, in as few transactions as it takes.

    Interrupted, some are left.
    """
    distinct = list(dict.fromkeys(refs))
    for start in range(0, len(distinct), MAX_ACTIONS):
        table.transact([Delete(at) for at in distinct[start : start + MAX_ACTIONS]])
