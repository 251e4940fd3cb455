"""What OpenSearch stores: the index's settings and mappings, and a memory as its document."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from zero_memory.adapters.opensearch_client import Json
from zero_memory.ports.search_index import IndexDocument
from zero_memory.retrieval.lexical import Bm25
from zero_memory.retrieval.vectors import SCALE_BYTES, pack

Engine = Literal["lucene", "faiss"]

FORMAT = 3
"""Of the documents and the mapping; an index of another one asks for a reindex."""

COMPLETE = "complete"
"""What an index says in its mapping when it holds every memory."""

_TYPICAL_LENGTH = 60.0
"""Tokens. Which candidates the engine brings hangs on it, no score does."""

_BULK_WINDOWS = 250
"""Some 2.5 MB of JSON with 768 dimensions; the smallest domains take 10 MB a request."""

SPACE = "innerproduct"
"""Of vectors of unit length the same order as by cosine, for a third of the arithmetic."""

_DECIMALS = 6
"""Of the numbers that the engine chooses candidates by; all the digits are twice the JSON."""


def index_settings(bm25: Bm25) -> Json:
    """One shard: up to a few million memories, and every word is counted in one place."""
    weight, share = bm25.saturation, bm25.length_weight
    norm = f"{weight * (1 - share)} + {weight * share / _TYPICAL_LENGTH} * doc.length"
    return {
        "knn": True,
        "number_of_shards": 1,
        # A version is to refuse an older one, not a memory that comes back after its erasure.
        "gc_deletes": "0s",
        # An erased memory's bytes go, however few they are in their segment.
        "merge": {"policy": {"expunge_deletes_allowed": 0}},
        "similarity": {
            "of_its_own": {
                "type": "scripted",
                "weight_script": {"source": "query.boost"},
                "script": {
                    "source": f"weight * {weight + 1} * doc.freq / (doc.freq + {norm})",
                },
            }
        },
    }


def index_mappings(made_of: Json, dimensions: int, engine: Engine) -> Json:
    """Of an index that is not complete yet."""
    return {
        "_meta": {**made_of, COMPLETE: False},
        "dynamic": "strict",
        # What is only searched need not be kept as it came: the table has it.
        "_source": {"excludes": ["packed", "tokens", "windows"]},
        "properties": {
            "memory_id": {"type": "keyword"},
            "visible_in": {"type": "keyword"},
            "kind": {"type": "keyword"},
            "author": {"type": "keyword"},
            "created_at": {"type": "date", "format": "epoch_millis"},
            "live": {"type": "boolean"},
            "alive": {"type": "date_range", "format": "epoch_millis"},
            "length": {"type": "integer"},
            "tokens": {
                "type": "text",
                "analyzer": "whitespace",
                "index_options": "freqs",
                "similarity": "of_its_own",
            },
            "frequencies": {"type": "object", "enabled": False},
            # Read a candidate at a time, and not in blocks to be inflated as the source is.
            "packed": {"type": "binary", "doc_values": True},
            "windows": {
                "type": "nested",
                "properties": {
                    "vector": {
                        "type": "knn_vector",
                        "dimension": dimensions,
                        "method": {
                            "name": "hnsw",
                            "engine": engine,
                            "space_type": SPACE,
                        },
                    }
                },
            },
        },
    }


def source_of(document: IndexDocument) -> Json:
    """A memory as it is stored.

    The frequencies and vectors that scores are made of come back with a candidate; beside them
    stands what the engine searches.
    """
    windows = np.zeros(len(document.windows), window_type(len(document.windows[0].vector)))
    for at, window in enumerate(document.windows):
        windows[at] = (window.start, window.end, pack(window.vector))
    frequencies = {term_of(token): count for token, count in document.tokens.items()}
    return {
        "memory_id": document.memory_id,
        "visible_in": document.visible_in,
        "kind": document.kind,
        "author": document.author,
        "created_at": document.created_at,
        "live": any(finish is None for _, finish in document.alive),
        "alive": [
            {"gte": start} if finish is None else {"gte": start, "lt": finish}
            for start, finish in document.alive
            if finish is None or start < finish
        ],
        "length": sum(frequencies.values()),
        "tokens": " ".join(term for term, count in frequencies.items() for _ in range(count)),
        "frequencies": frequencies,
        "packed": b64encode(windows.tobytes()).decode(),
        "windows": [
            {"vector": np.round(window.vector.astype(np.float64), _DECIMALS).tolist()}
            for window in document.windows
        ],
    }


def window_type(dimensions: int) -> np.dtype[Any]:
    """A window as `packed` holds it: its range of code points, and its vector's bytes."""
    return np.dtype([("start", "<u4"), ("end", "<u4"), ("vector", f"V{SCALE_BYTES + dimensions}")])


def term_of(token: str) -> str:
    """A token by its hash: a term of even length, that is no path, and no word of a memory."""
    return blake2b(token.encode(), digest_size=8).hexdigest()


def bulks_of(documents: Sequence[IndexDocument]) -> Iterable[list[IndexDocument]]:
    """The newest revision of each memory, in bulks that the engine takes."""
    newest: dict[str, IndexDocument] = {}
    for each in documents:
        known = newest.get(each.memory_id)
        if known is None or each.revision > known.revision:
            newest[each.memory_id] = each
    bulk: list[IndexDocument] = []
    windows = 0
    for each in newest.values():
        windows += len(each.windows)
        if bulk and windows > _BULK_WINDOWS:
            yield bulk
            bulk, windows = [], len(each.windows)
        bulk.append(each)
    yield bulk
