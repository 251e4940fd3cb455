"""The search index in OpenSearch: one document a memory, its windows nested in it.

What a shared index counts, a stranger changes. So BM25's statistics are counted over the filter's
scopes, in the request that brings the candidates; the engine's own similarity looks at nothing but
a document and the weights that a query gives to its terms; and scores are computed here, from the
frequencies and vectors that candidates bring along.
"""

import logging
import random
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import numpy as np
from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError
from msgspec import Struct
from numpy.typing import NDArray
from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from opensearchpy.exceptions import (
    ConnectionError,  # noqa: A004
    NotFoundError,
    OpenSearchException,
    RequestError,
    TransportError,
)

from zero_memory.adapters.aws_session import aws_session
from zero_memory.ports.search_index import (
    CorpusStatistics,
    DocumentRefused,
    IndexDocument,
    IndexNotFilled,
    IndexUnavailable,
    LexicalMatch,
    SearchAnswer,
    SearchFilter,
    SemanticMatch,
)
from zero_memory.retrieval.lexical import Bm25, Scorer, bm25_scorer, rarity

T = TypeVar("T")
Json = dict[str, Any]
Engine = Literal["lucene", "faiss"]

_FORMAT = 2
"""Of the documents and the mapping; an index of another one asks for a reindex."""

_COMPLETE = "complete"
"""What an index says in its mapping when it holds every memory."""

_NOT_FILLED = "The search index is not filled yet: it fills by the schedule, or zm admin reindex."

_TYPICAL_LENGTH = 60.0
"""Tokens. Which candidates the engine brings hangs on it, no score does (see `_MORE`)."""

_MORE = 2
"""So many times the candidates that a leg is asked for are fetched, and the best of them kept.

The engine chooses by lengths in a byte and by `_TYPICAL_LENGTH`, and its sums differ from ours."""

_LEAST = 32
"""At least so many candidates are fetched."""

_EXACT_DOCUMENTS = 10_000
"""Up to so many memories in a filter, every vector is compared; the graph is for more."""

_GRAPH_WIDTH = 256
"""Windows that a walk through the graph keeps at least: the more, the nearer to exact."""

_SEARCH_S = 4.0
"""A search ends within this, retries included: well below a function's 20 s."""

_WRITE_S = 24.0
"""A write ends within this, retries included: well below the indexer's 60 s."""

_ATTEMPTS = 4
_FIRST_WAIT_S = 0.05
_TOO_MANY_REQUESTS = 429
_PASSING = frozenset((_TOO_MANY_REQUESTS, 502, 503, 504))
_NOT_FOUND = 404
_CONFLICT = 409
_ERROR = 400

_KNOWN_S = 60.0
"""How long the live index is taken for the one it was: it may be lost, and made anew half full."""

_BULK_DOCUMENTS = 500
_BULK_WINDOWS = 250
"""Some 5 MB of JSON with 768 dimensions; the smallest domains take 10 MB a request."""


def domain_client(endpoint: str) -> OpenSearch:
    """A client of the domain at an https URL, by the process's own AWS credentials and region.

    Of a node on this machine, at an http one.
    """
    if urlsplit(endpoint).scheme != "https":
        return opensearch_client(endpoint)
    session: Any = aws_session()  # the stubs know no configuration by its name here
    region = session.get_config_variable("region")
    return opensearch_client(endpoint, session.get_credentials(), region)


