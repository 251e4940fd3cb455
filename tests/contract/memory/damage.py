"""Records that cannot be read, as a fault of the store or another version leaves them."""

from typing import Any

from msgspec import structs

from zero_memory.memory.model import (
    EntityName,
    Mention,
    Meta,
    PendingMarker,
    SearchRecord,
    SharedMemory,
    StoredBody,
)
from zero_memory.ports.table import Put, Table

_WRONG: Any = 7
_WORDS: Any = "seven"


def damage_meta(table: Table, memory_id: str) -> None:
    """Make what a memory is, and whose, unreadable."""
    table.transact([Put(structs.replace(_meta(table, memory_id), owner=_WRONG, kind=_WRONG))])


def damage_search_record(table: Table, memory_id: str) -> None:
    """Make what a memory is searched by unreadable."""
    table.transact([Put(SearchRecord(_meta(table, memory_id).scope, memory_id, _WRONG))])


def damage_side_records(table: Table, scope: str, folded: str, memory_id: str) -> None:
    """Make unreadable what finds a memory in a scope: marker, share, and the name it mentions."""
    table.transact(
        [
            Put(PendingMarker(scope, memory_id, _WRONG)),
            Put(SharedMemory(scope, memory_id, _WRONG)),
            Put(Mention(scope, folded, memory_id, _WRONG)),
            Put(EntityName(scope, folded, _WRONG)),
        ]
    )


def damage_marker(table: Table, memory_id: str) -> None:
    """Make what says that a memory is not indexed yet unreadable."""
    table.transact([Put(PendingMarker(_meta(table, memory_id).scope, memory_id, _WORDS))])


def damage_words(table: Table, memory_id: str) -> None:
    """Make a memory's words unreadable, which lie in a record of their own."""
    table.transact(
        [
            Put(structs.replace(_meta(table, memory_id), body=None)),
            Put(StoredBody(memory_id, _WRONG)),
        ]
    )


def _meta(table: Table, memory_id: str) -> Meta:
    meta = table.get(Meta, memory_id)
    assert meta is not None
    return meta
