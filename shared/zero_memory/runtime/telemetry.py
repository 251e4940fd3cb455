"""Logs and metrics of requests: that one happened and how it went, never what was in it.

Each metric is billed for every hour that it has a value in, so only what an alarm watches is one,
and only while there is some of it. Calls and their times stand in the log, and Lambda counts them.
"""

import hashlib
import sys
import traceback
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit
from msgspec import Struct

from zero_memory.runtime.settings import Settings

if TYPE_CHECKING:
    from zero_memory.retrieval.drift import Drift

_SERVICE = "zero-memory"
_NAMESPACE = "ZeroMemory"


class Outcome(Struct, frozen=True):
    """How one call went. `code` is the error's, None for a success; `principal` is never shown."""

    tool: str
    request_id: str
    duration_ms: float
    principal: str | None
    code: str | None


@cache
def _logger() -> Logger:
    return Logger(service=_SERVICE, stream=sys.stderr)


def logger(level: str) -> Logger:
    """JSON lines on standard error; standard output belongs to whoever started the process."""
    made = _logger()
    # Made again, a logger of the same name would keep the level that it was first made with.
    made.setLevel(level)
    return made


def record(outcome: Outcome, settings: Settings) -> None:
    """Log a call."""
    who = outcome.principal and hashlib.sha256(outcome.principal.encode()).hexdigest()[:12]
    logger(settings.log_level).info(
        "call",
        extra={
            "tool": outcome.tool,
            "request_id": outcome.request_id,
            "duration_ms": round(outcome.duration_ms, 1),
            "principal_hash": who,
            "code": outcome.code or "ok",
        },
    )


def record_failure(error: BaseException, request_id: str, settings: Settings) -> None:
    """Log an unexpected exception by its type and places, and count it; its text may hold content.

    Counted over all tools in one, for an alarm: over MCP such a call is answered 200.
    """
    logger(settings.log_level).error(
        "unexpected exception",
        extra={
            "request_id": request_id,
            "exception": type(error).__qualname__,
            "places": _places(error.__traceback__),
        },
    )
    _count("Failures", 1, settings)


def _places(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(trace)]


def record_drift(drift: "Drift", settings: Settings) -> None:
    """Log what a run of the schedule compared, and count what differed."""
    logger(settings.log_level).info(
        "index compared",
        extra={
            "compared": drift.compared,
            "lost": len(drift.lost),
            "stale": len(drift.stale),
            "erased": len(drift.erased),
            "refused": drift.refused,
            "finished": drift.finished,
        },
    )
    if drift.found:
        _count("IndexDrift", drift.found, settings)


def _count(name: str, value: int, settings: Settings) -> None:
    """Count where there is a place that collects counts."""
    if settings.home == "aws":
        # Anew each time: calls of one process may overlap.
        metrics = EphemeralMetrics(namespace=_NAMESPACE, service=_SERVICE)
        metrics.add_metric(name, MetricUnit.Count, value)
        metrics.flush_metrics()
