"""The search index of one machine: an inverted index in SQLite, and exact k-NN over mapped files.

Each scope has its own postings and its own file of vectors, and statistics are counted over the
scopes of a query alone, so that what another scope holds changes no candidate, score or rank.

Ranking runs on arrays. SQLite's own FTS5 took 60 to 320 ms to rank a query whose words 17,000 to
83,000 of 100,000 memories hold, several times what both legs take here, and it can count neither
by scope nor at a moment.
"""

import errno
import json
import logging
import sqlite3
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from msgspec import Struct, field
from numpy.typing import NDArray

from zero_memory.adapters.local_ranking import (
    SPAN,
    TIE,
    At,
    View,
    Written,
    best_rows,
    compare,
    corpus_of,
    cosines_by_row,
    scores_by_row,
)
from zero_memory.adapters.local_shard import NO_POSTINGS, VACANT, Growth, Place, Postings, Shard
from zero_memory.adapters.vector_file import DamagedVectors, VectorFile, recover
from zero_memory.ports.search_index import (
    DocumentRefused,
    IndexDocument,
    IndexUnavailable,
    IndexWriter,
    LexicalMatch,
    SearchAnswer,
    SearchFilter,
)
from zero_memory.retrieval.lexical import Bm25

_logger = logging.getLogger(__name__)

_FORMAT = "1"

_INCOMPLETE = "incomplete"
"""What `about` holds while the files are built anew."""

_BLOCK = 1_024
"""Rows that share one posting of a token: at most 4 KB to write again for one more memory."""

_MOST = np.iinfo(np.uint16).max
"""A frequency is counted up to here."""

