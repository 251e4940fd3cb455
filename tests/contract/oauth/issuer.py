"""A user pool's endpoints as Cognito has them: keys, sign-in, tokens. Nobody is asked anything."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from typing_extensions import override

HOUR = 3_600


@dataclass
class Pool:
    """A user pool and the one who signs in at it. Signs with the last of its keys."""

    subject: str = "sub-ada"
    redirects: Callable[[str], list[str]] | None = None
    """Where a client's codes may go."""
    keys: dict[str, rsa.RSAPrivateKey] = field(default_factory=dict[str, rsa.RSAPrivateKey])
    fetched: int = 0
    away: bool = False
    url: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def __post_init__(self) -> None:
        self.rotate()

    def rotate(self) -> None:
        """From now on another key signs, and no earlier one is published."""
        name = f"key-{len(self.keys)}"
        self.keys = {name: rsa.generate_private_key(public_exponent=65_537, key_size=2_048)}

    def signs(self, scope: str, **claims: Any) -> str:
        """An access token, with these claims over the usual ones."""
        now = int(time.time())
        said: dict[str, Any] = {
            "iss": self.url,
            "sub": self.subject,
            "token_use": "access",
            "client_id": "a client",
            "scope": scope,
            "iat": now,
            "exp": now + HOUR,
        }
        said = {name: value for name, value in (said | claims).items() if value is not None}
        ((name, key),) = self.keys.items()
        return jwt.encode(said, key, algorithm="RS256", headers={"kid": name})

    def published(self) -> dict[str, Any]:
        return {
            "keys": [
                {
                    **RSAAlgorithm.to_jwk(key.public_key(), as_dict=True),
                    "kid": name,
                    "alg": "RS256",
                    "use": "sig",
                }
                for name, key in self.keys.items()
            ]
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert self.redirects is not None
        assert query["redirect_uri"] in self.redirects(query["client_id"])
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def exchange(self, form: dict[str, str]) -> dict[str, Any]:
        asked = self.codes.pop(form["code"])
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        assert form["client_id"] == asked["client_id"]
        assert form["redirect_uri"] == asked["redirect_uri"]
        token = self.signs(asked["scope"], aud=asked["resource"])
        return {"access_token": token, "token_type": "Bearer", "expires_in": HOUR}


@contextmanager
def running(pool: Pool) -> Generator[Pool]:
    """Serve the pool on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/.well-known/jwks.json":
                pool.fetched += 1
                self._answer(503 if pool.away else 200, pool.published())
            else:
                query = {name: values[0] for name, values in parse_qs(asked.query).items()}
                self._answer(302, {}, pool.authorize(query))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(200, pool.exchange(form))

        def _answer(self, status: int, body: dict[str, Any], location: str = "") -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if location:
                self.send_header("location", location)
            self.end_headers()
            self.wfile.write(content)

        @override
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        pool.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield pool
        server.shutdown()
        thread.join()
