"""The folder of one machine's service: who holds it, whose it is, and how clients find it."""

import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from msgspec import Struct
from msgspec.structs import asdict

from zero_memory.local.files import write_atomically
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table
from zero_memory.scopes.identity import list_people, make_person, make_token
from zero_memory.scopes.model import GRANTS, Person, Token
from zero_memory.scopes.secret import presented

TOKEN_FILE = "token"  # noqa: S105 - a file's name
READY_FILE = "serve.json"
PERSON_FILE = "person.json"
FAILURES_FILE = "failures.json"
LOCK_FILE = "serve.lock"

_logger = logging.getLogger(__name__)


class Ready(Struct, frozen=True):
    """Where a running service is: what `zm serve --json` prints, and what its home says."""

    mcp_url: str
    api_url: str
    token_file: str
    pid: int

    def as_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


class CannotServe(Exception):
    """The service can't start here; the message says why, and what to do."""


@contextmanager
def hold(home: Path) -> Generator[None]:
    """Make the folder (mode 0700) and hold it alone; the system lets go when the process ends.

    One that holds something keeps its mode, since that may be somebody else's. Raises CannotServe.
    """
    lock = FileLock(home / LOCK_FILE, mode=0o600, blocking=False)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(home.iterdir()):
            home.chmod(0o700)
        lock.acquire()
    except Timeout as taken:
        raise CannotServe(_taken(home)) from taken
    except OSError as refused:
        raise CannotServe(
            f"{home} can't be used: {refused.strerror or refused}. Choose another with --home."
        ) from refused
    try:
        yield
    finally:
        lock.release()


def _taken(home: Path) -> str:
    try:
        ready = Ready(**json.loads((home / READY_FILE).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return f"Another service is just starting in {home}. Use it, or another --home."
    return (
        f"The service of {home} runs already, at {ready.mcp_url} (process {ready.pid}). "
        f"Use it, stop it, or start another with --home and --port."
    )


@contextmanager
def announced(home: Path, ready: Ready) -> Generator[None]:
    """Let clients find the service in its home while it runs."""
    path = home / READY_FILE
    write_atomically(path, ready.as_json())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def first_start(home: Path, table: Table, clock: Clock) -> Path:
    """The file with the access token of this machine's person; makes both when they are not there.

    A token that the table does not know, or whose file was deleted, is made anew for the same
    person, and a new person where the account of the last one was deleted. Raises CannotServe.
    """
    token_file = home / TOKEN_FILE
    if not _is_known(token_file, table):
        person = _person(home, table, clock)
        token = make_token(table, clock, person, label="this machine", grants=GRANTS)
        write_atomically(token_file, token + "\n")
    return token_file


def _is_known(token_file: Path, table: Table) -> bool:
    try:
        shown = presented("zmt", token_file.read_text(encoding="utf-8").strip())
    except (FileNotFoundError, UnicodeDecodeError):
        return False
    return shown is not None and table.get(Token, shown.public_id) is not None


def _person(home: Path, table: Table, clock: Clock) -> Person:
    path = home / PERSON_FILE
    gone = False
    if path.exists():
        known = table.get(Person, _named(path))
        if known is not None:
            return known
        if _people(table):
            raise CannotServe(
                f"{path} names a person whom the table beside it does not know. If that account "
                "was deleted, delete the file, or write the id of another into it (zm admin "
                "people). Otherwise restore the folder from one backup."
            )
        gone = True
    person = _only_person(home, table) or make_person(table, clock)
    write_atomically(path, json.dumps({"person": person.person}))
    if gone:
        _logger.warning(
            "the table knows nobody any more, since the account was deleted or the table is new: "
            "made a new person, %s, with a new token",
            person.person,
        )
    return person


def _named(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["person"])
    except (ValueError, LookupError, TypeError) as damaged:
        raise CannotServe(
            f"{path} is damaged. Delete it when the table knows one person (zm admin people); "
            'otherwise write whose machine this is: {"person": "p_…"}.'
        ) from damaged


def _people(table: Table) -> list[Person]:
    people: list[Person] = []
    after: str | None = None
    while True:
        page = list_people(table, after=after)
        people += page.records
        after = page.next
        if after is None:
            return people


def _only_person(home: Path, table: Table) -> Person | None:
    """The person of a table that was put back without its folder; None in a new table."""
    people = _people(table)
    if len(people) > 1:
        raise CannotServe(
            f"The table in {home} knows several people, and {PERSON_FILE} is missing, which says "
            "whose machine this is. Put it back, or write it: zm admin people lists the ids."
        )
    return people[0] if people else None
