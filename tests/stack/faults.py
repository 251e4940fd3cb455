"""What may happen to a function: its process ends between two effects, or a call of it fails."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

from tests.relay import HUNG_UP, Answer, Ask, Meddling, Relay, Request
from tests.stack.stack import Stack

_WRITES = {"DeleteItem", "PutItem", "SendMessageBatch", "TransactWriteItems", "UpdateItem"}


def caller(request: Request) -> str:
    """The logical id of the function that asks AWS; "" for a request to OpenSearch."""
    _, _, rest = request.header("user-agent").partition("app/")
    return rest.partition(" ")[0]


def operation(request: Request) -> str:
    """What DynamoDB or SQS is asked for; "" for others."""
    return request.header("x-amz-target").rpartition(".")[2]


def is_effect(request: Request) -> bool:
    """Whether it changes something in the table, in the bucket or in the index."""
    if request.header("x-amz-target"):
        return operation(request) in _WRITES
    path = request.path.partition("?")[0]
    return request.method in {"PUT", "DELETE"} or (
        request.method == "POST" and not path.endswith(("_mget", "_msearch", "_count"))
    )


class Effects:
    """Counts what a function does, and ends its process when it has done `allowed`.

    That is at its next effect, before it happens; or, when `allowed` is also the `last`, right
    after it. None: never.
    """

    def __init__(
        self, stack: Stack, function: str, *, allowed: int | None = None, last: int | None = None
    ) -> None:
        self.seen = 0
        self.killed = threading.Event()
        self._stack = stack
        self._function = function
        self._allowed = allowed
        self._last = last
        self._counting = threading.Lock()

    def meddle(self, request: Request, ask: Ask) -> Answer | None:
        """As a relay's client."""
        if not is_effect(request) or caller(request) not in {self._function, ""}:
            return ask(request)
        with self._counting:
            self.seen += 1
            number = self.seen
        if self._allowed is None or self.killed.is_set():
            return ask(request)
        if number == self._allowed + 1:
            return self._kill()
        answer = ask(request)
        return self._kill() if number == self._allowed == self._last else answer

    def _kill(self) -> None:
        assert self._stack.kill(self._function) > 0
        self.killed.set()
        return HUNG_UP


@contextmanager
def meddling(meddle: Meddling, *relays: Relay | None) -> Generator[None]:
    """Let a fault happen at these relays until the block ends."""
    there = [relay for relay in relays if relay is not None]
    for relay in there:
        relay.meddle = meddle
    try:
        yield
    finally:
        for relay in there:
            relay.meddle = None


def error(kind: str, **more: object) -> Answer:
    """An answer of DynamoDB's that refuses."""
    said = {"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": "a fault", **more}
    return Answer(400, [("content-type", "application/x-amz-json-1.0")], json.dumps(said).encode())


def throttled(request: Request, ask: Ask) -> Answer:
    """Nothing happens."""
    return error("ThrottlingException")


def in_conflict(request: Request, ask: Ask) -> Answer:
    """One of a transaction's actions fails, by a passing conflict, and so nothing happens."""
    actions = len(json.loads(request.body)["TransactItems"])
    reasons = [{"Code": "None"} for _ in range(actions - 1)]
    return error(
        "TransactionCanceledException",
        CancellationReasons=[*reasons, {"Code": "TransactionConflict"}],
    )


def unheard(request: Request, ask: Ask) -> None:
    """It happens, and nobody is told."""
    ask(request)
    return HUNG_UP


def half_read(request: Request, ask: Ask) -> Answer:
    """Of a batch of keys the first half is read, and the others are to be asked for again."""
    asked = json.loads(request.body)["RequestItems"]
    ((table, wanted),) = asked.items()
    half = (len(wanted["Keys"]) + 1) // 2
    left = {table: {**wanted, "Keys": wanted["Keys"][half:]}} if wanted["Keys"][half:] else {}
    answer = ask(request)
    said = json.loads(answer.body)
    read = [
        item
        for item in said["Responses"][table]
        if {"pk": item["pk"], "sk": item["sk"]} in wanted["Keys"][:half]
    ]
    body = json.dumps({**said, "Responses": {table: read}, "UnprocessedKeys": left}).encode()
    headers = [each for each in answer.headers if each[0].lower() != "x-amz-crc32"]
    return replace(answer, headers=headers, body=body)


def some(fault: Meddling, times: int, when: Callable[[Request], bool]) -> Meddling:
    """A fault that befalls the first so many of the requests that are meant."""
    turn = threading.Lock()
    left = times

    def meddle(request: Request, ask: Ask) -> Answer | None:
        nonlocal left
        with turn:
            struck = left > 0 and when(request)
            left -= struck
        return fault(request, ask) if struck else ask(request)

    return meddle
