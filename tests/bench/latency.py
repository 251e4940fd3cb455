"""How long remember and recall take over the whole HTTP path, beside the sum of their parts.

`python -m tests.bench.latency [SIZE …]` fills a home to 1,000, 10,000 and 100,000 memories, starts
the service on it at each, and calls it one call after the other over one connection. The parts are
measured in the same run, in this process, over the same memories:

- embedding: the bundled model, of the same queries and statements
- k-NN: one product with the mapped matrix of all vectors, and the nearest of it
- words: what the lexical leg adds to a search of the index
- fsync: one page appended to a file in the home, and synced

Goal: at most twice the sum (recall: the first three; remember: all four, since it also looks for
similar memories). What a home is filled with is synthetic: distinct statements of the words of this
repository's documents, under vectors of random direction, written by the domain into the real table
and index. Queries and measured statements are embedded for real.
"""

import argparse
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import httpx
import numpy as np
from numpy.typing import NDArray

from tests.service import REPOSITORY, Service, running
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import Passage, StoredWindow
from zero_memory.memory.write import Destination, Draft, Submission, remember
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import SearchFilter, SearchIndex
from zero_memory.ports.table import Action, Table
from zero_memory.retrieval.analysis import query_tokens, tokens
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.vectors import pack
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import authenticate
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
    """Milliseconds, one for each call."""

    each: Sequence[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.each)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.each, n=20)[-1]

    def __str__(self) -> str:
        return f"{self.p50:7.1f} {self.p95:7.1f}"


def timed(calls: Sequence[Callable[[], object]]) -> Times:
    taken: list[float] = []
    for call in calls:
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1_000)
    return Times(taken[WARM_UP:])


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


def fill(composed: Composition, token: str, count: int, phrases: Phrases, seed: int) -> None:
    """Write and index `count` more memories into the caller's personal scope."""
    table, clock = composed.table, composed.clock
    caller = authenticate(table, clock, token)
    standing = stand(composed, caller, write=True)
    personal = standing.access.personal
    gathered = Gathered(table)
    directions = np.random.default_rng(seed)
    model, dimensions = composed.embedder.model, composed.embedder.dimensions

    def read(text: str) -> Passage:
        vector = directions.standard_normal(dimensions, np.float32)
        unit = np.divide(vector, np.linalg.norm(vector), dtype=np.float32)
        window = StoredWindow(0, len(text), pack(unit))
        return Passage(model, (window,), tokens(text))

    ids: list[str] = []
    for _ in range(count):
        submission = Submission(
            caller=caller,
            rights=standing.rights(),
            draft=Draft(phrases.one(25)),
            to=Destination(personal.scope, personal.owner),
        )
        ids.append(remember(gathered, clock, submission, read).memory_id)
    gathered.flush()
    for start in range(0, count, INDEXED_AT_ONCE):
        some = ids[start : start + INDEXED_AT_ONCE]
        settle_markers(table, index_memories(table, composed.index, some))
    # Else the service would index everything once more while it is measured.
    outbox = cast("SqliteTable", table)
    outbox.acknowledge(outbox.changes(outbox.acknowledged(), sys.maxsize)[-1].sequence)


def whole_path(service: Service, tool: str, arguments: Sequence[Mapping[str, object]]) -> Times:
    """One call after the other, over one connection."""
    headers = {"authorization": f"Bearer {service.token}"}
    with httpx.Client(base_url=service.ready["api_url"], headers=headers, timeout=60) as client:

        def call(one: Mapping[str, object]) -> None:
            answer = client.post(f"/tools/{tool}", json=one)
            answer.raise_for_status()

        return timed([lambda one=one: call(one) for one in arguments])


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
    return Times([max(0.0, each - base) for each in both.each])


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
    total = Times([sum(part.p50 for part in parts.all.values())])
    ratio = whole.p50 / total.p50
    print(f"{size:7,} {tool:9} {whole}   ", end="")
    print("  ".join(f"{name} {part.p50:.1f}" for name, part in parts.all.items()), end="")
    print(f"  = {total.p50:.1f} ms   {ratio:.2f} x")
    return ratio <= GOAL


def measure(home: Path, size: int, phrases: Phrases) -> bool:
    """Call a service over a home of this size, then measure the parts over the same home."""
    count = WARM_UP + MEASURED
    queries = [f"what do we know about {phrases.one(6)}?" for _ in range(count)]
    statements = [phrases.one(25) for _ in range(count)]
    with running(home) as service:
        recall = whole_path(service, "recall", [{"query": query} for query in queries])
        said = [{"content": each, "scope": "personal"} for each in statements]
        remembered = whole_path(service, "remember", said)

    composed = bootstrap.use(Settings(home="local", data_dir=home))
    try:
        embedder, index = composed.embedder, composed.index
        asked = timed([lambda query=query: embedder.embed_query(query) for query in queries])
        read = timed([lambda text=text: passage(embedder, text) for text in statements])
        of_queries = [embedder.embed_query(query) for query in queries]
        of_statements = [embedder.embed_query(text) for text in statements]
        where = SearchFilter(visible_in=(personal_scope(composed, home),))
        matrix = mapped(home, size, embedder.dimensions)
        searched = knn(matrix, of_queries)
        to_queries = words(index, where, of_queries, [query_tokens(each) for each in queries])
        to_texts = words(index, where, of_statements, [list(tokens(each)) for each in statements])
        synced = fsync(home, count)
    finally:
        close(composed)
    met = report("recall", size, recall, Parts(asked, searched, to_queries))
    return report("remember", size, remembered, Parts(read, searched, to_texts, synced)) and met


def passage(embedder: Embedder, text: str) -> None:
    read_passage(embedder, text)


def personal_scope(composed: Composition, home: Path) -> str:
    caller = authenticate(composed.table, composed.clock, token_of(home))
    return stand(composed, caller).access.personal.scope


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


def token_of(home: Path) -> str:
    return (home / "token").read_text(encoding="utf-8").strip()


def close(composed: Composition) -> None:
    """Let the service have the home again."""
    cast("LocalIndex", composed.index).close()
    cast("SqliteTable", composed.table).close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    sizes = parser.parse_args().sizes
    phrases = Phrases()
    met = True
    filled = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with running(home):
            pass  # makes the person and the token
        print("memories tool          p50     p95   parts, p50")
        for size in sorted(sizes):
            composed = bootstrap.use(Settings(home="local", data_dir=home))
            fill(composed, token_of(home), size - filled, phrases, seed=size)
            close(composed)
            filled = size + WARM_UP + MEASURED
            met = measure(home, size, phrases) and met
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
