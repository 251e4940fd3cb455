"""The shape of an artifact's key, checked alike in both homes."""

import re

_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")


def checked(key: str) -> str:
    """The key itself, which can lead nowhere else. Raises ValueError for any other shape."""
    if _KEY.fullmatch(key) is None:
        raise ValueError("an artifact's key is <person>/<name>")
    return key
