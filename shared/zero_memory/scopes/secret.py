"""Secrets that are shown once: `<prefix>_<public id>_<secret>`.

The public id finds the record, of which the secret's SHA-256 alone is kept. A secret of 256 random
bits needs no slow hash, since nobody can guess it.
"""

import hmac
import re
import secrets
from base64 import b32encode
from hashlib import sha256
from typing import Literal

from msgspec import Struct

Prefix = Literal["zmt", "zmi"]
"""An access token; an invitation."""

_SHAPE = re.compile(r"(zm[ti])_([a-z2-7]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = bytes(32)


class Presented(Struct, frozen=True):
    """A secret as somebody presents it."""

    public_id: str
    secret: str

    def proves(self, secret_sha256: bytes | None) -> bool:
        """Whether this is the secret of that hash; as long a comparison when there is none."""
        digest = sha256(self.secret.encode()).digest()
        same = hmac.compare_digest(digest, _NOBODY if secret_sha256 is None else secret_sha256)
        return same and secret_sha256 is not None


class Minted(Struct, frozen=True):
    """A new secret: the text to show once, and what its record keeps."""

    text: str
    public_id: str
    secret_sha256: bytes


def mint(prefix: Prefix) -> Minted:
    """A new secret of 256 bits."""
    public_id = b32encode(secrets.token_bytes(10)).decode().lower()
    secret = secrets.token_urlsafe(32)
    return Minted(f"{prefix}_{public_id}_{secret}", public_id, sha256(secret.encode()).digest())


def presented(prefix: Prefix, text: str) -> Presented | None:
    """What a text presents, None when it has not the shape of such a secret."""
    shape = _SHAPE.fullmatch(text)
    return Presented(shape[2], shape[3]) if shape is not None and shape[1] == prefix else None
