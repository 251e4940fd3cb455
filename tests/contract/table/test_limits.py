"""The sizes that DynamoDB counts."""

import pytest

from tests.records import meta
from zero_memory.adapters.items import Step, Value, encode, steps
from zero_memory.adapters.limits import MAX_ITEM_BYTES, check, item_bytes, value_bytes
from zero_memory.memory.model import Body, StoredBody
from zero_memory.ports.table import LimitExceeded, Put


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 0),
        ("äb🐘", 2 + 1 + 4),
        (b"\x00\x01", 2),
        (True, 1),
        (0, 1),
        (7, 2),
        (27, 2),
        (-27, 3),
        (461, 3),
        (5_000, 2),
        (1_760_000_000_123, 8),
        ([], 3),
        ([1, "ab"], 3 + (1 + 2) + (1 + 2)),
        ({}, 3),
        ({"ab": "c", "d": [b""]}, 3 + (1 + 2 + 1) + (1 + 1 + 3 + 1)),
    ],
)
def test_a_value_has_the_size_that_the_developer_guide_gives_it(value: Value, size: int):
    assert value_bytes(value) == size


def test_an_item_counts_its_names_and_all_of_its_keys():
    bare, listed = (item_bytes(*encode(meta(**views))) for views in ({}, {"timeline": "knowledge"}))
    in_view = "timelineknowledgeg1pkS#scp_1#knowledgeg1skM#mem_1"
    assert listed - bare == len(in_view)


def body_of(size: int) -> list[Step]:
    """A transaction of one item that has this many bytes."""
    overhead = item_bytes(*encode(StoredBody("mem_1", Body(""))))
    return steps([Put(StoredBody("mem_1", Body("x" * (size - overhead))))])


def test_the_largest_item_has_400_kilobytes_to_the_byte():
    check(body_of(MAX_ITEM_BYTES))
    with pytest.raises(LimitExceeded):
        check(body_of(MAX_ITEM_BYTES + 1))
