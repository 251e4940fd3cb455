"""How long remember and recall take over the whole HTTP path, beside the sum of their parts.

`python -m tests.bench.latency [SIZE …]` fills a home to 1,000, 10,000 and 100,000 memories, starts
the service on it at each, and calls it one call after the other over one connection. The parts are
measured in the same run, in this process, over the same memories:

- embedding: the bundled model, of the same queries and statements
- k-NN: one product with the mapped matrix of all vectors, and the nearest of it; with
  `--opensearch`, a search by the vector alone
- words: what the lexical leg adds to a search of the index
- fsync: one page appended to a file in the home, and synced

Goal: at most twice the sum (recall: the first three; remember: all four, since it also looks for
similar memories). What a home is filled with is synthetic: distinct statements of the words of this
repository's documents, under vectors of random direction, written by the domain into the real table
and index. Queries and measured statements are embedded for real.

`--projects N` spreads the memories over so many projects, all of which a recall reads; without it
they are in one scope. `--opensearch` searches a real node (`make tools` installs it), which a heap
of `--heap` lets hold a million vectors where the machine has the memory; it is filled as `zm admin
reindex` fills a domain, and how quickly is printed. Beside the times stand the service's and the
node's resident memory, with and without mapped files, and the disk they take; and the processor's
time of the service, indexing included, beside that of the parts, which other work on the machine
distorts less.
"""

import argparse
import http.client
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from opensearchpy import OpenSearch

from tests.opensearch.homes import warm_up
from tests.opensearch.node import running_node
from tests.samples import REPOSITORY
from tests.service import ZM, Service, started
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import Meta, Passage, StoredWindow
from zero_memory.memory.write import Destination, Draft, Submission, remember
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import (
    DerivedIndex,
    SearchFilter,
    SearchIndex,
)
from zero_memory.ports.table import Action, Table, ref
from zero_memory.retrieval.analysis import query_tokens, tokens
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.reindexing import Progress, reindex
from zero_memory.retrieval.vectors import pack
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import authenticate
from zero_memory.scopes.visibility import scope_filter
from zero_memory.tools.standing import stand

SIZES = (1_000, 10_000, 100_000)
GOAL = 2.0
WARM_UP = 10
MEASURED = 100
TRANSACTION_ACTIONS = 100
INDEXED_AT_ONCE = 1_000
CANDIDATES = 40
PAGE = b"x" * 4_096

_WORD = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True)
class Times:
    """Milliseconds: one for each call, and of the processor in the mean."""

    each: Sequence[float]
    processor: float

    @property
    def p50(self) -> float:
        return statistics.median(self.each)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.each, n=20)[-1]

    def __str__(self) -> str:
        return f"{self.p50:7.1f} {self.p95:7.1f}"


def timed(
    calls: Sequence[Callable[[], object]], spent: Callable[[], float] = time.process_time
) -> Times:
    """`spent` tells the processor's seconds of the process that does the work."""
    for call in calls[:WARM_UP]:
        call()
    taken: list[float] = []
    before = spent()
    for call in calls[WARM_UP:]:
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1_000)
    return Times(taken, (spent() - before) / len(taken) * 1_000)


class Phrases:
    """Distinct statements, their words as unevenly common as in prose."""

    def __init__(self) -> None:
        documents = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
        prose = " ".join(document.read_text(encoding="utf-8") for document in documents)
        self._words = sorted({word.lower() for word in _WORD.findall(prose)})
        self._random = random.Random(7)  # noqa: S311 - the same in every run
        self._random.shuffle(self._words)
        self._weights = [1 / (rank + 1) for rank in range(len(self._words))]

    def one(self, words: int) -> str:
        """A statement of so many words, with a number that no other has."""
        said = " ".join(self._random.choices(self._words, self._weights, k=words))
        return f"{said} {self._random.getrandbits(48)}"


