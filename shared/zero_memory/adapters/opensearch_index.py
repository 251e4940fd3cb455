"""The search index in OpenSearch: one document a memory, its windows nested in it.

What a shared index counts, a stranger changes. So BM25's statistics are counted over the filter's
scopes, in the request that brings the candidates; the engine's own similarity looks at nothing but
a document and the weights that a query gives to its terms; and scores are computed here, from the
frequencies and vectors that candidates bring along.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from opensearchpy import OpenSearch
from opensearchpy.exceptions import NotFoundError, RequestError

from zero_memory.adapters.opensearch_client import (
    Json,
    ask,
    available,
    search_each,
)
from zero_memory.adapters.opensearch_documents import (
    COMPLETE,
    FORMAT,
    Engine,
    bulks_of,
    index_mappings,
    index_settings,
)
from zero_memory.adapters.opensearch_queries import (
    by_words,
    candidate_of,
    corpus_query,
    every_vector,
    facets_query,
    fetching,
    statistics_of,
    through_graph,
)
from zero_memory.adapters.opensearch_writing import Target, looked_up, remove, store
from zero_memory.ports.search_index import (
    DocumentRefused,
    IndexDocument,
    IndexNotFilled,
    IndexUnavailable,
    IndexWriter,
    SearchAnswer,
    SearchFilter,
)
from zero_memory.retrieval.lexical import Bm25, bm25_scorer

_NOT_FILLED = "The search index is not filled yet: it fills by the schedule, or zm admin reindex."

_MORE = 2
"""So many times the candidates that a leg is asked for are fetched, and the best of them kept.

The engine chooses by lengths in a byte and by a typical length, and its sums differ from ours."""

_LEAST = 32
"""At least so many candidates are fetched."""

_EXACT_DOCUMENTS = 10_000
"""Up to so many memories in a filter, every vector is compared; the graph is for more."""

_GRAPH_WIDTH = 256
"""Windows that a walk through the graph keeps at least: the more, the nearer to exact."""

_SEARCH_S = 4.0
"""A search ends within this, retries included: well below a function's 29 s."""

_WRITE_S = 24.0
"""A write ends within this, retries included: well below the indexer's 60 s."""

_KNOWN_S = 60.0
"""How long the live index is taken for the one it was: it may be lost, and made anew half full."""

_BUILD_S = 300.0
"""For a bulk of an index that is being built, or its last refresh: the engine may be merging
graphs."""


class _Index(Struct, frozen=True):
    """An index behind one of the aliases: what it is made of, and if it holds every memory."""

    name: str
    uuid: str
    made_of: Json
    complete: bool


