"""Ids of what memories are made of; they sort by time of birth."""

from ulid import ULID


def new_memory_id(now: int) -> str:
    """A fresh `mem_<ULID>` born at `now` (milliseconds)."""
    return f"mem_{ULID.from_timestamp(now)}"


def new_audit_id(now: int) -> str:
    """A fresh `aud_<ULID>` born at `now` (milliseconds)."""
    return f"aud_{ULID.from_timestamp(now)}"


def new_dispute_id(now: int) -> str:
    """A fresh `dsp_<ULID>` born at `now` (milliseconds)."""
    return f"dsp_{ULID.from_timestamp(now)}"


def first_id_at(at: int) -> str:
    """The bound below which no memory id born at `at` (milliseconds) or later lies."""
    return _bound(at, b"\x00")


def last_id_at(at: int) -> str:
    """The bound above which no memory id born at `at` (milliseconds) or earlier lies."""
    return _bound(at, b"\xff")


def _bound(at: int, filler: bytes) -> str:
    # No id is born before 1970, so that bounds before it all mean the same.
    return f"mem_{ULID.from_bytes(max(0, at).to_bytes(6, 'big') + filler * 10)}"