def opensearch_client(
    endpoint: str, credentials: Credentials | None = None, region: str = ""
) -> OpenSearch:
    """A client of the engine at a URL. With credentials, each request is signed (`es`, SigV4)."""
    # At level DEBUG it would log what is asked and answered.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    url = urlsplit(endpoint)
    secure = url.scheme == "https"
    return OpenSearch(
        hosts=[{"host": url.hostname, "port": url.port or (443 if secure else 80)}],
        http_auth=credentials and Urllib3AWSV4SignerAuth(credentials, region, "es"),
        use_ssl=secure,
        verify_certs=secure,
        connection_class=Urllib3HttpConnection,
        pool_maxsize=8,
        max_retries=0,  # they are ours: with jitter, and within a budget
    )


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
    included.
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
        self.made_of = {"format": _FORMAT, "model": model, "dimensions": dimensions}
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
        with _available():
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
        if any(each.model != self.made_of["model"] for each in documents):
            raise DocumentRefused(_asks_for_reindex("a memory's vectors are of another model"))
        with _available():
            if not documents:
                return
            for alias in self._targets(time.monotonic() + self._write_s):
                for bulk in _bulks(documents):
                    self._store(alias, bulk, time.monotonic() + self._write_s)

    def erase(self, memory_ids: Sequence[str]) -> None:
        """Remove them: from answers at once, from the files with the merge that this starts."""
        with _available():
            ends = time.monotonic() + self._write_s
            for alias in self._aliases(ends):
                deletes = [{"delete": {"_id": memory_id}} for memory_id in memory_ids]
                for start in range(0, len(deletes), _BULK_DOCUMENTS):
                    self._bulk(alias, [[each] for each in deletes[start:][:_BULK_DOCUMENTS]], ends)
                self._ask(
                    lambda wait, alias=alias: self._client.indices.forcemerge(
                        index=alias,
                        params={
                            "only_expunge_deletes": "true",
                            "wait_for_completion": "false",
                            "request_timeout": wait,
                        },
                    ),
                    ends,
                )

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """Counted by the engine."""
        with _available():
            ends = time.monotonic() + self._search_s
            self._must_answer(ends)
            body = {
                "size": 0,
                "query": {"bool": _clauses(where, kinds=True)},
                "aggs": {"kinds": {"terms": {"field": "kind", "size": 100}}},
            }
            (answer,) = self._searches([body], ends)
        buckets = answer["aggregations"]["kinds"]["buckets"]
        return {each["key"]: each["doc_count"] for each in buckets}

    @contextmanager
    def replacing(self) -> Generator[None]:
        """Beside the live one, which answers and is written to until the alias changes hands."""
        with _available():
            left = self._aliases(time.monotonic() + self._write_s).get(self._building)
            if left is not None:
                self._client.indices.delete(index=left.name)
            made = self._create(self._building, token_hex(8))
        try:
            yield
        except BaseException:
            with _available():
                self._client.indices.delete(index=made, params={"ignore_unavailable": "true"})
            raise
        with _available():
            self._complete(made)
            live = self._aliases(time.monotonic() + self._write_s).get(self.name)
            actions: list[Json] = [
                {"add": {"index": made, "alias": self.name}},
                {"remove": {"index": made, "alias": self._building}},
            ]
            if live is not None:
                actions.insert(0, {"remove_index": {"index": live.name}})
            self._client.indices.update_aliases(body={"actions": actions})

    def identity(self) -> str:
        """The engine's own id of the live index, which is made when there is none."""
        with _available():
            ends = time.monotonic() + self._write_s
            self._targets(ends)
            return self._live(ends).uuid

    def revisions(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        """Read by id from the live index, as it is written and not as it was refreshed."""
        if not memory_ids:
            return {}
        with _available():
            ends = time.monotonic() + self._search_s
            self._live(ends)
            found = self._found(self.name, memory_ids, ends)
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
        with _available():
            ends = time.monotonic() + self._search_s
            self._live(ends)
            (answer,) = self._searches([body], ends)
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    def mark_complete(self) -> None:
        """Written into the live index's mapping."""
        with _available():
            live = self._live(time.monotonic() + self._write_s)
            if not live.complete:
                self._complete(live.name)

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

    def _complete(self, name: str) -> None:
        self._client.indices.put_mapping(
            index=name, body={"_meta": {**self.made_of, _COMPLETE: True}}
        )

    def _targets(self, ends: float) -> list[str]:
        """The aliases that a document goes to, asked for at each write.

        Who builds an index makes it before reading the table. So who wrote without it had read the
        table before that, and what it read is in there.
        """
        there = self._aliases(ends)
        fitting = [alias for alias, index in there.items() if index.made_of == self.made_of]
        if fitting:
            return fitting
        if there:
            self._check(next(iter(there.values())))
        self._create(self.name, "first")
        return [self.name]

    def _aliases(self, ends: float) -> dict[str, _Index]:
        found = self._ask(
            lambda wait: self._client.indices.get(
                index=f"{self.name}-*", params={"request_timeout": wait}
            ),
            ends,
        )
        return {
            alias: _index(name, index)
            for name, index in found.items()
            for alias in index["aliases"]
            if alias in (self.name, self._building)
        }

    def _create(self, alias: str, suffix: str) -> str:
        """Make an index behind an alias, unless another process was first."""
        name = f"{self.name}-{suffix}"
        body: Json = {
            "settings": _settings(self._bm25),
            "mappings": _mappings(self.made_of, self._dimensions, self._engine),
            "aliases": {alias: {}},
        }
        try:
            self._client.indices.create(index=name, body=body, params={"request_timeout": 30})
        except RequestError as refused:
            if refused.error != "resource_already_exists_exception":
                raise
        return name

    # Writing

    def _store(self, alias: str, documents: Sequence[IndexDocument], ends: float) -> None:
        pending = {each.memory_id: each for each in documents}
        while pending:
            operations = [
                [
                    {
                        "index": {
                            "_id": each.memory_id,
                            "version": each.revision,
                            "version_type": "external",
                        }
                    },
                    _source(each),
                ]
                for each in pending.values()
            ]
            refused = self._bulk(alias, operations, ends)
            pending = {each: pending[each] for each in self._forgotten(alias, refused, ends)}
            if pending:
                self._pause(ends)

    def _forgotten(self, alias: str, memory_ids: Sequence[str], ends: float) -> list[str]:
        """Those that were refused for the version of a memory that is erased.

        The engine forgets such a version within a second (`index.gc_deletes`).
        """
        if not memory_ids:
            return []
        found = self._found(alias, memory_ids, ends)
        return [each["_id"] for each in found if not each["found"]]

    def _found(self, alias: str, memory_ids: Sequence[str], ends: float) -> list[Json]:
        """Whether each of these memories is there, and at which version."""
        answer = self._ask(
            lambda wait: self._client.mget(
                index=alias,
                body={"ids": list(memory_ids)},
                params={"_source": "false", "request_timeout": wait},
            ),
            ends,
        )
        return answer["docs"]

    def _bulk(self, alias: str, operations: Sequence[Sequence[Json]], ends: float) -> list[str]:
        """Do them until searches see them; answers the ids that were refused for their version.

        What the engine was too busy for is tried again.
        """
        conflicts: list[str] = []
        waiting = list(operations)
        while waiting:
            lines = [line for operation in waiting for line in operation]
            answer = self._ask(
                lambda wait, lines=lines: self._client.bulk(
                    index=alias,
                    body=lines,
                    params={"refresh": "true", "require_alias": "true", "request_timeout": wait},
                ),
                ends,
            )
            results = [next(iter(each.values())) for each in answer["items"]]
            again: list[Sequence[Json]] = []
            for operation, result in zip(waiting, results, strict=True):
                if result["status"] == _CONFLICT:
                    conflicts.append(result["_id"])
                elif result["status"] in _PASSING:
                    again.append(operation)
                elif not self._is_done(alias, result):
                    raise DocumentRefused(result["error"]["type"])
            waiting = again
            if waiting:
                self._pause(ends)
        return conflicts

    def _is_done(self, alias: str, result: Json) -> bool:
        """Whether an operation is done, or has nothing left to do it to.

        A memory may be gone, and so may the index that was being built.
        """
        if result["status"] < _ERROR:
            return True
        gone = result["status"] == _NOT_FOUND
        return gone and ("error" not in result or alias == self._building)

    def _pause(self, ends: float) -> None:
        if time.monotonic() > ends:
            raise IndexUnavailable("The search engine is too busy for writes.")
        time.sleep(random.uniform(0, 4 * _FIRST_WAIT_S))  # noqa: S311 - jitter is no secret

    # Reading

    def _search(
        self,
        where: SearchFilter,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
        ends: float,
    ) -> SearchAnswer:
        """First what the query's words weigh and how large its corpus is, then the legs by that.

        The lexical leg counts again, so that its matches and what they are scored by are of one
        state of the index.
        """
        counting = {"size": 0, "track_total_hits": False, **_counting(where, tokens)}
        (counted,) = self._searches([counting], ends)
        corpus = _statistics(counted, tokens)
        if corpus.documents == 0:
            # Of a scope without memories, or of an index that was made anew.
            self._known = None
            self._must_answer(ends)
            return SearchAnswer((), (), corpus)
        shape = {"size": min(max(_MORE * limit, _LEAST), 10_000), **_fetching(tokens)}
        if corpus.documents <= self._exact_documents:
            semantic = _every_vector(where, vector)
        else:
            width = min(max(_MORE * limit, _GRAPH_WIDTH), 10_000)
            semantic = _through_graph(where, vector, width)
        words = _counting(where, tokens)
        words["query"]["bool"]["should"] = [
            {"term": {"tokens": {"value": _term(token), "boost": rarity(token, corpus)}}}
            for token in tokens
        ]
        words["post_filter"] = {
            "bool": {"filter": [_holds_any(tokens), *_of_kinds(where)]},
        }
        near, match = self._searches(
            [
                {**shape, "query": semantic},
                {**shape, **words},
            ],
            ends,
        )
        hits = [*near["hits"]["hits"], *match["hits"]["hits"]]
        if any(hit["_index"] != self._known for hit in hits):
            self._known = None
            self._must_answer(ends)
        statistics = _statistics(match, tokens)
        score_of = bm25_scorer(tokens, statistics, self._bm25)
        candidates = {hit["_id"]: _candidate(hit, vector, tokens, score_of) for hit in hits}
        nearest = sorted(
            (candidates[hit["_id"]] for hit in near["hits"]["hits"]), key=_Candidate.by_cosine
        )
        matching = sorted(
            (candidates[hit["_id"]] for hit in match["hits"]["hits"]), key=_Candidate.by_score
        )
        chosen = {each.nearest.memory_id: each for each in (*nearest[:limit], *matching[:limit])}
        return SearchAnswer(
            semantic=tuple(
                each.nearest for each in sorted(chosen.values(), key=_Candidate.by_cosine)
            ),
            lexical=tuple(
                each.match
                for each in sorted(chosen.values(), key=_Candidate.by_score)
                if each.match.frequencies
            ),
            statistics=statistics,
        )

    def _searches(self, bodies: Sequence[Json], ends: float) -> list[Json]:
        """The engine's answers, each of them whole."""

        def ask(wait: float) -> list[Json]:
            lines: list[Json] = []
            for body in bodies:
                lines += [{"allow_partial_search_results": False}, body]
                body["timeout"] = f"{int(wait * 1_000) + 1}ms"
            answers = self._client.msearch(
                index=self.name, body=lines, params={"request_timeout": wait}
            )["responses"]
            for answer in answers:
                if "error" in answer:
                    kind = {_ERROR: RequestError, _NOT_FOUND: NotFoundError}
                    error = kind.get(answer["status"], TransportError)
                    raise error(answer["status"], answer["error"]["type"], {})
                if answer["timed_out"] or answer["_shards"]["failed"]:
                    raise IndexUnavailable("The search engine answers in part only.")
            return answers

        return self._ask(ask, ends)

    def _ask(self, call: Callable[[float], T], ends: float) -> T:
        """What the engine answers, `call` being told how long it may take, in seconds.

        An engine that is too busy, does not answer or hangs up is asked again, after a pause of
        random length, up to three times and until `ends`.
        """
        for attempt in range(1, _ATTEMPTS):
            left = max(ends - time.monotonic(), _FIRST_WAIT_S)
            try:
                return call(left / 2)
            except TransportError as failure:
                passing = isinstance(failure, ConnectionError) or failure.status_code in _PASSING
                pause = random.uniform(0, _FIRST_WAIT_S * 2**attempt)  # noqa: S311 - as above
                if not passing or time.monotonic() + pause > ends:
                    raise
            time.sleep(pause)
        return call(max(ends - time.monotonic(), _FIRST_WAIT_S))


class _Candidate(Struct, frozen=True):
    """A memory that a leg chose, as either leg sees it."""

    nearest: SemanticMatch
    match: LexicalMatch
    score: float

    def by_cosine(self) -> tuple[float, str]:
        return -self.nearest.cosine, self.nearest.memory_id

    def by_score(self) -> tuple[float, str]:
        return -self.score, self.match.memory_id


def _candidate(
    hit: Json, vector: NDArray[np.float32], tokens: Sequence[str], score_of: Scorer
) -> _Candidate:
    memory_id, source = hit["_id"], hit["_source"]
    windows = np.frombuffer(b64decode(source["packed"]), _window(len(vector)))
    cosines = np.vecdot(windows["vector"], vector)
    nearest = int(np.argmax(cosines))
    held = source.get("frequencies", {})
    frequencies = {token: held[_term(token)] for token in tokens if _term(token) in held}
    return _Candidate(
        SemanticMatch(
            memory_id,
            float(cosines[nearest]),
            int(windows["start"][nearest]),
            int(windows["end"][nearest]),
        ),
        LexicalMatch(memory_id, frequencies, source["length"]),
        score_of(frequencies, source["length"]),
    )


def _statistics(answer: Json, tokens: Sequence[str]) -> CorpusStatistics:
    counted = answer["aggregations"]
    return CorpusStatistics(
        documents=counted["documents"]["value"],
        length=int(counted["length"]["value"]),
        document_frequency={token: counted[_term(token)]["doc_count"] for token in tokens},
    )


# What is stored


def _settings(bm25: Bm25) -> Json:
    """One shard: up to a few million memories, and every word is counted in one place."""
    weight, share = bm25.saturation, bm25.length_weight
    norm = f"{weight * (1 - share)} + {weight * share / _TYPICAL_LENGTH} * doc.length"
    return {
        "index": {
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
    }


def _mappings(made_of: Json, dimensions: int, engine: Engine) -> Json:
    return {
        "_meta": {**made_of, _COMPLETE: False},
        "dynamic": "strict",
        # What is only searched need not be kept as it came: the table has it.
        "_source": {"excludes": ["tokens", "windows"]},
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
            "packed": {"type": "binary"},
            "windows": {
                "type": "nested",
                "properties": {
                    "vector": {
                        "type": "knn_vector",
                        "dimension": dimensions,
                        "method": {
                            "name": "hnsw",
                            "engine": engine,
                            "space_type": "cosinesimil",
                        },
                    }
                },
            },
        },
    }


def _source(document: IndexDocument) -> Json:
    """A memory as it is stored.

    The frequencies and vectors that scores are made of come back with a candidate; beside them
    stands what the engine searches.
    """
    windows = np.zeros(len(document.windows), _window(len(document.windows[0].vector)))
    for at, window in enumerate(document.windows):
        windows[at] = (window.start, window.end, window.vector)
    frequencies = {_term(token): count for token, count in document.tokens.items()}
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
        "windows": [{"vector": window.vector.tolist()} for window in document.windows],
    }


