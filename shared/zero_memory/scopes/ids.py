"""Ids of people and scopes; their order is that of their birth."""

from ulid import ULID


def new_person_id(now: int) -> str:
    """A fresh `p_<ULID>` born at `now` (milliseconds)."""
    return f"p_{ULID.from_timestamp(now)}"


def new_scope_id(now: int) -> str:
    """A fresh `scp_<ULID>` born at `now` (milliseconds)."""
    return f"scp_{ULID.from_timestamp(now)}"
