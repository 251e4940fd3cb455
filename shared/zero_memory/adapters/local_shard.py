"""A scope of the local index as arrays, and how a transaction grows them."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from zero_memory.adapters.vector_file import VectorFile
from zero_memory.ports.search_index import IndexDocument

VACANT = -1
"""The kind of a row that no memory has any more, and the owner of a vector likewise."""


class Postings(NamedTuple):
    """Who holds a token: rows, ascending, and how often."""

    rows: NDArray[np.int64]
    frequencies: NDArray[np.float64]


NO_POSTINGS = Postings(np.empty(0, np.int64), np.empty(0, np.float64))


class Place(NamedTuple):
    """Where a memory stands in a scope: its row, and its rows in the file of vectors."""

    row: int
    first: int
    windows: int


class Shard(Struct, frozen=True):
    """A scope as arrays, at one moment: by row, and the row that owns each vector.

    Rows are only ever added, so that a query goes on with what it has while another call writes.
    `shared` names the memories (by number) that stand in other scopes too.
    """

    number: int
    vectors: VectorFile
    kinds: NDArray[np.int16]
    live: NDArray[np.bool_]
    lengths: NDArray[np.float64]
    owners: NDArray[np.int32]
    shared: Mapping[int, int]


class Growth(Struct):
    """What a transaction adds to a shard and takes from it."""

    shard: Shard
    lengths: list[int] = field(default_factory=list[int])
    owners: list[int] = field(default_factory=list[int])
    vectors: list[NDArray[np.float32]] = field(default_factory=list[NDArray[np.float32]])
    states: dict[int, tuple[int, bool]] = field(default_factory=dict[int, tuple[int, bool]])
    removed: list[Place] = field(default_factory=list[Place])
    shared: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, document: IndexDocument) -> Place:
        """Place a document behind all others."""
        row = len(self.shard.lengths) + len(self.lengths)
        first = len(self.shard.owners) + len(self.owners)
        self.lengths.append(sum(document.tokens.values()))
        self.owners.extend([row] * len(document.windows))
        self.vectors.extend(window.vector for window in document.windows)
        return Place(row, first, len(document.windows))

    def remove(self, place: Place) -> None:
        """Leave a place vacant for ever."""
        self.states[place.row] = (VACANT, False)
        self.removed.append(place)

    def write(self) -> Shard:
        """Write the vectors, and give the shard as it is afterwards."""
        old = self.shard
        if self.vectors:
            old.vectors.write(len(old.owners), np.stack(self.vectors))
        shared = {**old.shared, **self.shared}
        added = len(self.lengths)
        kinds = np.concatenate([old.kinds, np.full(added, VACANT, np.int16)])
        live = np.concatenate([old.live, np.zeros(added, np.bool_)])
        owners = np.concatenate([old.owners, np.array(self.owners, np.int32)])
        for row, (kind, lives) in self.states.items():
            kinds[row], live[row] = kind, lives
        for _, first, windows in self.removed:
            owners[first : first + windows] = VACANT
            old.vectors.clear(first, windows)
        return replace(
            old,
            kinds=kinds,
            live=live,
            owners=owners,
            lengths=np.concatenate([old.lengths, np.array(self.lengths, np.float64)]),
            shared={
                row: shared[row] for row in shared.keys() - {each.row for each in self.removed}
            },
        )
