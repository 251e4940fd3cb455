"""A search engine with the table behind it, for when it does not answer or is not filled yet."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from zero_memory.adapters.table_index import TableIndex
from zero_memory.ports.search_index import (
    IndexDocument,
    IndexNotFilled,
    IndexUnavailable,
    SearchAnswer,
    SearchFilter,
    SearchIndex,
)


class FallbackIndex:
    """`ports.search_index.SearchIndex` by an engine; while that fails, reads by the table.

    Such an answer says so, and why; but for one in place of an engine that is not filled yet, when
    the table gave all that there is. Writes are the engine's alone.
    """

    def __init__(self, engine: SearchIndex, table_index: TableIndex) -> None:
        self._engine = engine
        self._table_index = table_index

    def search(
        self,
        where: SearchFilter,
        *,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
    ) -> SearchAnswer:
        """The engine's answer, or the table's."""
        try:
            return self._engine.search(where, vector=vector, tokens=tokens, limit=limit)
        except IndexUnavailable as failure:
            found = self._table_index.search(where, vector=vector, tokens=tokens, limit=limit)
            if isinstance(failure, IndexNotFilled) and found.incomplete is None:
                return found
            searched = found.incomplete or "the newest memories were searched"
            return replace(found, incomplete=f"{failure} Instead, {searched}.")

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """As the engine does."""
        self._engine.apply(documents)

    def erase(self, memory_ids: Sequence[str]) -> None:
        """As the engine does."""
        self._engine.erase(memory_ids)

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """The engine's counts, or those of the table's newest memories."""
        try:
            return self._engine.facets(where)
        except IndexUnavailable:
            return self._table_index.facets(where)
