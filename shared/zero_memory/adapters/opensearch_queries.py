"""What OpenSearch is asked, and what its answers say."""

from base64 import urlsafe_b64decode
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from zero_memory.adapters.opensearch_client import Json
from zero_memory.adapters.opensearch_documents import SPACE, term_of, window_type
from zero_memory.ports.search_index import (
    CorpusStatistics,
    LexicalMatch,
    SearchFilter,
    SemanticMatch,
)
from zero_memory.retrieval.lexical import Scorer, rarity
from zero_memory.retrieval.vectors import cosines


def corpus_query(where: SearchFilter, tokens: Sequence[str]) -> Json:
    """Asks for the statistics of the filter's scopes and moment, whatever its kinds."""
    aggregations: Json = {
        "documents": {"value_count": {"field": "memory_id"}},
        "length": {"sum": {"field": "length"}},
    }
    for token in tokens:
        aggregations[term_of(token)] = {"filter": {"term": {"tokens": term_of(token)}}}
    return {"query": {"bool": _clauses(where, kinds=False)}, "aggs": aggregations}


def fetching(tokens: Sequence[str]) -> Json:
    """Asks for what candidates are scored by, best first, ties by id."""
    return {
        "track_total_hits": False,
        "sort": [{"_score": "desc"}, {"memory_id": "asc"}],
        "docvalue_fields": ["packed"],
        "_source": ["length", *(f"frequencies.{term_of(token)}" for token in tokens)],
    }


def facets_query(where: SearchFilter) -> Json:
    """Asks how many memories of each kind there are."""
    return {
        "size": 0,
        "query": {"bool": _clauses(where, kinds=True)},
        "aggs": {"kinds": {"terms": {"field": "kind", "size": 100}}},
    }


def by_words(where: SearchFilter, tokens: Sequence[str], corpus: CorpusStatistics) -> Json:
    """The memories that hold query tokens, each token by its rarity in this corpus.

    The corpus is counted again, so that the memories and what they are scored by are of one state
    of the index.
    """
    asked = corpus_query(where, tokens)
    asked["query"]["bool"]["should"] = [
        {"term": {"tokens": {"value": term_of(token), "boost": rarity(token, corpus)}}}
        for token in tokens
    ]
    holding_any = {"terms": {"tokens": [term_of(token) for token in tokens]}}
    asked["post_filter"] = {"bool": {"filter": [holding_any, *_of_kinds(where)]}}
    return asked


def every_vector(where: SearchFilter, vector: NDArray[np.float32]) -> Json:
    """The nearest memories, by all of their windows."""
    comparing: Json = {
        "script_score": {
            "query": {"match_all": {}},
            "script": {
                "lang": "knn",
                "source": "knn_score",
                "params": {
                    "field": "windows.vector",
                    "query_value": vector.tolist(),
                    "space_type": SPACE,
                },
            },
        }
    }
    nested = {"path": "windows", "score_mode": "max", "query": comparing}
    return {"bool": {**_clauses(where, kinds=True), "must": [{"nested": nested}]}}


def through_graph(where: SearchFilter, vector: NDArray[np.float32], width: int) -> Json:
    """The nearest memories, by the windows that a walk of this width finds.

    The filter is part of the walk, so that it ends with as many as it was asked for.
    """
    walking = {
        "vector": vector.tolist(),
        "k": width,
        "filter": {"bool": _clauses(where, kinds=True)},
    }
    nested = {
        "path": "windows",
        "score_mode": "max",
        "query": {"knn": {"windows.vector": walking}},
    }
    return {"nested": nested}


def _clauses(where: SearchFilter, *, kinds: bool) -> Json:
    moment: Json = (
        {"term": {"live": True}} if where.alive_at is None else {"term": {"alive": where.alive_at}}
    )
    return {
        "filter": [
            {"terms": {"visible_in": list(where.visible_in)}},
            moment,
            *(_of_kinds(where) if kinds else ()),
        ],
        "must_not": [{"terms": {"memory_id": list(where.without)}}],
    }


def _of_kinds(where: SearchFilter) -> list[Json]:
    return [] if where.kinds is None else [{"terms": {"kind": list(where.kinds)}}]


class Candidate(Struct, frozen=True):
    """A memory that a leg chose, as either leg sees it."""

    nearest: SemanticMatch
    match: LexicalMatch
    score: float

    @property
    def by_cosine(self) -> tuple[float, str]:
        """Its place among others, nearest first."""
        return -self.nearest.cosine, self.nearest.memory_id

    @property
    def by_score(self) -> tuple[float, str]:
        """Its place among others, best match first."""
        return -self.score, self.match.memory_id


def candidate_of(
    hit: Json, vector: NDArray[np.float32], tokens: Sequence[str], score_of: Scorer
) -> Candidate:
    """What both legs say of a hit of `fetching`."""
    memory_id, source = hit["_id"], hit["_source"]
    (packed,) = hit["fields"]["packed"]
    # The engine answers with the URL's alphabet, and without the padding.
    windows = np.frombuffer(urlsafe_b64decode(packed + "=="), window_type(len(vector)))
    near = cosines(vector, [window.tobytes() for window in windows["vector"]])
    nearest = int(np.argmax(near))
    held = source.get("frequencies", {})
    frequencies = {token: held[term_of(token)] for token in tokens if term_of(token) in held}
    return Candidate(
        SemanticMatch(
            memory_id,
            float(near[nearest]),
            int(windows["start"][nearest]),
            int(windows["end"][nearest]),
        ),
        LexicalMatch(memory_id, frequencies, source["length"]),
        score_of(frequencies, source["length"]),
    )


def statistics_of(answer: Json, tokens: Sequence[str]) -> CorpusStatistics:
    """What an answer to `corpus_query` counted."""
    counted = answer["aggregations"]
    return CorpusStatistics(
        documents=counted["documents"]["value"],
        length=int(counted["length"]["value"]),
        document_frequency={token: counted[term_of(token)]["doc_count"] for token in tokens},
    )
