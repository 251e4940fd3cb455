"""Who calls: tokens are shown once, kept as a hash, and fail within seconds of being revoked."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from msgspec.structs import asdict

from tests.clock import ManualClock
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.table import Table
from zero_memory.scopes.access import access_of
from zero_memory.scopes.identity import (
    PROCESS_MEMORY,
    Remembered,
    TokenMemory,
    authenticate,
    list_tokens,
    make_person,
    make_token,
    revoke_token,
    set_disabled,
)
from zero_memory.scopes.model import Grant, Person, Token


@pytest.fixture
def person(table: Table, clock: ManualClock) -> Person:
    return make_person(table, clock, "Ada")


@pytest.fixture
def token(table: Table, clock: ManualClock, person: Person) -> str:
    return make_token(table, clock, person, label="desk", grants=["memory:read"])


def _public_id(token: str) -> str:
    return token.split("_", 2)[1]


def _refusal(
    table: Table, clock: ManualClock, token: str, memory: TokenMemory = PROCESS_MEMORY
) -> Refusal:
    with pytest.raises(Refusal) as refused:
        authenticate(table, clock, token, memory)
    assert refused.value.code is ErrorCode.UNAUTHORIZED
    return refused.value


def test_a_new_person_has_a_private_root_and_a_core(table: Table, person: Person):
    access = access_of(table, person.person)
    assert re.fullmatch(r"p_[0-9A-Z]{26}", person.person)
    assert access.personal.path == f"user.{person.person}"
    assert access.core.path == f"user.{person.person}.core"
    assert {each.role for each in access.memberships} == {"admin"}


def test_a_token_proves_its_person_with_its_grants(
    table: Table, clock: ManualClock, person: Person, token: str
):
    caller = authenticate(table, clock, token)
    assert caller.person == caller.principal == person.person
    assert caller.grants == {"memory:read"}


def test_of_a_token_only_a_hash_is_stored(table: Table, token: str):
    secret = token.split("_", 2)[2]
    stored = table.get(Token, _public_id(token))
    assert stored is not None
    assert len(stored.secret_sha256) == 32
    assert all(secret not in repr(value) for value in asdict(stored).values())


def test_without_the_secret_the_answer_is_the_same_whatever_is_wrong(
    table: Table, clock: ManualClock, person: Person, token: str
):
    head, public_id, secret = token.split("_", 2)
    revoked = make_token(table, clock, person, label="", grants=["memory:read"])
    revoke_token(table, clock, person.person, _public_id(revoked))
    wrong = [
        "",
        "zmt_",
        token + " ",
        token[:-1],
        f"{head}_{'a' * 16}_{secret}",
        f"{head}_{public_id}_{'A' * 43}",
        f"zmi_{public_id}_{secret}",
        f"zmt_{_public_id(revoked)}_{'A' * 43}",
    ]
    bodies = [_refusal(table, clock, each).body() for each in wrong]
    assert all(body == bodies[0] for body in bodies)
    assert authenticate(table, clock, token)


def test_who_holds_the_secret_is_told_that_it_expired_or_was_revoked(
    table: Table, clock: ManualClock, person: Person, token: str
):
    brief = make_token(
        table, clock, person, label="", grants=["memory:read"], expires_at=clock.now() + 1
    )
    revoke_token(table, clock, person.person, _public_id(token))
    clock.advance(seconds=1)
    assert "expired" in _refusal(table, clock, brief).message
    assert "revoked" in _refusal(table, clock, token).message


def test_a_secret_is_compared_in_constant_time_even_for_an_unknown_token(
    table: Table, clock: ManualClock, token: str, monkeypatch: pytest.MonkeyPatch
):
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr("zero_memory.scopes.secret.hmac.compare_digest", compare)
    authenticate(table, clock, token)
    _refusal(table, clock, f"zmt_{'a' * 16}_{'A' * 43}")
    assert [(len(one), len(other)) for one, other in compared] == [(32, 32), (32, 32)]


def test_a_token_ends_when_it_expires_though_it_was_just_used(
    table: Table, clock: ManualClock, person: Person
):
    until = clock.now() + 3_000
    token = make_token(table, clock, person, label="", grants=["memory:read"], expires_at=until)
    clock.advance(seconds=2.999)
    assert authenticate(table, clock, token)
    clock.advance(seconds=0.001)
    _refusal(table, clock, token)


def test_a_revoked_token_fails_at_once_here_and_within_five_seconds_elsewhere(
    table: Table, clock: ManualClock, person: Person, token: str
):
    here, elsewhere = TokenMemory(), TokenMemory()
    for memory in (here, elsewhere):
        authenticate(table, clock, token, memory)
    revoke_token(table, clock, person.person, _public_id(token), here)
    _refusal(table, clock, token, here)
    clock.advance(seconds=4)
    _refusal(table, clock, token, elsewhere)


def test_a_row_is_read_once_in_four_seconds(
    table: Table, clock: ManualClock, token: str, monkeypatch: pytest.MonkeyPatch
):
    reads: list[str] = []
    get = table.get

    def counting(record: type[object], *parts: str) -> object:
        reads.append(record.__name__)
        return get(record, *parts)

    monkeypatch.setattr(table, "get", counting)
    for _ in range(40):
        authenticate(table, clock, token)
        clock.advance(seconds=0.1)
    assert reads == ["Token", "Person"]
    authenticate(table, clock, token)
    assert reads == ["Token", "Person"] * 2


def test_guesses_push_no_token_in_use_out_of_memory(table: Table, clock: ManualClock, token: str):
    memory = TokenMemory(size=1)
    authenticate(table, clock, token, memory)
    for letter in "abc":
        _refusal(table, clock, f"zmt_{letter * 16}_{'A' * 43}", memory)
    assert memory.get(_public_id(token), clock.now()) is not None


def test_the_memory_of_tokens_is_bounded():
    memory = TokenMemory(size=3)
    for name in "abcd":
        memory.put(name, Remembered(None, 0))
    assert len(memory) == 3
    assert memory.get("a", 0) is None
    assert memory.get("d", 0) is not None


def test_a_disabled_person_is_shut_out_and_let_in_again(
    table: Table, clock: ManualClock, person: Person, token: str
):
    authenticate(table, clock, token)
    set_disabled(table, person.person, disabled=True)
    assert _refusal(table, clock, token).body() == _refusal(table, clock, "zmt_").body()
    set_disabled(table, person.person, disabled=False)
    assert authenticate(table, clock, token)


def test_a_person_sees_and_revokes_their_own_tokens_alone(
    table: Table, clock: ManualClock, person: Person, token: str
):
    other = make_person(table, clock)
    make_token(table, clock, other, label="laptop", grants=["memory:read"])
    assert [each.label for each in list_tokens(table, person.person)] == ["desk"]
    with pytest.raises(Refusal) as refused:
        revoke_token(table, clock, other.person, _public_id(token))
    assert refused.value.code is ErrorCode.NOT_FOUND
    assert authenticate(table, clock, token)


def test_revoking_again_keeps_the_first_moment(
    table: Table, clock: ManualClock, person: Person, token: str
):
    first = revoke_token(table, clock, person.person, _public_id(token))
    clock.advance(hours=1)
    assert revoke_token(table, clock, person.person, _public_id(token)) == first


def test_a_token_is_made_with_sensible_terms_only(table: Table, clock: ManualClock, person: Person):
    wrong: list[tuple[list[Grant], str, int | None]] = [
        ([], "", None),
        ([cast("Grant", "everything")], "", None),
        (["memory:read"], "x" * 201, None),
        (["memory:read"], "", clock.now()),
    ]
    for grants, label, expires_at in wrong:
        with pytest.raises(Refusal) as refused:
            make_token(table, clock, person, label=label, grants=grants, expires_at=expires_at)
        assert refused.value.code is ErrorCode.VALIDATION_FAILED
    assert list_tokens(table, person.person) == []


def test_threads_share_the_memory_of_tokens(sqlite_table: SqliteTable, clock: ManualClock):
    person = make_person(sqlite_table, clock)
    tokens = [
        make_token(sqlite_table, clock, person, label="", grants=["memory:read"]) for _ in range(8)
    ]

    def call(number: int) -> str:
        token = tokens[number % 8]
        if number == 100:
            revoke_token(sqlite_table, clock, person.person, _public_id(tokens[0]))
        try:
            return authenticate(sqlite_table, clock, token).person
        except Refusal:
            return "refused"

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(call, range(400)))
    assert answers[0] == person.person
    assert {answers[n] for n in range(400) if n % 8} == {person.person}
    clock.advance(seconds=4)
    _refusal(sqlite_table, clock, tokens[0])