class Gathered:
    """A table whose transactions are gathered, so that filling it takes one fsync for many."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._actions: list[Action] = []
        self.get = table.get
        self.get_many = table.get_many
        self.query = table.query
        self.keys = table.keys
        self.scrub = table.scrub
        self.view_lag_ms = table.view_lag_ms

    def transact(self, actions: Sequence[Action]) -> None:
        if len(self._actions) + len(actions) > TRANSACTION_ACTIONS:
            self.flush()
        self._actions.extend(actions)

    def flush(self) -> None:
        if self._actions:
            self._table.transact(self._actions)
            self._actions.clear()


@dataclass(frozen=True)
class Home:
    """A folder, and what searches it: the local files, or a node of OpenSearch at this address."""

    folder: Path
    node: str | None = None
    projects: int = 0

    @contextmanager
    def serving(self) -> Generator[Service]:
        """The service over it."""
        command = [ZM, "serve", "--home", self.folder, "--port", "0", "--json"]
        searched = {"ZM_SEARCH": "domain", "ZM_SEARCH_ENDPOINT": self.node} if self.node else {}
        with started(command, self.folder, searched) as service:
            yield service

    @contextmanager
    def opened(self) -> Generator[Composition]:
        """Its ports in this process; the service has it again behind."""
        searched: dict[str, Any] = (
            {"search": "domain", "search_endpoint": self.node} if self.node else {}
        )
        settings = Settings(home="local", data_dir=self.folder, **searched)
        composed = bootstrap.use(settings)
        try:
            yield composed
        finally:
            if isinstance(composed.derived_index, LocalIndex):
                composed.derived_index.close()
            cast("SqliteTable", composed.table).close()

    @property
    def target(self) -> Mapping[str, str]:
        """Where a `remember` goes: the personal scope, or the first project."""
        return {"project_hint": "project-0"} if self.projects else {"scope": "personal"}

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text(encoding="utf-8").strip()

    def caller(self, composed: Composition) -> Caller:
        return authenticate(composed.table, composed.clock, self.token)

    def destinations(self, composed: Composition) -> list[Destination]:
        """Where its memories go, made where they are missing."""
        caller = self.caller(composed)
        hints = [f"project-{number}" for number in range(self.projects)]
        places = [stand(composed, caller, project_hint=hint, write=True) for hint in hints]
        chosen = [each.session.project for each in places]
        if not chosen:
            chosen = [stand(composed, caller).access.personal]
        return [Destination(each.scope, each.owner) for each in chosen if each is not None]


def ready_passages(embedder: Embedder, directions: np.random.Generator) -> Callable[[str], Passage]:
    """Reads a text without embedding it: its vector is of random direction."""

    def read(text: str) -> Passage:
        vector = directions.standard_normal(embedder.dimensions, np.float32)
        unit = np.divide(vector, np.linalg.norm(vector), dtype=np.float32)
        window = StoredWindow(0, len(text), pack(unit))
        return Passage(embedder.model, (window,), tokens(text))

    return read


def fill(home: Home, count: int, phrases: Phrases, seed: int) -> None:
    """Write and index `count` more memories."""
    with home.opened() as composed:
        _fill(composed, home, count, phrases, seed)


def _fill(composed: Composition, home: Home, count: int, phrases: Phrases, seed: int) -> None:
    table, clock = composed.table, composed.clock
    caller = home.caller(composed)
    actor = stand(composed, caller, write=True).actor(caller)
    places = cycle(home.destinations(composed))
    gathered = Gathered(table)
    read = ready_passages(composed.embedder, np.random.default_rng(seed))
    ids: list[str] = []
    for place in islice(places, count):
        submission = Submission(actor, Draft(phrases.one(25)), place)
        ids.append(remember(gathered, clock, submission, read).memory_id)
    gathered.flush()
    if home.node is not None:
        rebuilt(composed)
    for start in range(0, count, INDEXED_AT_ONCE):
        some = ids[start : start + INDEXED_AT_ONCE]
        if home.node is None:
            settle_markers(table, index_memories(table, composed.index, some))
        else:
            metas = table.get_many([ref(Meta, each) for each in some])
            settle_markers(table, [meta for meta in metas if meta is not None])
    # Else the service would index everything once more while it is measured.
    outbox = cast("SqliteTable", table)
    last = outbox.changes(outbox.acknowledged(), sys.maxsize)[-1].sequence
    if isinstance(composed.derived_index, LocalIndex):
        composed.derived_index.mark_applied(last)
    outbox.acknowledge(last)


def rebuilt(composed: Composition) -> None:
    """Build the engine's index as an operator does who fills a new domain, and say how quickly."""
    began, before = time.perf_counter(), time.process_time()
    index = cast("DerivedIndex", composed.derived_index)
    *_, done = (Progress(), *reindex(composed.table, composed.embedder, index))
    took, own = time.perf_counter() - began, time.process_time() - before
    if done.indexed:
        print(
            f"{done.indexed:7,} indexed in {took:.1f} s, {done.indexed / took:.0f} a second; "
            f"processor {own / done.indexed * 1_000:.2f} ms each beside the node's",
            flush=True,
        )


