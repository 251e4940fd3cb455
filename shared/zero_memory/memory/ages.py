"""Times as people and clients read them."""

from datetime import UTC, date, datetime, timedelta

from zero_memory.contracts.errors import validation_failed

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

FIRST_MOMENT = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
LAST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MILLISECOND
"""What `timestamp` can write: the years 1 to 9999."""


def timestamp(at: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(field: str, text: str) -> int:
    """RFC 3339 or a plain date (UTC) as milliseconds; `field` is named in the refusal."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise _no_time(field) from None
    zoned = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    at = round((zoned - _EPOCH) / _MILLISECOND)
    if not FIRST_MOMENT <= at <= LAST_MOMENT:
        raise _no_time(field)
    return at


def _no_time(field: str) -> Exception:
    return validation_failed(
        f"{field} is not a time in the years 1 to 9999; write it as 2026-01-31 or "
        "2026-01-31T12:00:00Z."
    )


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