_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE scope (number INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE);
CREATE TABLE memory (
    number INTEGER PRIMARY KEY, memory_id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,
    kind TEXT NOT NULL, live INTEGER NOT NULL, length INTEGER NOT NULL,
    digest BLOB NOT NULL, tokens BLOB NOT NULL, spans BLOB NOT NULL
);
CREATE TABLE life (memory INTEGER NOT NULL, start INTEGER NOT NULL, finish INTEGER);
CREATE INDEX life_of_memory ON life (memory);
CREATE TABLE place (
    scope INTEGER NOT NULL, row INTEGER NOT NULL, memory INTEGER NOT NULL,
    first INTEGER NOT NULL, windows INTEGER NOT NULL, PRIMARY KEY (scope, row)
) WITHOUT ROWID;
CREATE INDEX place_of_memory ON place (memory);
CREATE TABLE posting (
    scope INTEGER NOT NULL, token INTEGER NOT NULL, block INTEGER NOT NULL,
    entries BLOB NOT NULL, PRIMARY KEY (scope, token, block)
) WITHOUT ROWID;
"""
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "cache_size = -32768",
)
_ENTRY = np.dtype("<u2")
_TOKEN = np.dtype("<i8")


class LocalIndex:
    """`ports.search_index.DerivedIndex` in `folder`, which belongs to one process at a time.

    Derived and disposable: a wiped folder starts empty, with `applied` 0, and so does one whose
    files are found damaged, or of another version, when it is opened. It holds vectors of `model`,
    or of the first document's when that is None; files of another one ask for a reindex, at each
    search. At most `open_scopes` scopes are kept mapped. Raises IndexUnavailable when the
    folder cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str | None = None,
        bm25: Bm25 | None = None,
        open_scopes: int = 64,
    ) -> None:
        self._folder = folder
        self._model = model
        self._bm25 = bm25 or Bm25()
        self._open_scopes = open_scopes
        self._lock = threading.RLock()
        self._shards: OrderedDict[int, Shard] = OrderedDict()
        self._kinds: dict[str, int] = {}
        with _available():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._holder = FileLock(folder / "index.lock", mode=0o600, blocking=False)
            self._holder.acquire()
            self._database = folder / "index.sqlite3"
            try:
                self._open()
                self._recover()
            except (_OtherVersion, DamagedVectors, sqlite3.DatabaseError) as unfit:
                if not _is_unfit(unfit):
                    raise
                _logger.warning("the search files are damaged, or of another version: begun anew")
                self._wipe()

    def close(self) -> None:
        """Let another process have the folder."""
        with self._lock:
            self._shards.clear()
            self._db.close()
            self._holder.release()

    @property
    def applied(self) -> int:
        """The last change of the table that `mark_applied` named; 0 in a new index."""
        with self._lock, _available():
            return int(self._about("applied") or 0)

    def mark_applied(self, sequence: int) -> None:
        """Note that every change of the table up to this one is in the index."""
        with self._lock, _available():
            self._tell("applied", str(sequence))

    def search(
        self,
        where: SearchFilter,
        *,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
    ) -> SearchAnswer:
        """Both legs exactly, over the filter's scopes as one corpus."""
        with _available():
            self._must_be_there()
            with self._lock:
                self._must_answer()
                self._check_dimensions(len(vector))
                views = self._views(where, tokens)
            statistics = corpus_of(views, tokens)
            nearest = [cosines_by_row(view, vector) for view in views]
            matching = [scores_by_row(view, statistics, self._bm25) for view in views]
            near = best_rows(nearest, limit, TIE)
            match = best_rows(matching, limit, 0.0)
            with self._lock:
                written = self._written(views, near | match)
        candidates = compare(written, views, matching, vector)
        by_cosine = sorted(near & candidates.keys(), key=lambda at: candidates[at].by_cosine)
        by_score = sorted(match & candidates.keys(), key=lambda at: candidates[at].by_score)
        chosen = {at: candidates[at] for at in (*by_cosine[:limit], *by_score[:limit])}
        semantic = sorted(chosen.values(), key=lambda each: each.by_cosine)
        lexical = sorted(chosen.items(), key=lambda pair: pair[1].by_score)
        frequencies = [
            view.frequencies([at.row for at in chosen if at.view == number])
            for number, view in enumerate(views)
        ]
        return SearchAnswer(
            semantic=tuple(each.nearest for each in semantic),
            lexical=tuple(
                LexicalMatch(each.memory_id, frequencies[at.view][at.row], each.length)
                for at, each in lexical
                if each.score > 0
            ),
            statistics=statistics,
        )

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """One transaction, on disk when this returns."""
        with self._writing() as draft:
            self._must_fit()
            for document in documents:
                self._check_model(document)
                self._store(draft, document)

    def erase(self, memory_ids: Sequence[str]) -> None:
        """Remove them, and write the database anew, since freed pages keep what they held."""
        with self._writing() as draft:
            for memory_id in memory_ids:
                stored = self._stored(memory_id)
                if stored is not None:
                    self._vacate(draft, stored, stored.places)
                    self._db.execute("DELETE FROM life WHERE memory = ?", (stored.number,))
                    self._db.execute("DELETE FROM memory WHERE number = ?", (stored.number,))
        with self._lock, _available():
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """Counted over the arrays of the filter's scopes."""
        with self._lock, _available():
            self._must_answer()
            views = self._views(where, ())
            names = {code: kind for kind, code in self._kinds.items()}
        counts: dict[str, int] = defaultdict(int)
        for view in views:
            codes, sizes = np.unique(view.shard.kinds[view.eligible], return_counts=True)
            for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
                counts[names[code]] += size
        return dict(counts)

    @contextmanager
    def replacing(self) -> Generator[IndexWriter]:
        """In place, since nobody else has the folder: none answers before the block has ended."""
        with self._lock, _available():
            self._shards.clear()
            self._wipe()
            self._tell(_INCOMPLETE, _INCOMPLETE)
        yield self
        self.mark_complete()

    def identity(self) -> str:
        """A random name that the files got when they were made."""
        with self._lock, _available():
            return self._about("identity") or ""

    def revisions(self, memory_ids: Sequence[str]) -> Mapping[str, int]:
        """As last committed."""
        with self._lock, _available():
            self._must_fit()
            rows = self._db.execute(
                "SELECT memory_id, revision FROM memory"
                " WHERE memory_id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(memory_ids)),),
            )
            return dict(rows)

    def stored(self, *, after: str, limit: int) -> Sequence[str]:
        """As last committed."""
        with self._lock, _available():
            self._must_fit()
            rows = self._db.execute(
                "SELECT memory_id FROM memory WHERE memory_id > ? ORDER BY memory_id LIMIT ?",
                (after, limit),
            )
            return [memory_id for (memory_id,) in rows]

    def mark_complete(self) -> None:
        """Files are, unless `replacing` was interrupted."""
        with self._lock, _available():
            self._db.execute("DELETE FROM about WHERE name = ?", (_INCOMPLETE,))

    def _open(self) -> None:
        """Raises what `_is_unfit` knows for files that can't be used as they are."""
        self._database.touch(0o600)
        self._db = sqlite3.connect(self._database, isolation_level=None, check_same_thread=False)
        for setting in _SETTINGS:
            self._db.execute(f"PRAGMA {setting}")
        self._prepare()

    def _wipe(self) -> None:
        """Begin anew with nothing."""
        self._db.close()
        for path in (*self._folder.glob("index.sqlite3*"), *self._folder.glob("*.vectors")):
            path.unlink()
        self._open()

    def _prepare(self) -> None:
        """Make the tables of a new folder; raises _OtherVersion for those of one."""
        if self._db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is None:
            self._db.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._tell("format", _FORMAT)
            self._db.execute("COMMIT")
        if self._about("format") != _FORMAT:
            raise _OtherVersion
        if self._about("identity") is None:
            self._tell("identity", token_hex(8))

    def _recover(self) -> None:
        """Drop what a killed process left in the files of vectors behind what it committed."""
        for number, windows in self._db.execute(
            "SELECT scope, max(first + windows) FROM place GROUP BY scope"
        ):
            recover(self._vector_path(number), self._dimensions(), windows)

    def _about(self, name: str) -> str | None:
        found = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def _tell(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def _dimensions(self) -> int:
        return int(self._about("dimensions") or 0)

    def _vector_path(self, scope: int) -> Path:
        return self._folder / f"{scope}.vectors"

    def _must_fit(self) -> None:
        """Raises IndexUnavailable when the files hold vectors of another model."""
        known = self._about("model")
        if self._model is not None and known not in (None, self._model):
            raise IndexUnavailable(_asks_for_reindex(f"they hold vectors of {known}"))

    def _must_answer(self) -> None:
        """Raises IndexUnavailable unless the files fit and hold every memory."""
        self._must_fit()
        if self._about(_INCOMPLETE) is not None:
            raise IndexUnavailable(_asks_for_reindex("building them was interrupted"))

    def _must_be_there(self) -> None:
        """What was removed is still open here, and would take changes that nobody finds again."""
        if not self._database.exists():
            raise IndexUnavailable(
                "The search files were removed while the service ran: restart it, and it builds "
                "them anew from the table."
            )

    def _check_dimensions(self, dimensions: int) -> None:
        known = self._dimensions()
        if known not in (0, dimensions):
            reason = f"they hold vectors of {known} dimensions, not {dimensions}"
            raise IndexUnavailable(_asks_for_reindex(reason))

    def _check_model(self, document: IndexDocument) -> None:
        """Vectors of two models are never compared."""
        dimensions = len(document.windows[0].vector)
        known = self._about("model")
        if document.model != (self._model or known or document.model):
            raise DocumentRefused(_asks_for_reindex("a memory's vectors are of another model"))
        if known is None:
            self._tell("model", document.model)
            self._tell("dimensions", str(dimensions))
        self._check_dimensions(dimensions)

    # Reading

    def _views(self, where: SearchFilter, tokens: Sequence[str]) -> list[View]:
        """The filter's scopes that hold anything; a memory that stands in several counts once."""
        views: list[View] = []
        met: set[int] = set()
        for scope in dict.fromkeys(where.visible_in):
            number = self._scope(scope)
            if number is None:
                continue
            shard = self._shard(number)
            counted = shard.live if where.alive_at is None else self._alive(shard, where.alive_at)
            out = [row for row, memory in shard.shared.items() if memory in met]
            out += self._rows(shard, where.without)
            if out:
                counted = counted.copy()
                counted[out] = False
            met.update(shard.shared.values())
            eligible = counted
            if where.kinds is not None:
                codes = [self._kinds[kind] for kind in where.kinds if kind in self._kinds]
                eligible = counted & np.isin(shard.kinds, codes)
            postings = {token: self._postings(shard, token) for token in tokens}
            views.append(View(shard, counted, eligible, postings))
        return views

    def _rows(self, shard: Shard, memory_ids: Sequence[str]) -> list[int]:
        """The rows in which a scope holds these memories."""
        if not memory_ids:
            return []
        rows = self._db.execute(
            # CROSS JOIN: from the ids to their rows, rather than through all rows of the scope.
            "SELECT row FROM json_each(?) AS wanted"
            " CROSS JOIN memory ON memory_id = wanted.value"
            " CROSS JOIN place ON place.memory = memory.number WHERE scope = ?",
            (json.dumps(memory_ids), shard.number),
        )
        return [row for (row,) in rows]

    def _scope(self, scope: str) -> int | None:
        found = self._db.execute("SELECT number FROM scope WHERE scope = ?", (scope,)).fetchone()
        return None if found is None else found[0]

    def _alive(self, shard: Shard, moment: int) -> NDArray[np.bool_]:
        rows = self._db.execute(
            "SELECT row FROM place JOIN life USING (memory)"
            " WHERE scope = ? AND start <= ? AND (finish IS NULL OR finish > ?)",
            (shard.number, moment, moment),
        )
        alive = np.zeros(len(shard.live), np.bool_)
        alive[[row for (row,) in rows]] = True
        return alive

    def _postings(self, shard: Shard, token: str) -> Postings:
        blocks = self._db.execute(
            "SELECT block, entries FROM posting WHERE scope = ? AND token = ? ORDER BY block",
            (shard.number, _token_number(token)),
        ).fetchall()
        entries = [np.frombuffer(blob, _ENTRY).reshape(-1, 2) for _, blob in blocks]
        if not entries:
            return NO_POSTINGS
        starts = np.repeat([block * _BLOCK for block, _ in blocks], [len(part) for part in entries])
        offsets, frequencies = np.concatenate(entries).T
        return Postings(starts + offsets.astype(np.int64), frequencies.astype(np.float64))

    def _shard(self, number: int) -> Shard:
        shard = self._shards.pop(number, None) or self._load(number)
        self._shards[number] = shard
        while len(self._shards) > self._open_scopes:
            self._shards.popitem(last=False)
        return shard

    def _load(self, number: int) -> Shard:
        placed = self._db.execute(
            "SELECT row, kind, live, length, first, windows FROM place"
            " JOIN memory ON memory.number = place.memory WHERE scope = ?",
            (number,),
        ).fetchall()
        shared = self._db.execute(
            "SELECT row, memory FROM place WHERE scope = ? AND EXISTS (SELECT 1 FROM place AS other"
            " WHERE other.memory = place.memory AND other.scope <> place.scope)",
            (number,),
        )
        rows = max((place[0] + 1 for place in placed), default=0)
        windows = max((first + count for *_, first, count in placed), default=0)
        kinds = np.full(rows, VACANT, np.int16)
        live = np.zeros(rows, np.bool_)
        lengths = np.zeros(rows, np.float64)
        owners = np.full(windows, VACANT, np.int32)
        for row, kind, lives, length, first, count in placed:
            kinds[row] = self._kind(kind)
            live[row] = lives
            lengths[row] = length
            owners[first : first + count] = row
        vectors = VectorFile(self._vector_path(number), self._dimensions(), windows)
        return Shard(number, vectors, kinds, live, lengths, owners, dict(shared))

    def _kind(self, kind: str) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    def _written(self, views: Sequence[View], rows: set[At]) -> dict[At, Written]:
        """What is written of these rows; one that left its scope in the meantime is left out."""
        written: dict[At, Written] = {}
        for number, view in enumerate(views):
            wanted = [at.row for at in rows if at.view == number]
            found = self._db.execute(
                "SELECT row, memory_id, length, first, windows, spans FROM place"
                " JOIN memory ON memory.number = place.memory"
                " WHERE scope = ? AND row IN (SELECT value FROM json_each(?))",
                (view.shard.number, json.dumps(wanted)),
            )
            written.update((At(number, row), Written(*each)) for row, *each in found)
        return written

    # Writing

    @contextmanager
    def _writing(self) -> "Generator[_Draft]":
        with self._lock, _available():
            self._must_be_there()
            self._db.execute("BEGIN IMMEDIATE")
            draft = _Draft()
            try:
                yield draft
                self._write_postings(draft)
                shards = [growth.write() for growth in draft.growths.values()]
                self._db.execute("COMMIT")
            except BaseException:
                self._shards.clear()
                self._db.execute("ROLLBACK")
                raise
            for shard in shards:
                self._shards[shard.number] = shard

    def _growth(self, draft: "_Draft", scope: int) -> Growth:
        if scope not in draft.growths:
            draft.growths[scope] = Growth(self._shard(scope))
        return draft.growths[scope]

    def _stored(self, memory_id: str) -> "_Stored | None":
        found = self._db.execute(
            "SELECT number, revision, digest, tokens FROM memory WHERE memory_id = ?",
            (memory_id,),
        ).fetchone()
        if found is None:
            return None
        number, revision, digest, tokens = found
        places = self._db.execute(
            "SELECT scope, row, first, windows FROM place WHERE memory = ?", (number,)
        )
        return _Stored(
            number,
            revision,
            digest,
            np.frombuffer(tokens, _TOKEN).tolist(),
            {scope: Place(*place) for scope, *place in places},
        )

    def _store(self, draft: "_Draft", document: IndexDocument) -> None:
        stored = self._stored(document.memory_id)
        if stored is not None and document.revision <= stored.revision:
            return
        digest = _digest(document)
        standing: Mapping[int, Place] = {}
        if stored is not None and stored.digest == digest:
            standing = stored.places
        elif stored is not None:
            self._vacate(draft, stored, stored.places)
        number = self._upsert(document, digest)
        wanted = [self._make_scope(scope) for scope in dict.fromkeys(document.visible_in)]
        if stored is not None:
            self._vacate(draft, stored, {s: p for s, p in standing.items() if s not in wanted})
        kind, live = self._kind(document.kind), _lives(document)
        for scope in wanted:
            growth = self._growth(draft, scope)
            place = standing.get(scope)
            if place is None:
                place = growth.add(document)
                self._db.execute(
                    "INSERT INTO place VALUES (?, ?, ?, ?, ?)",
                    (scope, place.row, number, *place[1:]),
                )
                for token, frequency in document.tokens.items():
                    block, offset = divmod(place.row, _BLOCK)
                    entry = (offset, min(frequency, _MOST))
                    draft.entries[scope, _token_number(token), block].append(entry)
            growth.states[place.row] = (kind, live)
            if len(wanted) > 1:
                growth.shared[place.row] = number

    def _upsert(self, document: IndexDocument, digest: bytes) -> int:
        tokens = np.array([_token_number(token) for token in document.tokens], _TOKEN)
        spans = np.array([(w.start, w.end) for w in document.windows], SPAN)
        (number,) = self._db.execute(
            "INSERT INTO memory (memory_id, revision, kind, live, length, digest, tokens, spans)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (memory_id) DO UPDATE SET"
            " revision = excluded.revision, kind = excluded.kind, live = excluded.live,"
            " length = excluded.length, digest = excluded.digest, tokens = excluded.tokens,"
            " spans = excluded.spans RETURNING number",
            (
                document.memory_id,
                document.revision,
                document.kind,
                _lives(document),
                sum(document.tokens.values()),
                digest,
                tokens.tobytes(),
                spans.tobytes(),
            ),
        ).fetchone()
        self._db.execute("DELETE FROM life WHERE memory = ?", (number,))
        self._db.executemany(
            "INSERT INTO life VALUES (?, ?, ?)",
            [(number, start, finish) for start, finish in document.alive],
        )
        return number

    def _make_scope(self, scope: str) -> int:
        number = self._scope(scope)
        if number is None:
            made = self._db.execute("INSERT INTO scope (scope) VALUES (?)", (scope,))
            number = made.lastrowid or 0
        return number

    def _vacate(self, draft: "_Draft", stored: "_Stored", places: Mapping[int, Place]) -> None:
        """Take a memory out of these scopes, and its vectors out of their files."""
        for scope, place in places.items():
            self._growth(draft, scope).remove(place)
            self._db.execute("DELETE FROM place WHERE scope = ? AND row = ?", (scope, place.row))
            block, offset = divmod(place.row, _BLOCK)
            for token in stored.tokens:
                draft.gone[scope, token, block].add(offset)

    def _write_postings(self, draft: "_Draft") -> None:
        for key in sorted(draft.entries.keys() | draft.gone.keys()):
            found = self._db.execute(
                "SELECT entries FROM posting WHERE scope = ? AND token = ? AND block = ?", key
            ).fetchone()
            entries = np.frombuffer(found[0] if found else b"", _ENTRY).reshape(-1, 2)
            if key in draft.entries:
                entries = np.concatenate([entries, np.array(draft.entries[key], _ENTRY)])
            if key in draft.gone:
                entries = entries[~np.isin(entries[:, 0], list(draft.gone[key]))]
            if len(entries):
                self._db.execute(
                    "INSERT OR REPLACE INTO posting VALUES (?, ?, ?, ?)", (*key, entries.tobytes())
                )
            else:
                self._db.execute(
                    "DELETE FROM posting WHERE scope = ? AND token = ? AND block = ?", key
                )


class _Stored(NamedTuple):
    """What is written of a memory."""

    number: int
    revision: int
    digest: bytes
    tokens: list[int]
    places: dict[int, Place]


class _Draft(Struct):
    """What a transaction changes. Postings by (scope, token, block): entries, offsets gone."""

    growths: dict[int, Growth] = field(default_factory=dict[int, Growth])
    entries: dict[tuple[int, int, int], list[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    gone: dict[tuple[int, int, int], set[int]] = field(default_factory=lambda: defaultdict(set))


def _asks_for_reindex(reason: str) -> str:
    return f"The search files do not fit, as {reason}: run zm admin reindex."


def _lives(document: IndexDocument) -> bool:
    return any(finish is None for _, finish in document.alive)


@lru_cache(maxsize=65_536)
def _token_number(token: str) -> int:
    """A token by its hash, so that no word of a memory stands in the files."""
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little", signed=True)


def _digest(document: IndexDocument) -> bytes:
    """Equal for equal tokens, windows and vectors."""
    digest = blake2b(repr(sorted(document.tokens.items())).encode(), digest_size=16)
    for window in document.windows:
        digest.update(f"{window.start} {window.end} ".encode())
        digest.update(np.ascontiguousarray(window.vector, np.float32).tobytes())
    return digest.digest()


class _OtherVersion(Exception):
    """Files that another version of this program wrote."""


def _is_unfit(error: Exception) -> bool:
    """Whether files can't be used as they are, so that only new ones help."""
    if isinstance(error, sqlite3.DatabaseError):
        # Tables that are not there are an SQLITE_ERROR. What passes, as a full disk, is another.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
    return True


@contextmanager
def _available() -> Generator[None]:
    """Turns what files and SQLite raise into the port's error."""
    try:
        yield
    except Timeout as held:
        raise IndexUnavailable(
            "Another process has the search files open: stop it first."
        ) from held
    except (sqlite3.Error, OSError) as error:
        if _is_full(error):
            raise IndexUnavailable(
                "The disk of the search files is full: make room there."
            ) from error
        raise IndexUnavailable(
            f"The search files cannot be used ({type(error).__name__}): if this stays, stop the "
            "service, and build them anew with zm admin reindex."
        ) from error


def _is_full(error: sqlite3.Error | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
