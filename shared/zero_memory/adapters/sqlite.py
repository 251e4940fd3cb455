"""The table in one SQLite file: items, views, and an outbox that stands in for the stream."""

import os
import sqlite3
import threading
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from zero_memory.adapters import limits
from zero_memory.adapters.items import Attributes, Step, decode, steps
from zero_memory.adapters.schema import EXPIRY, Address, Span, located, span_of
from zero_memory.ports.table import (
    Absent,
    Action,
    AttributeIs,
    Check,
    Condition,
    ConditionFailed,
    Page,
    Present,
    Ref,
    RevisionIs,
    TableUnavailable,
)

R = TypeVar("R")
Event = Literal["INSERT", "MODIFY", "REMOVE"]

_MIGRATIONS = (
    (
        """
        CREATE TABLE items (
            pk TEXT NOT NULL,
            sk TEXT NOT NULL,
            document BLOB NOT NULL,
            expires_at INTEGER,
            PRIMARY KEY (pk, sk)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX items_by_expiry ON items (expires_at) WHERE expires_at IS NOT NULL",
        """
        CREATE TABLE views (
            name TEXT NOT NULL,
            view_pk TEXT NOT NULL,
            view_sk TEXT NOT NULL,
            document BLOB NOT NULL,
            pk TEXT NOT NULL,
            sk TEXT NOT NULL,
            PRIMARY KEY (name, view_pk, view_sk, pk, sk)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX views_by_item ON views (pk, sk)",
        """
        CREATE TABLE changes (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            event TEXT NOT NULL,
            pk TEXT NOT NULL,
            sk TEXT NOT NULL
        ) STRICT
        """,
    ),
)
"""Statements that bring the schema one version up each; `user_version` counts those applied."""

_SILENT = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PROTOCOL,
    )
)
"""Primary result codes of a table that does not answer, rather than of a wrong statement."""

_DAMAGED = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))


class NewerSchema(Exception):
    """The file was written by a newer version of this program."""


class DamagedFile(Exception):
    """The file is no table, or not the whole of one."""


class Change(Struct, frozen=True):
    """One change of one item, as DynamoDB's stream would report it with its keys only."""

    sequence: int
    event: Event
    pk: str
    sk: str


class _Appearance(Struct, frozen=True):
    """What one item shows in the views from now on: rows of name, view keys and document."""

    address: Address
    rows: tuple[tuple[str, str, str, bytes], ...]


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        # Errors of Python's module itself have no code.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _SILENT:
            raise TableUnavailable(f"the table's file does not answer: {error}") from error
        if code in _DAMAGED:
            raise DamagedFile(
                f"the table's file is damaged ({error}): put a backup in its place"
            ) from error
        raise


def _holds(condition: Condition | None, document: bytes | None) -> bool:
    match condition:
        case None:
            return True
        case Absent():
            return document is None
        case Present():
            return document is not None
        case RevisionIs(revision):
            return _attribute_is(document, "revision", revision)
        case AttributeIs(name, value):
            return _attribute_is(document, name, value)


def _attribute_is(document: bytes | None, name: str, value: str | int | bool) -> bool:
    if document is None:
        return False
    stored = msgspec.msgpack.decode(document).get(name)
    return type(stored) is type(value) and stored == value


def _appearance(step: Step) -> _Appearance:
    shown = step.item.views if step.item is not None else ()
    attributes = step.item.attributes if step.item is not None else {}
    return _Appearance(
        step.address,
        tuple(
            (view.index, at.pk, at.sk, _packed(attributes, view.attributes)) for view, at in shown
        ),
    )


def _packed(attributes: Attributes, names: Container[str]) -> bytes:
    return msgspec.msgpack.encode(
        {name: value for name, value in attributes.items() if name in names}
    )


