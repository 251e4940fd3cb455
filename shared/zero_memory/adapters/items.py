"""Records to items of the table and back.

An item maps attribute names to str, int, bool, bytes, lists and maps of these, in both homes. A
field that is None is left out.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Struct

from zero_memory.adapters.schema import Address, Pattern, address_of, pattern_of
from zero_memory.ports.table import (
    Action,
    AttributeIs,
    DamagedRecord,
    Put,
    RevisionIs,
)

R = TypeVar("R")
Stored = TypeVar("Stored")

Value = str | int | bool | bytes | Sequence["Value"] | Mapping[str, "Value"]
Attributes = dict[str, Value]


class Item(Struct, frozen=True):
    """What the table keeps of a record: its attributes, and its keys in the views it stands in."""

    attributes: Attributes
    views: tuple[tuple[Pattern, Address], ...]


class Step(Struct, frozen=True):
    """An action of a transaction, at its address; `item` is what a `Put` writes."""

    action: Action
    pattern: Pattern
    address: Address
    item: Item | None


def _kept(value: Any) -> Value:
    """The value without the fields that are None, at every depth."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _kept(member) for name, member in members.items() if member is not None}
    if isinstance(value, (list, tuple)):
        return [_kept(member) for member in cast("Sequence[Any]", value)]
    return value


def encode(record: object) -> tuple[Address, Item]:
    """A record's address and item. Raises LimitExceeded for keys past the table's limits."""
    pattern = pattern_of(type(record))
    fields = msgspec.to_builtins(record, builtin_types=(bytes,))
    for name in pattern.packed:
        fields[name] = msgspec.msgpack.encode(getattr(record, name))
    values = cast("Attributes", _kept(fields))
    keys = cast("Mapping[str, str]", values)
    attributes = {name: value for name, value in values.items() if name in pattern.attributes}
    views = tuple(
        (view, view.address(keys))
        for view in pattern.views
        if all(part in values for part in view.parts)
    )
    return pattern.address(keys), Item(attributes, views)


def decode(
    record: type[R],
    known: Mapping[str, str],
    stored: Stored,
    attributes_of: Callable[[Stored], Mapping[str, Any]],
) -> R:
    """The record of an item, or of what a view shows of one, as a home stores it.

    `known` are the fields of its keys. Attributes that the record type does not have are passed
    over, as an index brings some. Raises DamagedRecord.
    """
    try:
        values: dict[str, Any] = {**attributes_of(stored), **known}
        for name, decoder in _packed(record).items():
            values[name] = decoder.decode(values[name])
        return msgspec.convert(values, record)
    except (KeyError, TypeError, ValueError) as error:  # msgspec's own errors are ValueErrors
        raise DamagedRecord(f"{record.__name__}: {type(error).__name__}") from error


@functools.cache
def _packed(record: type[Any]) -> Mapping[str, msgspec.msgpack.Decoder[Any]]:
    hints = get_type_hints(record)
    return {name: msgspec.msgpack.Decoder(hints[name]) for name in pattern_of(record).packed}


def steps(actions: Sequence[Action]) -> list[Step]:
    """The actions at their addresses. Raises LimitExceeded for keys past the table's limits."""
    return [_step(action) for action in actions]


def _step(action: Action) -> Step:
    if isinstance(action, Put):
        pattern = pattern_of(type(action.record))
        address, item = encode(action.record)
    else:
        pattern = pattern_of(action.at.record)
        address, item = address_of(action.at.record, action.at.parts), None
    if isinstance(action.when, RevisionIs | AttributeIs):
        name = action.when.name if isinstance(action.when, AttributeIs) else "revision"
        if name not in pattern.attributes or name in pattern.packed:
            raise ValueError(f"{pattern.record.__name__}.{name} cannot be a condition")
    return Step(action, pattern, address, item)
