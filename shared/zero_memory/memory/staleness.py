"""Portable knowledge that nobody has checked for long."""

from collections.abc import Mapping
from types import MappingProxyType

from zero_memory.memory.model import Kind, Meta

_DAY_MS = 24 * 3_600_000

STALE_AFTER_DAYS: Mapping[Kind, int] = MappingProxyType({"fact": 180, "reference": 90})
"""Days after which a memory of core asks to be checked: what it is about changes unseen."""


def stale_days(meta: Meta, now: int) -> int | None:
    """Whole days since a memory of core was written or last checked; None before it is stale.

    `now` is in milliseconds. Kinds that age does not make doubtful are never stale.
    """
    days = (now - (meta.checked_at or meta.created_at)) // _DAY_MS
    after = STALE_AFTER_DAYS.get(meta.kind)
    return days if after is not None and days >= after else None
