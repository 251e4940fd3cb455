"""DynamoDB's limits, checked alike in both homes before anything is written.

Sources: "Quotas in Amazon DynamoDB" and "DynamoDB item sizes and formats" of its developer guide.
"""

from collections import Counter
from collections.abc import Sequence

from zero_memory.adapters.items import Item, Step, Value
from zero_memory.adapters.schema import Address
from zero_memory.ports.table import MAX_ACTIONS, LimitExceeded

MAX_ITEM_BYTES = 400 * 1024
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024
_CONTAINER_BYTES = 3
_ELEMENT_BYTES = 1


def _number_bytes(number: int) -> int:
    digits = str(abs(number)).strip("0")
    return 1 + (len(digits) + 1) // 2 + (number < 0)


def value_bytes(value: Value) -> int:
    """What DynamoDB counts for a value: UTF-8, two decimal digits a byte, 3 and 1 a member."""
    match value:
        case bool():
            return 1
        case str():
            return len(value.encode())
        case int():
            return _number_bytes(value)
        case bytes():
            return len(value)
        case Sequence():
            return _CONTAINER_BYTES + sum(_ELEMENT_BYTES + value_bytes(each) for each in value)
        case _:
            return _CONTAINER_BYTES + sum(
                _ELEMENT_BYTES + len(name.encode()) + value_bytes(each)
                for name, each in value.items()
            )


def item_bytes(address: Address, item: Item) -> int:
    """What DynamoDB counts for an item: names and values of its attributes, all keys among them."""
    keys = [("pk", address.pk), ("sk", address.sk)]
    for view, place in item.views:
        keys.extend(zip(view.key_names, (place.pk, place.sk), strict=True))
    return sum(len(name) + len(key.encode()) for name, key in keys) + sum(
        len(name) + value_bytes(value) for name, value in item.attributes.items()
    )


def check(steps: Sequence[Step]) -> None:
    """Raise LimitExceeded unless DynamoDB would take this transaction.

    Keys have been checked where they were made (`schema.Pattern.address`).
    """
    if not 1 <= len(steps) <= MAX_ACTIONS:
        raise LimitExceeded(f"a transaction has 1 to {MAX_ACTIONS} actions, not {len(steps)}")
    _, most = Counter(step.address for step in steps).most_common(1)[0]
    if most > 1:
        raise LimitExceeded("a transaction names each address once")
    sizes = [item_bytes(step.address, step.item) for step in steps if step.item is not None]
    if any(size > MAX_ITEM_BYTES for size in sizes):
        raise LimitExceeded(f"a record has at most {MAX_ITEM_BYTES:,} bytes")
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise LimitExceeded(f"a transaction has at most {MAX_TRANSACTION_BYTES:,} bytes")
