"""Which access tokens are the issuer's."""

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.clock import ManualClock
from tests.contract.oauth.issuer import Pool
from zero_memory.adapters.access_tokens import (
    FRESH_MS,
    MAX_TOKEN,
    STALE_MS,
    UNKNOWN_KEY_MS,
    SignedAccessTokens,
)
from zero_memory.ports.access_tokens import Claims, IssuerUnavailable

SCOPE = "zero-memory/memory:read"


@pytest.fixture
def tokens(pool: Pool, clock: ManualClock) -> SignedAccessTokens:
    return SignedAccessTokens(pool.url, clock)


def test_a_token_says_who_signed_in_for_what(pool: Pool, tokens: SignedAccessTokens) -> None:
    token = pool.signs(f"openid {SCOPE}", aud="https://memory.example/mcp", exp=4_000_000_000)
    assert tokens.read(token) == Claims(
        issuer=pool.url,
        subject="sub-ada",
        scopes=("openid", SCOPE),
        audiences=("https://memory.example/mcp",),
        expires_at=4_000_000_000_000,
    )
    unbound = tokens.read(pool.signs(SCOPE))
    assert unbound is not None
    assert unbound.audiences == ()


def test_what_is_not_the_issuer_s_says_nothing(pool: Pool, tokens: SignedAccessTokens) -> None:
    signed = pool.signs(SCOPE)
    head, body, signature = signed.split(".")
    ((key_id, key),) = pool.keys.items()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = {"iss": pool.url, "sub": "x", "exp": 4_000_000_000, "token_use": "access"}
    stranger = Pool(url=pool.url)
    assert tokens.read(signed) is not None
    for token in (
        "",
        "x",
        "a.b.c",
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}AAAA",
        stranger.signs(SCOPE),  # another key by the same name
        jwt.encode(claims, "", algorithm="none", headers={"kid": key_id}),
        jwt.encode(claims, public[:60], algorithm="HS256", headers={"kid": key_id}),
        jwt.encode(claims, key, algorithm="RS512", headers={"kid": key_id}),
        jwt.encode(claims, key, algorithm="RS256"),
        pool.signs(SCOPE, iss="https://elsewhere.example"),
        pool.signs(SCOPE, iss=None),
        pool.signs(SCOPE, sub=None),
        pool.signs(SCOPE, exp=None),
        pool.signs(SCOPE, token_use="id"),
        pool.signs(SCOPE, token_use=None),
        pool.signs("x" * MAX_TOKEN),
    ):
        assert tokens.read(token) is None, token


def test_a_new_key_is_fetched_and_a_withdrawn_one_ends(
    pool: Pool, tokens: SignedAccessTokens, clock: ManualClock
) -> None:
    first = pool.signs(SCOPE)
    assert tokens.read(first) is not None
    pool.keys = {"key-next": Pool().keys["key-0"]}
    clock.at += UNKNOWN_KEY_MS
    assert tokens.read(pool.signs(SCOPE)) is not None
    assert tokens.read(first) is None


def test_nobody_makes_the_service_ask_the_issuer_again_and_again(
    pool: Pool, tokens: SignedAccessTokens, clock: ManualClock
) -> None:
    known = pool.signs(SCOPE)
    pool.keys = {"key-made-up": Pool().keys["key-0"]}
    made_up = pool.signs(SCOPE)
    pool.keys = {"key-0": Pool().keys["key-0"]}
    for _ in range(20):
        assert tokens.read(made_up) is None
        assert tokens.read(known) is None
    assert pool.fetched == 1
    clock.at += UNKNOWN_KEY_MS
    tokens.read(made_up)
    assert pool.fetched == 2


def test_keys_outlast_an_issuer_that_is_away_for_a_day(
    pool: Pool, tokens: SignedAccessTokens, clock: ManualClock
) -> None:
    token = pool.signs(SCOPE)
    assert tokens.read(token) is not None
    pool.away = True
    clock.at += FRESH_MS
    assert tokens.read(token) is not None
    clock.at += STALE_MS
    with pytest.raises(IssuerUnavailable):
        tokens.read(token)
    pool.away = False
    clock.at += UNKNOWN_KEY_MS
    assert tokens.read(token) is not None