class SqliteTable:
    """`ports.table.Table` in a SQLite file, safe to use from several threads and processes.

    A commit is on disk when it returns (WAL, `synchronous=FULL`: one fsync a transaction). The
    folder is made readable for its owner only, and so is every file.

    `view_delay_writes` serves reads of views that many of this object's writes old, as secondary
    indexes in the cloud may be; `view_lag_ms` is what callers are told to expect. A writer waits
    `busy_timeout` seconds for others. `committed`, where it is set, is called after each
    transaction of this object that left changes. Raises NewerSchema for a file of a newer version,
    and everywhere DamagedFile.
    """

    def __init__(
        self,
        path: Path,
        *,
        view_lag_ms: int = 0,
        view_delay_writes: int = 0,
        busy_timeout: float = 10.0,
    ) -> None:
        self.view_lag_ms = view_lag_ms
        self._path = path
        self._view_delay_writes = view_delay_writes
        self._late: list[list[_Appearance]] = []
        self._busy_timeout = busy_timeout
        self._writer = threading.Lock()
        self._pool = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self.committed: Callable[[], None] | None = None
        with _translated():
            self._prepare()

    def get(self, record: type[R], *parts: str) -> R | None:
        """See the port."""
        address, known = located(record, parts)
        with self._connection() as connection:
            document = _document(connection, address)
        return None if document is None else _record_of(record, known, document)

    def get_many(self, refs: Sequence[Ref[R]]) -> list[R | None]:
        """See the port. All are of one moment."""
        places = [located(at.record, at.parts) for at in refs]
        with self._reading() as connection:
            documents = [_document(connection, address) for address, _ in places]
        return [
            None if document is None else _record_of(at.record, known, document)
            for at, (_, known), document in zip(refs, places, documents, strict=True)
        ]

    def query(
        self,
        record: type[R],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[R]:
        """See the port."""
        span = span_of(record, parts, after=after, since=since, until=until, limit=limit)
        rows, behind = self._page(span, limit, newest_first=newest_first)
        found = (_record_of(record, span.fields(key), document) for key, document in rows)
        return Page(tuple(found), behind)

    def keys(
        self,
        record: type[object],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[str]:
        """See the port."""
        span = span_of(record, parts, after=after, since=since, until=until, limit=limit)
        rows, behind = self._page(span, limit, newest_first=newest_first, keys_only=True)
        return Page(tuple(span.last_part(key) for key, _ in rows), behind)

    def _page(
        self, span: Span, limit: int, *, newest_first: bool, keys_only: bool = False
    ) -> tuple[Sequence[tuple[str, bytes]], str | None]:
        """Sort keys and documents of a span's next page, and what continues behind it.

        With `keys_only` the documents stay unread, and are empty.
        """
        view = span.pattern.index
        sk, keys = ("view_sk", [view, span.pk]) if view else ("sk", [span.pk])
        where = "name = ? AND view_pk = ?" if view else "pk = ?"
        beyond = "<" if newest_first else ">"
        if span.after is not None:
            where += f" AND {sk} {beyond} ?"
            keys.append(span.after)
        document = "x''" if keys_only else "document"
        statement = (
            f"SELECT {sk}, {document} FROM {'views' if view else 'items'}"  # noqa: S608 - own names
            f" WHERE {where} AND {sk} BETWEEN ? AND ?"
            f" ORDER BY {sk} {'DESC' if newest_first else 'ASC'} LIMIT ?"
        )
        with self._connection() as connection:
            rows = connection.execute(
                statement, (*keys, span.lower, span.upper, limit + 1)
            ).fetchall()
        more = len(rows) > limit
        return rows[:limit], span.next(rows[limit - 1][0] if more else None)

    def transact(self, actions: Sequence[Action]) -> None:
        """See the port."""
        planned = steps(actions)
        limits.check(planned)
        with self._writing() as connection:
            before = [_document(connection, step.address) for step in planned]
            failed = tuple(
                position
                for position, (step, document) in enumerate(zip(planned, before, strict=True))
                if not _holds(step.action.when, document)
            )
            if failed:
                raise ConditionFailed(failed)
            changed = [
                step
                for step, document in zip(planned, before, strict=True)
                if _apply(connection, step, document)
            ]
            self._show(connection, [_appearance(step) for step in changed if step.pattern.views])
        if changed and self.committed is not None:
            self.committed()

    def changes(self, after: int, limit: int) -> list[Change]:
        """The next changes behind a sequence number, in the order in which they happened."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT sequence, event, pk, sk FROM changes"
                " WHERE sequence > ? ORDER BY sequence LIMIT ?",
                (after, limit),
            ).fetchall()
        return [Change(*row) for row in rows]

    def acknowledge(self, sequence: int) -> None:
        """Let go of the changes up to this one.

        Idempotent, and not waited for: after a power cut, changes may come again.
        """
        with self._writing(synchronous="NORMAL") as connection:
            connection.execute("DELETE FROM changes WHERE sequence <= ?", (sequence,))

    def acknowledged(self) -> int:
        """The sequence number up to which changes were acknowledged; 0 when none were."""
        with self._reading() as connection:
            (first,) = connection.execute("SELECT min(sequence) FROM changes").fetchone()
            return first - 1 if first is not None else _newest(connection)

    def newest(self) -> int:
        """The sequence number of the newest change, acknowledged or not; 0 when there was none."""
        with self._reading() as connection:
            return _newest(connection)

    def remove_expired(self, now: int, limit: int = 1_000) -> int:
        """Remove at most `limit` records that expired before `now` (seconds); how many it were."""
        with self._writing() as connection:
            expired = connection.execute(
                "SELECT pk, sk FROM items WHERE expires_at < ? ORDER BY expires_at LIMIT ?",
                (now, limit),
            ).fetchall()
            for pk, sk in expired:
                _remove(connection, Address(pk, sk))
        if expired and self.committed is not None:
            self.committed()
        return len(expired)

    def scrub(self) -> None:
        """Leave no byte of what was removed in any file, as an erasure promises.

        `secure_delete` overwrites rows where they are removed, but copies remain where SQLite once
        moved them between pages, and in the write-ahead log: so the file is written anew, which
        takes seconds for 100,000 memories, and the log is cut. Raises TableUnavailable when a
        reader holds on to the log, or a writer to the file, for longer than the busy timeout.
        """
        with self._connection() as connection, self._writer:
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise TableUnavailable("the write-ahead log is in use and cannot be cut; repeat later")

    def close(self) -> None:
        """Close every connection; one that is in use, when its call returns."""
        with self._pool:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _prepare(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives the log and its index the mode of the file they belong to.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._path.chmod(0o600)
        with self._writing() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > len(_MIGRATIONS):
                raise NewerSchema(
                    f"{self._path} has schema version {version}, and this program knows"
                    f" {len(_MIGRATIONS)}: install the newer version that wrote it"
                )
            for statements in _MIGRATIONS[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=self._busy_timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        # For a new file only. Rows up to a quarter of a page need no overflow page, and nearly all
        # are shorter than 2 KB: the file has half the size that it has with pages of 4 KB.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        """A connection of the pool, for one caller at a time."""
        with _translated():
            with self._pool:
                if self._closed:
                    raise TableUnavailable("the table is closed")
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                yield connection
            finally:
                with self._pool:
                    keep = not self._closed
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    connection.close()

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """A connection that sees one moment."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def _writing(
        self, synchronous: Literal["FULL", "NORMAL"] = "FULL"
    ) -> Generator[sqlite3.Connection]:
        """A connection in a write transaction; an exception inside takes everything back."""
        # Threads of this process queue here, fairly, where SQLite would have them poll.
        with self._connection() as connection, self._writer:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _show(self, connection: sqlite3.Connection, appearances: list[_Appearance]) -> None:
        """Bring the views up to `view_delay_writes` writes ago."""
        writes = [*self._late, appearances]
        due = len(writes) - self._view_delay_writes
        for appearance in chain.from_iterable(writes[: max(due, 0)]):
            at = appearance.address
            connection.execute("DELETE FROM views WHERE pk = ? AND sk = ?", (at.pk, at.sk))
            connection.executemany(
                "INSERT INTO views (name, view_pk, view_sk, document, pk, sk)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [(*row, at.pk, at.sk) for row in appearance.rows],
            )
        self._late = writes[max(due, 0) :]


def _record_of(record: type[R], known: Mapping[str, str], document: bytes) -> R:
    return decode(record, known, document, msgspec.msgpack.decode)


def _newest(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return found[0] if found is not None else 0


def _document(connection: sqlite3.Connection, address: Address) -> bytes | None:
    row = connection.execute(
        "SELECT document FROM items WHERE pk = ? AND sk = ?", (address.pk, address.sk)
    ).fetchone()
    return None if row is None else row[0]


def _apply(connection: sqlite3.Connection, step: Step, before: bytes | None) -> bool:
    """Do one step; whether anything changed."""
    at = step.address
    if isinstance(step.action, Check):
        return False
    if step.item is None:
        if before is not None:
            _remove(connection, at)
        return before is not None
    document = msgspec.msgpack.encode(step.item.attributes)
    if document == before:
        return False
    expires_at = step.item.attributes[EXPIRY] if step.pattern.expires else None
    connection.execute(
        "INSERT INTO items (pk, sk, document, expires_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET document = excluded.document, expires_at = excluded.expires_at",
        (at.pk, at.sk, document, expires_at),
    )
    _note(connection, "INSERT" if before is None else "MODIFY", at)
    return True


def _remove(connection: sqlite3.Connection, at: Address) -> None:
    connection.execute("DELETE FROM items WHERE pk = ? AND sk = ?", (at.pk, at.sk))
    _note(connection, "REMOVE", at)


def _note(connection: sqlite3.Connection, event: Event, at: Address) -> None:
    connection.execute(
        "INSERT INTO changes (event, pk, sk) VALUES (?, ?, ?)", (event, at.pk, at.sk)
    )