def whole_path(service: Service, tool: str, arguments: Sequence[Mapping[str, object]]) -> Times:
    """One call after the other, over one connection."""
    address = urlsplit(str(service.ready["api_url"])).netloc
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {
        "authorization": f"Bearer {service.token}",
        "content-type": "application/json",
    }

    def call(one: Mapping[str, object]) -> None:
        connection.request("POST", f"/tools/{tool}", json.dumps(one), headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK or b'"degraded":true' in body:
            raise AssertionError(body.decode())

    try:
        calls = [lambda one=one: call(one) for one in arguments]
        return timed(calls, lambda: processor_seconds(service.ready["pid"]))
    finally:
        connection.close()


@dataclass(frozen=True)
class Parts:
    """What a call is made of."""

    embedding: Times
    knn: Times
    words: Times
    fsync: Times | None = None

    @property
    def all(self) -> dict[str, Times]:
        found = {"embedding": self.embedding, "k-NN": self.knn, "words": self.words}
        return found | ({"fsync": self.fsync} if self.fsync else {})


def knn(matrix: NDArray[np.float32], vectors: Sequence[NDArray[np.float32]]) -> Times:
    def nearest(vector: NDArray[np.float32]) -> None:
        cosines = matrix @ vector
        best = np.argpartition(cosines, len(cosines) - CANDIDATES)[-CANDIDATES:]
        best[np.argsort(-cosines[best])].tolist()

    return timed([lambda vector=vector: nearest(vector) for vector in vectors])


def words(
    index: SearchIndex,
    where: SearchFilter,
    vectors: Sequence[NDArray[np.float32]],
    asked: Sequence[Sequence[str]],
) -> Times:
    """What the tokens add to a search by the vector alone."""

    def search(vector: NDArray[np.float32], some: Sequence[str]) -> None:
        index.search(where, vector=vector, tokens=some, limit=CANDIDATES)

    pairs = list(zip(vectors, asked, strict=True))
    both = timed([lambda v=v, some=some: search(v, some) for v, some in pairs])
    alone = timed([lambda v=v: search(v, ()) for v in vectors])
    base = alone.p50
    each = [max(0.0, each - base) for each in both.each]
    return Times(each, max(0.0, both.processor - alone.processor))


def fsync(home: Path, count: int) -> Times:
    path = home / "synced"
    with path.open("ab", buffering=0) as file:

        def append() -> None:
            file.write(PAGE)
            os.fsync(file.fileno())

        taken = timed([append] * count)
    path.unlink()
    return taken


def report(tool: str, size: int, whole: Times, parts: Parts) -> bool:
    """Print figures, and whether the goal is met."""
    total = sum(part.p50 for part in parts.all.values())
    processor = sum(part.processor for part in parts.all.values())
    ratio = whole.p50 / total
    print(f"{size:7,} {tool:9} {whole}   ", end="")
    print("  ".join(f"{name} {part.p50:.1f}" for name, part in parts.all.items()), end="")
    print(f"  = {total:.1f} ms   {ratio:.2f} x", end="")
    print(f"   processor {whole.processor:.1f} ms   {whole.processor / processor:.2f} x")
    return ratio <= GOAL


def measure(home: Home, size: int, phrases: Phrases) -> bool:
    """Call a service over a home of this size, then measure the parts over the same home."""
    count = WARM_UP + MEASURED
    queries = [f"what do we know about {phrases.one(6)}?" for _ in range(count)]
    statements = [phrases.one(25) for _ in range(count)]
    with home.serving() as service:
        recall = whole_path(service, "recall", [{"query": query} for query in queries])
        taken = footprint(home, service)
        said = [{"content": each, **home.target} for each in statements]
        remembered = whole_path(service, "remember", said)

    with home.opened() as composed:
        embedder, index = composed.embedder, composed.index
        asked = timed([lambda query=query: embedder.embed_query(query) for query in queries])
        read = timed([lambda text=text: read_passage(embedder, text) for text in statements])
        of_queries = [embedder.embed_query(query) for query in queries]
        of_statements = [embedder.embed_query(text) for text in statements]
        standing = stand(composed, home.caller(composed))
        everywhere = SearchFilter(visible_in=scope_filter(standing.reads(None)))
        hinted = stand(
            composed, home.caller(composed), project_hint=home.target.get("project_hint")
        )
        near = SearchFilter(visible_in=scope_filter(hinted.reads(None)))
        if home.node is None:
            searched = knn(mapped(home.folder, size, embedder.dimensions), of_queries)
        else:
            searched = by_vector(index, everywhere, of_queries)
        to_queries = words(index, everywhere, of_queries, [query_tokens(each) for each in queries])
        to_texts = words(index, near, of_statements, [list(tokens(each)) for each in statements])
        synced = fsync(home.folder, count)
    met = report("recall", size, recall, Parts(asked, searched, to_queries))
    met = report("remember", size, remembered, Parts(read, searched, to_texts, synced)) and met
    print(f"{size:7,} {taken}")
    return met


def by_vector(
    index: SearchIndex, where: SearchFilter, vectors: Sequence[NDArray[np.float32]]
) -> Times:
    """A search without words."""
    return timed(
        [lambda v=v: index.search(where, vector=v, tokens=(), limit=CANDIDATES) for v in vectors]
    )


@dataclass(frozen=True)
class Footprint:
    """Bytes: resident memory by process, mapped files apart, and on disk by folder or file."""

    resident: Mapping[str, tuple[int, int]]
    disk: Mapping[str, int]

    def __str__(self) -> str:
        memory = ", ".join(
            f"{name} {own / 1e6:.0f} MB and {mapped / 1e6:.0f} MB of files"
            for name, (own, mapped) in self.resident.items()
        )
        disk = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in self.disk.items())
        return f"memory: {memory}; disk: {disk}"


