"""Access tokens as signed JWTs (RS256), checked by the keys that the issuer publishes."""

from threading import Lock
from typing import Any, cast

import jwt
import urllib3
from jwt import InvalidTokenError, PyJWK, PyJWKSet
from jwt.exceptions import PyJWKSetError
from urllib3.exceptions import HTTPError

from zero_memory.ports.access_tokens import Claims, IssuerUnavailable
from zero_memory.ports.clock import Clock

FRESH_MS = 3_600_000
"""After this long the keys are fetched again, so that one that was withdrawn ends."""

STALE_MS = 24 * 3_600_000
"""For so long keys do while the issuer does not answer."""

UNKNOWN_KEY_MS = 30_000
"""The least time between two fetches, whatever tokens name: nobody makes us ask the issuer."""

MAX_TOKEN = 8_192
MAX_KEYS_BYTES = 65_536

_ALGORITHM = "RS256"
_TIMEOUT = urllib3.Timeout(connect=1, read=1.5)
_RETRIES = urllib3.Retry(total=1, backoff_factor=0.1, backoff_jitter=0.1, redirect=0)
_OK = 200


class SignedAccessTokens:
    """`ports.access_tokens.AccessTokens` of a Cognito user pool.

    Its access tokens are told from its ID tokens by `token_use`.
    """

    def __init__(self, issuer: str, clock: Clock) -> None:
        self._issuer = issuer
        self._keys = _Keys(f"{issuer}/.well-known/jwks.json", clock)

    def read(self, token: str) -> Claims | None:
        """See the port."""
        if len(token) > MAX_TOKEN:
            return None
        try:
            header = jwt.get_unverified_header(token)
            key_id = header.get("kid")
            key = self._keys.get(key_id) if isinstance(key_id, str) else None
            if key is None:
                return None
            said: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[_ALGORITHM],
                issuer=self._issuer,
                # Whose time, and for whom, is decided with the rest of who may do what.
                options={
                    "require": ["exp", "iss", "sub"],
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                    "verify_aud": False,
                },
            )
        except InvalidTokenError:
            return None
        return _claims(said) if said.get("token_use") == "access" else None


def _claims(said: dict[str, Any]) -> Claims | None:
    scopes, audiences, expires_at = said.get("scope", ""), said.get("aud", ()), said["exp"]
    listed = (audiences,) if isinstance(audiences, str) else audiences
    if not isinstance(scopes, str) or not isinstance(expires_at, int | float):
        return None
    if not isinstance(listed, list | tuple):
        return None
    named = tuple(str(each) for each in cast("tuple[object, ...]", listed))
    return Claims(
        issuer=said["iss"],
        subject=said["sub"],
        scopes=tuple(scopes.split()),
        audiences=named,
        expires_at=round(expires_at * 1_000),
    )


class _Keys:
    """The issuer's keys, fetched at first use and kept by their ids."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._http = urllib3.PoolManager(num_pools=1, timeout=_TIMEOUT, retries=_RETRIES)
        self._lock = Lock()
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at: int | None = None
        self._asked_at: int | None = None

    def get(self, key_id: str) -> PyJWK | None:
        """The key of this id. Raises IssuerUnavailable."""
        with self._lock:
            now = self._clock.now()
            if key_id not in self._keys or self._age(now) >= FRESH_MS:
                self._fetch(now)
            if self._age(now) >= STALE_MS:
                raise IssuerUnavailable
            return self._keys.get(key_id)

    def _age(self, now: int) -> int:
        return STALE_MS if self._fetched_at is None else now - self._fetched_at

    def _fetch(self, now: int) -> None:
        if self._asked_at is not None and 0 <= now - self._asked_at < UNKNOWN_KEY_MS:
            return
        self._asked_at = now
        try:
            with self._http.request("GET", self._url, preload_content=False) as answer:
                body = answer.read(MAX_KEYS_BYTES + 1)
            if answer.status != _OK or len(body) > MAX_KEYS_BYTES:
                return
            found = PyJWKSet.from_json(body.decode())
        except (HTTPError, PyJWKSetError, ValueError):
            return
        self._keys = {
            key.key_id: key for key in found.keys if key.key_id and key.algorithm_name == _ALGORITHM
        }
        self._fetched_at = now
