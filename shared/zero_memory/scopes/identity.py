"""Who calls: people, and the personal access tokens that prove it.

A token is `zmt_<public id>_<secret>`, of which the secret's hash alone is kept (`scopes.secret`).
Records are remembered for 4 s, so that a revoked token fails everywhere within 5.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import Refusal, not_found, unauthorized, validation_failed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Absent,
    Action,
    ConditionFailed,
    Page,
    Present,
    Put,
    RevisionIs,
    Table,
    every,
    ref,
)
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.founding import first_membership, founding
from zero_memory.scopes.ids import new_person_id
from zero_memory.scopes.model import GRANTS, Grant, Person, PersonEntry, PersonToken, Token
from zero_memory.scopes.paths import core_path, personal_path
from zero_memory.scopes.secret import mint, presented

REMEMBERED_MS = 4_000
REMEMBERED_TOKENS = 4_096
LABEL_LENGTH = 200
NAME_LENGTH = 200


class Remembered(Struct, frozen=True):
    """A token's record, None when its person is disabled or gone, as of `read_at`.

    `calls_a_minute` is the person's own quota.
    """

    token: Token | None
    read_at: int
    calls_a_minute: int | None = None


class TokenMemory:
    """The tokens that one process read lately. Safe in threads; the oldest make room."""

    def __init__(self, size: int = REMEMBERED_TOKENS) -> None:
        self._size = size
        self._lock = Lock()
        self._tokens: OrderedDict[str, Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, public_id: str, now: int) -> Remembered | None:
        """What is remembered of a token, unless that is 4 s old."""
        with self._lock:
            found = self._tokens.get(public_id)
            if found is None or not 0 <= now - found.read_at < REMEMBERED_MS:
                return None
            return found

    def put(self, public_id: str, remembered: Remembered) -> None:
        """Remember a token."""
        with self._lock:
            self._tokens[public_id] = remembered
            self._tokens.move_to_end(public_id)
            if len(self._tokens) > self._size:
                self._tokens.popitem(last=False)

    def forget(self, public_ids: Iterable[str]) -> None:
        """Have these tokens read again at their next use."""
        with self._lock:
            for public_id in public_ids:
                self._tokens.pop(public_id, None)


PROCESS_MEMORY = TokenMemory()


_RENEWAL = "Ask whoever runs the service for a new one, or make one with another of yours."


def _refused(why: str = "is not known here") -> Refusal:
    return unauthorized(f"The access token {why}. {_RENEWAL}")


def authenticate(
    table: Table, clock: Clock, token: str, memory: TokenMemory = PROCESS_MEMORY
) -> Caller:
    """Who holds this token.

    Raises unauthorized, in the same words and after the same comparison whatever is wrong; whoever
    holds the secret alone is told that it was revoked or expired.
    """
    now = clock.now()
    shown = presented("zmt", token)
    if shown is None:
        raise _refused()
    known = _read(table, memory, shown.public_id, now)
    row = known.token
    proven = shown.proves(None if row is None else row.secret_sha256)
    if row is None or not proven:
        raise _refused()
    if row.revoked_at is not None:
        raise _refused("was revoked")
    if row.valid_until is not None and row.valid_until <= now:
        raise _refused("has expired")
    return Caller(
        row.person, row.principal, frozenset(row.grants), calls_a_minute=known.calls_a_minute
    )


def _read(table: Table, memory: TokenMemory, public_id: str, now: int) -> Remembered:
    """The record of a token whose person may act; `now` was taken before it is read."""
    known = memory.get(public_id, now)
    if known is not None:
        return known
    row = table.get(Token, public_id)
    if row is None:
        # Not remembered, or guesses would push out the tokens in use.
        return Remembered(None, now)
    person = table.get(Person, row.person)
    if person is None or person.disabled:
        read = Remembered(None, now)
    else:
        read = Remembered(row, now, person.calls_a_minute)
    memory.put(public_id, read)
    return read


def make_person(table: Table, clock: Clock, name: str = "") -> Person:
    """A new person with their private root and core, in one transaction."""
    if len(name) > NAME_LENGTH:
        raise validation_failed(f"A person's name has at most {NAME_LENGTH} characters.")
    person, actions = new_person(clock.now(), name)
    table.transact(actions)
    return person


def new_person(now: int, name: str = "") -> tuple[Person, list[Action]]:
    """A person born at `now` (milliseconds), and the actions that make them and what is theirs."""
    of = new_person_id(now)
    person = Person(of, now, secrets.token_bytes(32), name)
    return person, [
        Put(person, Absent()),
        Put(PersonEntry(of)),
        *founding(first_membership(of, personal_path(of), "personal", now), now),
        *founding(first_membership(of, core_path(of), "core", now), now),
    ]


def set_disabled(
    table: Table, person: str, *, disabled: bool, memory: TokenMemory = PROCESS_MEMORY
) -> Person:
    """Shut a person out (or let them in again): every token of theirs fails within 5 s.

    Raises not_found.
    """
    return _change_person(table, person, memory, disabled=disabled)


def set_quota(
    table: Table, person: str, calls_a_minute: int | None, memory: TokenMemory = PROCESS_MEMORY
) -> Person:
    """Give a person a quota of their own; None: that of everybody. It holds within 5 s.

    Raises not_found, and validation_failed for less than one call.
    """
    if calls_a_minute is not None and calls_a_minute < 1:
        raise validation_failed("A quota is at least one call a minute; or disable the person.")
    return _change_person(table, person, memory, calls_a_minute=calls_a_minute)


def _change_person(table: Table, person: str, memory: TokenMemory, **changes: Any) -> Person:
    while True:
        found = table.get(Person, person)
        if found is None:
            raise not_found("There is no such person; zm admin people lists them.")
        changed = replace(found, **changes, revision=found.revision + 1)
        try:
            table.transact([Put(changed, RevisionIs(found.revision))])
        except ConditionFailed:
            continue
        memory.forget(each.public_id for each in list_tokens(table, person))
        return changed


def list_people(table: Table, *, after: str | None = None, limit: int = 100) -> Page[Person]:
    """A page of all people, in no order that means anything; the last one may be empty."""
    people: list[Person] = []
    while True:
        page = table.query(PersonEntry, after=after, limit=limit - len(people))
        found = table.get_many([ref(Person, each.person) for each in page.records])
        people += [person for person in found if person is not None]
        after = page.next
        if after is None or len(people) >= limit:
            return Page(tuple(people), after)


def make_token(
    table: Table,
    clock: Clock,
    person: Person,
    *,
    label: str,
    grants: Iterable[Grant],
    expires_at: int | None = None,
) -> str:
    """A new token of a person, shown this once, with these grants.

    It lasts until `expires_at` (milliseconds), or for good. Raises validation_failed.
    """
    now = clock.now()
    granted: tuple[Grant, ...] = tuple(dict.fromkeys(grants))
    if not granted or not set(granted) <= set(GRANTS):
        raise validation_failed(f"A token needs at least one grant of: {', '.join(GRANTS)}.")
    if expires_at is not None and expires_at <= now:
        raise validation_failed("A token's expiry lies in the future; pass a later one.")
    if len(label) > LABEL_LENGTH:
        raise validation_failed(f"A token's label has at most {LABEL_LENGTH} characters.")
    minted = mint("zmt")
    row = Token(
        public_id=minted.public_id,
        secret_sha256=minted.secret_sha256,
        person=person.person,
        principal=person.person,
        grants=granted,
        created_at=now,
        label=label,
        valid_until=expires_at,
    )
    table.transact([Put(row, Absent()), Put(PersonToken(person.person, minted.public_id))])
    return minted.text


def list_tokens(table: Table, person: str) -> Sequence[Token]:
    """A person's tokens, revoked and expired ones too, in the order of their public ids."""
    refs = [ref(Token, each.public_id) for each in every(table, PersonToken, person)]
    return [token for token in table.get_many(refs) if token is not None]


def _no_such_token() -> Refusal:
    return not_found("You have no such token; list yours for their public ids.")


def revoke_token(
    table: Table,
    clock: Clock,
    person: str,
    public_id: str,
    memory: TokenMemory = PROCESS_MEMORY,
) -> Token:
    """End a person's token: it fails at once in this process, and within 5 s in every other.

    Revoking it again changes nothing. Raises not_found for another person's token too.
    """
    row = table.get(Token, public_id)
    if row is None or row.person != person:
        raise _no_such_token()
    if row.revoked_at is None:
        row = replace(row, revoked_at=clock.now())
        try:
            table.transact([Put(row, Present())])
        except ConditionFailed as gone:
            raise _no_such_token() from gone
    memory.forget([public_id])
    return row
