"""Indexes of a test in a real OpenSearch, gone with the test."""

import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np
from opensearchpy import OpenSearch

from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.ports.search_index import IndexDocument, IndexedWindow, SearchFilter

_PATIENCE_S = 60.0

_numbers = itertools.count()


@contextmanager
def empty_indexes(client: OpenSearch, **made_of: Any) -> Generator[Callable[[], OpenSearchIndex]]:
    """Makes empty indexes, as many as a test asks for."""
    prefix = f"test{next(_numbers)}"
    yield lambda: built(OpenSearchIndex(client, name=f"{prefix}-{next(_numbers)}", **made_of))
    client.indices.delete(index=f"{prefix}-*")


def built(index: OpenSearchIndex) -> OpenSearchIndex:
    """The index, which holds all that there is: nothing."""
    with index.replacing():
        return index


def left_behind(client: OpenSearch, index: OpenSearchIndex) -> None:
    """Leave what a process does that is killed while it builds the index anew."""
    body: dict[str, Any] = {
        "aliases": {f"{index.name}-building": {}},
        "mappings": {"_meta": index.made_of},
    }
    client.indices.create(index=f"{index.name}-killed", body=body)


def warm_up(client: OpenSearch) -> None:
    """Ask a new node once, without haste: the first of each request takes it seconds."""
    vector = np.array([1, 0], np.float32)
    patient = {"search_s": _PATIENCE_S, "write_s": _PATIENCE_S}
    with empty_indexes(client, model="model", dimensions=2, **patient) as make:
        index = make()
        window = IndexedWindow(0, 1, vector)
        index.apply(
            [
                IndexDocument(
                    "mem_1", 1, ("scp",), "fact", "p", 1, ((1, None),), "model", (window,), {"a": 1}
                )
            ]
        )
        index.search(SearchFilter(("scp",)), vector=vector, tokens=["a"], limit=1)