def _window(dimensions: int) -> np.dtype[Any]:
    return np.dtype([("start", "<u4"), ("end", "<u4"), ("vector", "<f4", (dimensions,))])


def _term(token: str) -> str:
    """A token by its hash: a term of even length, that is no path, and no word of a memory."""
    return blake2b(token.encode(), digest_size=8).hexdigest()


def _bulks(documents: Sequence[IndexDocument]) -> Iterable[list[IndexDocument]]:
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


# What is asked


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


def _holds_any(tokens: Sequence[str]) -> Json:
    return {"terms": {"tokens": [_term(token) for token in tokens]}}


def _counting(where: SearchFilter, tokens: Sequence[str]) -> Json:
    """Asks for the statistics of the filter's scopes and moment, whatever its kinds."""
    aggregations: Json = {
        "documents": {"value_count": {"field": "memory_id"}},
        "length": {"sum": {"field": "length"}},
    }
    for token in tokens:
        aggregations[_term(token)] = {"filter": {"term": {"tokens": _term(token)}}}
    return {"query": {"bool": _clauses(where, kinds=False)}, "aggs": aggregations}


def _fetching(tokens: Sequence[str]) -> Json:
    """Asks for what candidates are scored by, best first, ties by id."""
    return {
        "track_total_hits": False,
        "sort": [{"_score": "desc"}, {"memory_id": "asc"}],
        "_source": ["packed", "length", *(f"frequencies.{_term(token)}" for token in tokens)],
    }


