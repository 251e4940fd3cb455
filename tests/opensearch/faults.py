"""What may become of requests to a node, and of its answers."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from tests.relay import HUNG_UP, Answer, Ask, Relay, Request, serving

Fault = (
    Literal[
        "throttled",
        "slow",
        "hung up",
        "timed out",
        "a shard failed",
        "cut off",
        "throttled at first",
        "done, but hung up at first",
    ]
    | None
)
"""At first: the first time that something is asked of a path."""
SLOW_S = 30


class FaultyNode(Relay):
    """Hands requests on to a node, and does to answers what `fault` says."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self.fault: Fault = None
        self.meddle = self._fail
        self.closing = threading.Event()
        self._asked: set[tuple[str, str]] = set()

    def _fail(self, request: Request, ask: Ask) -> Answer | None:
        fault = self.fault
        asked = (request.method, request.path.partition("?")[0])
        first = asked not in self._asked
        self._asked.add(asked)
        if fault == "done, but hung up at first" and first:
            ask(request)
            return HUNG_UP
        if fault == "throttled" or (fault == "throttled at first" and first):
            body = b'{"error": {"type": "rejected_execution_exception"}, "status": 429}'
            return Answer(429, [("content-type", "application/json")], body)
        if fault == "slow":
            self.closing.wait(SLOW_S)
        if fault in ("hung up", "slow"):
            return HUNG_UP
        answer = ask(request)
        if fault == "cut off":
            return replace(answer, cut=len(answer.body) // 2)
        if request.path.partition("?")[0].endswith("_msearch") and fault is not None:
            document = json.loads(answer.body)
            part = document["responses"][-1]
            part["timed_out"] = fault == "timed out"
            part["_shards"]["failed"] = int(fault == "a shard failed")
            return replace(answer, body=json.dumps(document).encode())
        return answer


@contextmanager
def faulty(node: str) -> Generator[FaultyNode]:
    with serving(FaultyNode(node)) as server:
        try:
            yield server
        finally:
            server.closing.set()
