"""Times as people and clients read them."""

from datetime import UTC, date, datetime

from zero_memory.contracts.errors import validation_failed

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def timestamp(at: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(field: str, text: str) -> int:
    """RFC 3339 or a plain date (UTC) as milliseconds; `field` is named in the refusal."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise validation_failed(
            f"{field} is not a time; write it as 2026-01-31 or 2026-01-31T12:00:00Z."
        ) from None
    at = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


def last_moment(field: str, text: str) -> int:
    """The same, but a plain date is its last moment: until a day means until it is over."""
    at = moment(field, text)
    return at + _DAY - 1 if _is_date(text) else at


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def age(since: int, now: int) -> str:
    """How long ago, in the largest unit that fits: `just now`, `5 min`, `3 h`, `12 d`."""
    past = now - since
    if past < _MINUTE:
        return "just now"
    if past < _HOUR:
        return f"{past // _MINUTE} min"
    if past < _DAY:
        return f"{past // _HOUR} h"
    return f"{past // _DAY} d"