def footprint(home: Home, service: Service) -> Footprint:
    """What the service takes now, as Linux tells it."""
    resident = {"service": resident_bytes(service.ready["pid"])}
    disk = {
        "table": sum(each.stat().st_size for each in home.folder.glob("table.sqlite3*")),
        "index": sum(each.stat().st_size for each in (home.folder / "index").glob("*")),
    }
    if home.node is not None:
        stats = OpenSearch(home.node)
        told = stats.indices.stats(metric="store")
        disk["index"] = told["_all"]["primaries"]["store"]["size_in_bytes"]
        (node,) = stats.nodes.info(metric="process")["nodes"].values()
        resident["node"] = resident_bytes(node["process"]["id"])
        stats.close()
    return Footprint(resident, disk)


def processor_seconds(pid: int) -> float:
    """What a process has taken of the processor, all its threads together, as Linux tells it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])  # utime and stime, behind the name and the state
    return ticks / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> tuple[int, int]:
    """Anonymous memory and mapped files, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    own, files = (
        int(found[1]) * 1_024
        for name in ("RssAnon", "RssFile")
        if (found := re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE))
    )
    return own, files


def mapped(home: Path, size: int, dimensions: int) -> NDArray[np.float32]:
    """A file of as many vectors, mapped."""
    path = home / "matrix"
    made = np.memmap(path, np.float32, "w+", shape=(size, dimensions))
    directions = np.random.default_rng(size)
    for start in range(0, size, INDEXED_AT_ONCE):
        shape = (min(INDEXED_AT_ONCE, size - start), dimensions)
        made[start : start + shape[0]] = directions.standard_normal(shape, np.float32)
    made.flush()
    path.unlink()
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--projects", type=int, default=0, help="spread over so many projects")
    parser.add_argument("--opensearch", action="store_true", help="search a node of OpenSearch")
    parser.add_argument("--heap", default="1g", help="the node's heap (default: 1g)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not chosen.opensearch:
            return run(Home(Path(folder) / "home", projects=chosen.projects), chosen.sizes)
        with running_node(Path(folder) / "node", heap=chosen.heap, lasting=True) as node:
            warm_up(OpenSearch(node))
            home = Home(Path(folder) / "home", node=node, projects=chosen.projects)
            return run(home, chosen.sizes)


def run(home: Home, sizes: Sequence[int]) -> int:
    """Fill the home from size to size, and measure at each; 1 when the goal was missed."""
    phrases = Phrases()
    met = True
    filled = 0
    with home.serving():
        pass  # makes the person and the token
    if home.node is not None:
        with home.opened() as composed:
            rebuilt(composed)  # whole, though empty
    print("memories tool          p50     p95   parts, p50", flush=True)
    for size in sorted(sizes):
        fill(home, size - filled, phrases, seed=size)
        filled = size + WARM_UP + MEASURED
        met = measure(home, size, phrases) and met
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
