"""What a table's calls cost in DynamoDB: read and write units on demand, computed from the items.

A strongly consistent read is 1 unit for each begun 4 KB, half of it from a secondary index; a write
is 1 for each begun KB of the item, as it was or as it is, whichever is larger, and twice that in a
transaction; 1 more for its entry in each index that comes, goes or changes. A query is charged for
the sum of its items; what is not there costs the least. Writes are held against an emulator that
charges them as AWS does (tests/contract/table/test_units.py); it charges each read alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import astuple

from zero_memory.adapters.items import Item, Step, Value, encode, steps
from zero_memory.adapters.limits import item_bytes
from zero_memory.adapters.schema import Address, pattern_of
from zero_memory.ports.table import Action, Check, Page, Put, Ref, Table

R = TypeVar("R")

READ_BYTES = 4_096
WRITE_BYTES = 1_024


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
        planned = steps(actions)
        before = [self._stored(step) for step in planned]
        self.table.transact(actions)
        lone = len(planned) == 1 and not isinstance(planned[0].action, Check)
        lone = lone and (not isinstance(actions[0], Put) or actions[0].when is None)
        self.units.requests += 1
        for step, old in zip(planned, before, strict=True):
            new = old if isinstance(step.action, Check) else step.item
            size = max((item_bytes(step.address, each) for each in (old, new) if each), default=0)
            self.units.written += _begun(size, WRITE_BYTES) * (1 if lone else 2)
            self.units.written += _views_written(old, new)

    def _stored(self, step: Step) -> Item | None:
        """What is at a step's address; not counted, since a write knows it by itself."""
        if isinstance(step.action, Put):
            record = step.action.record
            parts = tuple(getattr(record, name) for name in step.pattern.parts)
        else:
            parts = step.action.at.parts
        stored = self.table.get(step.pattern.record, *parts)
        return None if stored is None else encode(stored)[1]

    def _read(self, size: int, *, consistent: bool) -> None:
        self.units.requests += 1
        self.units.read += _begun(size, READ_BYTES) * (1 if consistent else 0.5)


def _begun(size: int, of: int) -> int:
    return max(1, -(-size // of))


def _size(record: object) -> int:
    return 0 if record is None else item_bytes(*encode(record))


def _view_size(record: Any) -> int:
    """An entry of an index: its fields, and the keys of index and item, some 200 bytes."""
    return 200 + sum(len(str(value)) for value in astuple(record))


def _views_written(before: Item | None, after: Item | None) -> int:
    """The units of the indexes, whose entries are below a KB."""
    old, new = _entries(before), _entries(after)
    written = 0
    for index in old.keys() | new.keys():
        was, now = old.get(index), new.get(index)
        if was is not None and now is not None and was[0] != now[0]:
            written += 2  # it goes from one place, and comes to another
        elif was != now:
            written += 1
    return written


def _entries(item: Item | None) -> Mapping[str, tuple[Address, Mapping[str, Value]]]:
    """By index, the place of an item's entry and what it shows of the item."""
    if item is None:
        return {}
    shown = item.attributes
    return {
        view.index: (place, {name: shown[name] for name in view.attributes & shown.keys()})
        for view, place in item.views
    }