def _every_vector(where: SearchFilter, vector: NDArray[np.float32]) -> Json:
    comparing: Json = {
        "script_score": {
            "query": {"match_all": {}},
            "script": {
                "lang": "knn",
                "source": "knn_score",
                "params": {
                    "field": "windows.vector",
                    "query_value": vector.tolist(),
                    "space_type": "cosinesimil",
                },
            },
        }
    }
    nested = {"path": "windows", "score_mode": "max", "query": comparing}
    return {"bool": {**_clauses(where, kinds=True), "must": [{"nested": nested}]}}


def _through_graph(where: SearchFilter, vector: NDArray[np.float32], width: int) -> Json:
    """The filter is part of the walk, so that it ends with as many as it was asked for."""
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


def _index(name: str, described: Json) -> _Index:
    made_of = dict(described["mappings"]["_meta"])
    # An index of an earlier format says nothing of it, and does not fit anyway.
    complete = bool(made_of.pop(_COMPLETE, False))
    return _Index(name, described["settings"]["index"]["uuid"], made_of, complete)


def _asks_for_reindex(reason: str) -> str:
    return f"The search index does not fit, as {reason}: run zm admin reindex."


@contextmanager
def _available() -> Generator[None]:
    """Turns what the client raises into the port's error; what the engine says stays here."""
    try:
        yield
    except TransportError as failure:
        status = failure.status_code if isinstance(failure.status_code, int) else None
        said = type(failure).__name__ if status is None else f"HTTP {status}"
        raise IndexUnavailable(f"The search engine does not answer ({said}).") from failure
    except (OpenSearchException, BotoCoreError) as failure:
        said = type(failure).__name__
        raise IndexUnavailable(f"The search engine cannot be asked ({said}).") from failure
