"""What a table's calls cost in DynamoDB: read and write units on demand, computed from the items.

A strongly consistent read is 1 unit for each begun 4 KB, half of it from a secondary index; a write
is 1 for each begun KB of the item, twice that in a transaction, and 1 more for its entry in each
index. A query is charged for the sum of its items; what is not there costs the least.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from zero_memory.adapters.items import Item, encode, steps
from zero_memory.adapters.schema import Address, pattern_of
from zero_memory.ports.table import Action, Check, Page, Put, Ref, Table

R = TypeVar("R")

READ_BYTES = 4_096
WRITE_BYTES = 1_024
_PER_VALUE = 1
_PER_COLLECTION = 3


@dataclass
class Units:
    """Units and requests of some calls."""

    read: float = 0
    written: float = 0
    requests: int = 0


@dataclass
class CountingTable:
    """A table that counts what DynamoDB would charge for."""

    table: Table
    units: Units = field(default_factory=Units)

    def __post_init__(self) -> None:
        self.view_lag_ms = self.table.view_lag_ms
        self.scrub = self.table.scrub

    def get(self, record: type[R], *parts: str) -> R | None:
        found = self.table.get(record, *parts)
        self._read(_size(found), consistent=True)
        return found

    def get_many(self, refs: Sequence[Ref[R]]) -> list[R | None]:
        found = self.table.get_many(refs)
        once = dict(zip(((at.record, at.parts) for at in refs), found, strict=True))
        for each in once.values():
            self._read(_size(each), consistent=True)
        self.units.requests += -(-len(once) // 100) - len(once)  # a batch is one request
        return found

    def query(self, record: type[R], *parts: str, **how: Any) -> Page[R]:
        page = self.table.query(record, *parts, **how)
        indexed = bool(pattern_of(record).index)
        size = _view_size if indexed else _size
        self._read(sum(size(each) for each in page.records), consistent=not indexed)
        return page

    def keys(self, record: type[object], *parts: str, **how: Any) -> Page[str]:
        page = self.table.keys(record, *parts, **how)
        # A query costs what it reads, however little of that it answers.
        sizes = [_size(self.table.get(record, *parts, each)) for each in page.records]
        self._read(sum(sizes), consistent=True)
        return page

    def transact(self, actions: Sequence[Action]) -> None:
        self.table.transact(actions)
        planned = steps(actions)
        lone = len(planned) == 1 and not isinstance(planned[0].action, Check)
        lone = lone and (not isinstance(actions[0], Put) or actions[0].when is None)
        self.units.requests += 1
        for step in planned:
            size = 0 if step.item is None else _bytes_of(step.address, step.item)
            self.units.written += _begun(size, WRITE_BYTES) * (1 if lone else 2)
            views = () if step.item is None else step.item.views
            self.units.written += len(views)

    def _read(self, size: int, *, consistent: bool) -> None:
        self.units.requests += 1
        self.units.read += _begun(size, READ_BYTES) * (1 if consistent else 0.5)


def _begun(size: int, of: int) -> int:
    return max(1, -(-size // of))


def _size(record: object) -> int:
    return 0 if record is None else _bytes_of(*encode(record))


def _view_size(record: object) -> int:
    """An entry of an index: its fields, and the keys of index and item, some 200 bytes."""
    return 200 + sum(len(str(value)) for value in vars(record).values())


def _bytes_of(address: Address, item: Item) -> int:
    keys = sum(len(each.encode()) for each in (address.pk, address.sk)) + len("pksk")
    views = sum(len(f"g1pkg1sk{place.pk}{place.sk}".encode()) for _, place in item.views)
    return keys + views + _value_bytes(item.attributes) - _PER_COLLECTION


def _value_bytes(value: Any) -> int:
    """As DynamoDB counts: UTF-8, 1 for a flag, and for each value in a collection 1 more."""
    match value:
        case bool():
            return 1
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case int():
            return len(str(abs(value))) // 2 + 2
        case Mapping():
            members = cast("Mapping[str, Any]", value).items()
            return _PER_COLLECTION + sum(
                len(name.encode()) + _value_bytes(each) + _PER_VALUE for name, each in members
            )
        case _:
            each_of = cast("Sequence[Any]", value)
            return _PER_COLLECTION + sum(_value_bytes(each) + _PER_VALUE for each in each_of)
