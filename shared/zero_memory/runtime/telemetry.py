"""Logs and metrics of requests: that one happened and how it went, never what was in it."""

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
    """Log a call, and count it where there is a place that collects counts."""
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
    if settings.home == "aws":
        _count(outcome)


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
    if settings.home == "aws":
        metrics = _metrics()
        metrics.add_metric("Failures", MetricUnit.Count, 1)
        metrics.flush_metrics()


def _places(trace: TracebackType | None) -> list[str]:
    return [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(trace)]


def record_drift(drift: "Drift", settings: Settings) -> None:
    """Log what a run of the schedule found, and count it where there is a place for counts."""
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
    if settings.home == "aws":
        metrics = _metrics()
        metrics.add_metric("IndexDrift", MetricUnit.Count, drift.found)
        metrics.add_metric("IndexRefused", MetricUnit.Count, len(drift.refused))
        metrics.add_metric("IndexCompared", MetricUnit.Count, drift.compared)
        metrics.flush_metrics()


def _count(outcome: Outcome) -> None:
    metrics = _metrics()
    metrics.add_dimension("tool", outcome.tool)
    metrics.add_metric("Calls", MetricUnit.Count, 1)
    metrics.add_metric("Duration", MetricUnit.Milliseconds, outcome.duration_ms)
    metrics.add_metric("Refused", MetricUnit.Count, outcome.code not in {None, "internal"})
    metrics.add_metric("Failed", MetricUnit.Count, outcome.code == "internal")
    metrics.flush_metrics()


def _metrics() -> EphemeralMetrics:
    # Anew each time: calls of one process may overlap.
    return EphemeralMetrics(namespace=_NAMESPACE, service=_SERVICE)
