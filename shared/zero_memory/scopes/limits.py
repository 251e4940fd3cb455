"""How many calls a principal may make, over all processes, at a bounded cost.

Calls are counted in fixed windows of a minute. A process gives each principal a few calls a minute
without asking, so that a person at work costs no write; beyond these it leases calls from the
window's row, a lease at a time, and so the row is written once for many calls. All processes
together let through what the row allows, and the unasked few of each.
"""

from collections import OrderedDict
from threading import Lock

from msgspec import Struct

from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Absent, AttributeIs, ConditionFailed, Put, Table
from zero_memory.scopes.model import LeasedCalls

WINDOW_MS = 60_000

UNASKED = 20
LEASE = 30
"""The least lease; it is a hundredth of a limit that is larger, so that a window costs a hundred
writes at most."""
REMEMBERED_PRINCIPALS = 4_096


class _Left(Struct):
    """What a process may still let through of a principal in a window.

    `spent` says that the window's row has nothing left either.
    """

    window: int
    calls: int = UNASKED
    spent: bool = False


class CallMemory:
    """What one process may still let through. Safe in threads; the oldest make room."""

    def __init__(self, size: int = REMEMBERED_PRINCIPALS) -> None:
        self._size = size
        self._lock = Lock()
        self._left: OrderedDict[str, _Left] = OrderedDict()

    def take(self, principal: str, window: int) -> bool | None:
        """Whether a call passes (True) or not (False); None: only the row can tell."""
        with self._lock:
            left = self._of(principal, window)
            if left.calls > 0:
                left.calls -= 1
                return True
            return False if left.spent else None

    def lease(self, principal: str, window: int, calls: int) -> None:
        """Let through so many calls more; none: nothing is left in this window."""
        with self._lock:
            left = self._of(principal, window)
            left.calls += calls
            left.spent = calls == 0

    def _of(self, principal: str, window: int) -> _Left:
        left = self._left.get(principal)
        if left is None or left.window != window:
            left = self._left[principal] = _Left(window)
            self._left.move_to_end(principal)
            if len(self._left) > self._size:
                self._left.popitem(last=False)
        return left


PROCESS_CALLS = CallMemory()


def count_call(
    table: Table,
    clock: Clock,
    principal: str,
    *,
    calls_a_minute: int,
    memory: CallMemory = PROCESS_CALLS,
) -> None:
    """Count a principal's call. Raises rate_limited, with the seconds to wait (`retry_after_s`)."""
    now = clock.now()
    window = now // WINDOW_MS
    passes = memory.take(principal, window)
    while passes is None:
        leased = _lease(table, principal, window, calls_a_minute)
        if leased is not None:
            memory.lease(principal, window, leased)
        passes = memory.take(principal, window)
    if not passes:
        wait = -(-((window + 1) * WINDOW_MS - now) // 1_000)
        raise Refusal(
            ErrorCode.RATE_LIMITED,
            f"That was more than {calls_a_minute:,} calls in a minute. Try again in {wait} s.",
            {"retry_after_s": wait},
        )


def _lease(table: Table, principal: str, window: int, calls_a_minute: int) -> int | None:
    """Calls from the window's row, 0 when none are left; None when another process was faster."""
    row = table.get(LeasedCalls, principal, str(window))
    leased = 0 if row is None else row.calls
    calls = min(max(LEASE, calls_a_minute // 100), calls_a_minute - leased)
    if calls <= 0:
        return 0
    expires_at = (window + 2) * WINDOW_MS // 1_000
    try:
        table.transact(
            [
                Put(
                    LeasedCalls(principal, str(window), leased + calls, expires_at),
                    Absent() if row is None else AttributeIs("calls", row.calls),
                )
            ]
        )
    except ConditionFailed:
        return None
    return calls