class OpenSearchIndex:
    """`ports.search_index.DerivedIndex` in the indexes `<name>-*`, behind the alias `name`.

    The index is made at the first write, and is not complete then. It says in its mapping which
    model its vectors are of; a change of `model` or `dimensions` asks for a reindex, at each call.
    A search ends within `search_s` seconds and a write of one bulk within `write_s`, retries
    included; one of the writer that `replacing` yields has minutes, as nobody waits but an
    operator.
    """

    def __init__(
        self,
        client: OpenSearch,
        *,
        model: str,
        dimensions: int,
        name: str = "memories",
        engine: Engine = "lucene",
        exact_documents: int = _EXACT_DOCUMENTS,
        search_s: float = _SEARCH_S,
        write_s: float = _WRITE_S,
        bm25: Bm25 | None = None,
    ) -> None:
        self._client = client
        self.made_of = {"format": FORMAT, "model": model, "dimensions": dimensions}
        self._dimensions = dimensions
        self.name = name
        self._building = f"{name}-building"
        self._engine: Engine = engine
        self._exact_documents = exact_documents
        self._search_s = search_s
        self._write_s = write_s
        self._bm25 = bm25 or Bm25()
        self._known: str | None = None
        self._known_until = 0.0

    def search(
        self,
        where: SearchFilter,
        *,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
    ) -> SearchAnswer:
        """Both legs within `search_s`, over the filter's scopes as one corpus.

        The semantic leg is exact up to `exact_documents` memories in the filter, and a walk
        through the graph of vectors beyond.
        """
        if len(vector) != self._dimensions:
            raise IndexUnavailable(_asks_for_reindex("the query's vector has other dimensions"))
        with available():
            ends = time.monotonic() + self._search_s
            self._must_answer(ends)
            try:
                return self._search(where, vector, tokens, limit, ends)
            except (NotFoundError, RequestError):
                self._known = None
                self._must_answer(ends)
                raise

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """Store documents, in bulks, and in the index that is being built as well."""
        self._store(documents, self._targets, self._write_s)

    def erase(self, memory_ids: Sequence[str]) -> None:
        """Remove them: from answers at once, from the files with the merge that this starts."""
        with available():
            ends = time.monotonic() + self._write_s
            for target in self._written(self._aliases(ends)):
                remove(self._client, target, memory_ids, ends)

    def _store(
        self,
        documents: Sequence[IndexDocument],
        targets: Callable[[float], Sequence[Target]],
        bulk_s: float,
    ) -> None:
        if any(each.model != self.made_of["model"] for each in documents):
            raise DocumentRefused(_asks_for_reindex("a memory's vectors are of another model"))
        with available():
            if not documents:
                return
            for target in targets(time.monotonic() + bulk_s):
                for bulk in bulks_of(documents):
                    store(self._client, target, bulk, time.monotonic() + bulk_s)

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """Counted by the engine."""
        with available():
            ends = time.monotonic() + self._search_s
            self._must_answer(ends)
            (answer,) = search_each(self._client, self.name, [facets_query(where)], ends)
        buckets = answer["aggregations"]["kinds"]["buckets"]
        return {each["key"]: each["doc_count"] for each in buckets}

    @contextmanager
    def replacing(self) -> Generator[IndexWriter]:
        """Beside the live one, which answers and is written to until the alias changes hands.

        The engine makes segments of what is written as it likes until the block ends: each refresh
        would make a small one, with a graph of its own that a merge makes anew.
        """
        with available():
            ends = time.monotonic() + self._write_s
            left = self._aliases(ends).get(self._building)
            if left is not None:
                self._abandon(left.name, ends)
            made = self._create(self._building, token_hex(8), ends, {"refresh_interval": "-1"})
        anew = Target(self._building, refresh=False, may_be_gone=True)
        try:
            yield _NewIndex(
                lambda documents: self._store(documents, lambda _: [anew], _BUILD_S), self.erase
            )
            with available():
                self._refresh(made, time.monotonic() + _BUILD_S)
                ends = time.monotonic() + self._write_s
                self._complete(made, ends)
                self._replace_live(made, ends)
        except BaseException:
            with suppress(IndexUnavailable), available():  # else the next one drops it
                self._abandon(made, time.monotonic() + self._write_s)
            raise

    def identity(self) -> str:
        """The engine's own id of the live index, which is made when there is none."""
        with available():
            ends = time.monotonic() + self._write_s
            self._targets(ends)
            return self._live(ends).uuid

    def revisions(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        """Read by id from the live index, as it is written and not as it was refreshed."""
        if not memory_ids:
            return {}
        with available():
            ends = time.monotonic() + self._search_s
            self._live(ends)
            found = looked_up(self._client, self.name, memory_ids, ends)
        return {each["_id"]: each["_version"] for each in found if each["found"]}

    def stored(self, *, after: str, limit: int) -> Sequence[str]:
        """From the live index, by the ids in its documents."""
        body = {
            "size": limit,
            "track_total_hits": False,
            "query": {"range": {"memory_id": {"gt": after}}},
            "sort": [{"memory_id": "asc"}],
            "_source": False,
        }
        with available():
            ends = time.monotonic() + self._search_s
            self._live(ends)
            (answer,) = search_each(self._client, self.name, [body], ends)
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    def mark_complete(self) -> None:
        """Written into the live index's mapping."""
        with available():
            ends = time.monotonic() + self._write_s
            live = self._live(ends)
            if not live.complete:
                self._complete(live.name, ends)

    # Indexes and aliases

    def _must_answer(self, ends: float) -> None:
        """Raises IndexNotFilled unless the live index holds every memory, and as `_live` does."""
        if self._known is None or time.monotonic() > self._known_until:
            self._known = None
            live = self._live(ends)
            if not live.complete:
                raise IndexNotFilled(_NOT_FILLED)
            self._known = live.name
            self._known_until = time.monotonic() + _KNOWN_S

    def _live(self, ends: float) -> _Index:
        """The live index. Raises IndexNotFilled without one, IndexUnavailable of another model."""
        live = self._aliases(ends).get(self.name)
        if live is None:
            raise IndexNotFilled(_NOT_FILLED)
        self._check(live)
        return live

    def _check(self, index: _Index) -> None:
        if index.made_of != self.made_of:
            raise IndexUnavailable(_asks_for_reindex("it was made for another model"))

    def _complete(self, name: str, ends: float) -> None:
        body = {"_meta": {**self.made_of, COMPLETE: True}}
        ask(
            lambda wait: self._client.indices.put_mapping(
                index=name, body=body, params={"request_timeout": wait}
            ),
            ends,
        )

    def _refresh(self, name: str, ends: float) -> None:
        """Show searches all that was written, and from now on as it is written."""
        body = {"index": {"refresh_interval": None}}
        ask(
            lambda wait: self._client.indices.put_settings(
                index=name, body=body, params={"request_timeout": wait}
            ),
            ends,
        )
        ask(
            lambda wait: self._client.indices.refresh(index=name, params={"request_timeout": wait}),
            ends,
        )

    def _replace_live(self, made: str, ends: float) -> None:
        """Put an index in the live one's place, in one step."""

        def attempt(wait: float) -> None:
            live = self._ask_aliases(wait / 2).get(self.name)
            if live is not None and live.name == made:
                return  # by an earlier attempt, whose answer was lost
            actions: list[Json] = [
                {"add": {"index": made, "alias": self.name}},
                self._no_longer_building(made),
            ]
            if live is not None:
                actions.insert(0, {"remove_index": {"index": live.name}})
            self._client.indices.update_aliases(
                body={"actions": actions}, params={"request_timeout": wait / 2}
            )

        try:
            ask(attempt, ends)
        except NotFoundError:
            # An earlier attempt may have come to its end after this one had looked.
            if self._live(ends).name != made:
                raise

    def _abandon(self, made: str, ends: float) -> None:
        """Drop an index that was being built, unless it is the live one by now.

        Without its alias it can't become that any more, should a request still be on its way.
        """
        body = {"actions": [self._no_longer_building(made)]}
        try:
            ask(
                lambda wait: self._client.indices.update_aliases(
                    body=body, params={"request_timeout": wait}
                ),
                ends,
            )
        except NotFoundError:
            live = self._aliases(ends).get(self.name)
            if live is not None and live.name == made:
                return
        ask(
            lambda wait: self._client.indices.delete(
                index=made, params={"ignore_unavailable": "true", "request_timeout": wait}
            ),
            ends,
        )

    def _no_longer_building(self, made: str) -> Json:
        """What fails, with all that is asked along with it, when it is so already.

        Needs OpenSearch 2.12 (`must_exist`).
        """
        return {"remove": {"index": made, "alias": self._building, "must_exist": True}}

    def _targets(self, ends: float) -> list[Target]:
        """Where a document goes, asked for at each write.

        Who builds an index makes it before reading the table. So who wrote without it had read the
        table before that, and what it read is in there.
        """
        there = self._aliases(ends)
        fitting = [alias for alias, index in there.items() if index.made_of == self.made_of]
        if there and not fitting:
            self._check(next(iter(there.values())))
        if not there:
            self._create(self.name, "first", ends)
        return self._written(fitting or [self.name])

    def _written(self, aliases: Iterable[str]) -> list[Target]:
        """The live index last: who comes late for the one that was built finds it there."""
        known = {
            self._building: Target(self._building, may_be_gone=True),
            self.name: Target(self.name),
        }
        return [target for alias, target in known.items() if alias in set(aliases)]

    def _aliases(self, ends: float) -> dict[str, _Index]:
        return ask(self._ask_aliases, ends)

    def _ask_aliases(self, wait: float) -> dict[str, _Index]:
        """The indexes behind the aliases, asked for once, within so many seconds."""
        found = self._client.indices.get(index=f"{self.name}-*", params={"request_timeout": wait})
        return {
            alias: _described(name, index)
            for name, index in found.items()
            for alias in index["aliases"]
            if alias in (self.name, self._building)
        }

    def _create(self, alias: str, suffix: str, ends: float, settings: Json | None = None) -> str:
        """Make an index behind an alias, unless another process or attempt was first."""
        name = f"{self.name}-{suffix}"
        body: Json = {
            "settings": {"index": {**index_settings(self._bm25), **(settings or {})}},
            "mappings": index_mappings(self.made_of, self._dimensions, self._engine),
            "aliases": {alias: {}},
        }
        try:
            ask(
                lambda wait: self._client.indices.create(
                    index=name, body=body, params={"request_timeout": wait}
                ),
                ends,
            )
        except RequestError as refused:
            if refused.error != "resource_already_exists_exception":
                raise
        return name

    # Reading

    def _search(
        self,
        where: SearchFilter,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
        ends: float,
    ) -> SearchAnswer:
        """First what the query's words weigh and how large its corpus is, then the legs by that."""
        counting = {"size": 0, "track_total_hits": False, **corpus_query(where, tokens)}
        (counted,) = search_each(self._client, self.name, [counting], ends)
        corpus = statistics_of(counted, tokens)
        if corpus.documents == 0:
            # Of a scope without memories, or of an index that was made anew.
            self._known = None
            self._must_answer(ends)
            return SearchAnswer((), (), corpus)
        shape = {"size": min(max(_MORE * limit, _LEAST), 10_000), **fetching(tokens)}
        if corpus.documents <= self._exact_documents:
            semantic = every_vector(where, vector)
        else:
            width = min(max(_MORE * limit, _GRAPH_WIDTH), 10_000)
            semantic = through_graph(where, vector, width)
        near, match = search_each(
            self._client,
            self.name,
            [{**shape, "query": semantic}, {**shape, **by_words(where, tokens, corpus)}],
            ends,
        )
        hits = [*near["hits"]["hits"], *match["hits"]["hits"]]
        if any(hit["_index"] != self._known for hit in hits):
            self._known = None
            self._must_answer(ends)
        statistics = statistics_of(match, tokens)
        score_of = bm25_scorer(tokens, statistics, self._bm25)
        candidates = {hit["_id"]: candidate_of(hit, vector, tokens, score_of) for hit in hits}
        nearest = sorted(
            (candidates[hit["_id"]] for hit in near["hits"]["hits"]),
            key=lambda each: each.by_cosine,
        )
        matching = sorted(
            (candidates[hit["_id"]] for hit in match["hits"]["hits"]),
            key=lambda each: each.by_score,
        )
        chosen = {each.nearest.memory_id: each for each in (*nearest[:limit], *matching[:limit])}
        return SearchAnswer(
            semantic=tuple(
                each.nearest for each in sorted(chosen.values(), key=lambda each: each.by_cosine)
            ),
            lexical=tuple(
                each.match
                for each in sorted(chosen.values(), key=lambda each: each.by_score)
                if each.match.frequencies
            ),
            statistics=statistics,
        )


class _NewIndex:
    """`ports.search_index.IndexWriter` of an index that is being built."""

    def __init__(
        self,
        store: Callable[[Sequence[IndexDocument]], None],
        erase: Callable[[Sequence[str]], None],
    ) -> None:
        self._store = store
        self._erase = erase

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """In the new index alone."""
        self._store(documents)

    def erase(self, memory_ids: Sequence[str]) -> None:
        """From the live one, too."""
        self._erase(memory_ids)


def _described(name: str, described: Json) -> _Index:
    made_of = dict(described["mappings"]["_meta"])
    # An index of an earlier format says nothing of it, and does not fit anyway.
    complete = bool(made_of.pop(COMPLETE, False))
    return _Index(name, described["settings"]["index"]["uuid"], made_of, complete)


def _asks_for_reindex(reason: str) -> str:
    return f"The search index does not fit, as {reason}: run zm admin reindex."
