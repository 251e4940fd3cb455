"""DynamoDB's stream on one machine: the table's outbox, delivered to the functions that consume it.

Each consumer gets each change at least once and in order. As in Lambda's event source mapping,
what a consumer fails on is tried again, alone in the end, and then set aside; here the set-aside
changes are tried again every minute, so that a consumer that is mended catches up by itself. So is
what a consumer parks itself, which comes as a message of its queue.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct

from zero_memory.adapters.schema import memory_of
from zero_memory.adapters.sqlite import Change, SqliteTable
from zero_memory.adapters.sqs import parking_body
from zero_memory.local.deployment import StreamSource
from zero_memory.local.failures import PARKED, Failure, FailureQueue
from zero_memory.local.functions import ACCOUNT, REGION, Invoke, without_message

READ_AT_ONCE = 1_000  # what Lambda asks DynamoDB for at most
IDLE_S = 2.0  # another process may write too; this one wakes the pump
REDRIVE_S = 60.0
FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 10.0

_logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One record of a stream or a queue, as Lambda hands it to a function."""


def stream_record(change: Change | Failure) -> dict[str, Any]:
    """A change as a record of DynamoDB's stream, view type KEYS_ONLY."""
    return {
        "eventID": f"{change.sequence:032x}",
        "eventName": change.event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": REGION,
        "eventSourceARN": f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/local/stream/local",
        "dynamodb": {
            "ApproximateCreationDateTime": int(time.time()),
            "Keys": {"pk": {"S": change.pk}, "sk": {"S": change.sk}},
            "SequenceNumber": f"{change.sequence:021d}",
            "SizeBytes": len(change.pk.encode()) + len(change.sk.encode()) + len("pksk"),
            "StreamViewType": "KEYS_ONLY",
        },
    }


def parked_record(failure: Failure) -> dict[str, Any]:
    """A parked memory as a message of the queue that it waits in."""
    return {
        "messageId": failure.pk,
        "receiptHandle": failure.pk,
        "body": parking_body(memory_of(failure.pk) or ""),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(failure.since),
            "SenderId": ACCOUNT,
            "ApproximateFirstReceiveTimestamp": str(failure.since),
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:parked",
        "awsRegion": REGION,
    }


def _identifier(record: Record) -> str:
    """What a consumer reports a record by."""
    if record["eventSource"] == "aws:sqs":
        return record["messageId"]
    return record["dynamodb"]["SequenceNumber"]


def matches(pattern: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether an event filter's pattern lets a record through.

    Of the pattern language only exact values are known; another operator raises ValueError, since
    a filter that is half understood would lose changes.
    """
    for name, wanted in pattern.items():
        held = record.get(name)
        if isinstance(wanted, Mapping):
            nested = cast("Mapping[str, Any]", wanted)
            if not isinstance(held, Mapping) or not matches(nested, cast("Any", held)):
                return False
        elif any(isinstance(value, Mapping) for value in wanted):
            raise ValueError("an event filter may only compare with exact values here")
        elif held not in wanted:
            return False
    return True


class Delivery(Struct, frozen=True):
    """How records reach the consumer `name`: what Lambda's event source mapping does with a batch.

    A record that fails by itself is tried `retries` times more, after pauses that double from
    `first_backoff_s`, and then handed to `set_aside`. Of `patterns` see `StreamSource`.
    """

    name: str
    batch_size: int
    retries: int
    patterns: Sequence[Mapping[str, Any]]
    invoke: Callable[[dict[str, Any]], Any]
    set_aside: Callable[[Record], None]
    stopping: threading.Event
    first_backoff_s: float = FIRST_BACKOFF_S

    def deliver(self, records: Sequence[Record]) -> None:
        """Until each record that the filter lets through is done or set aside, or it stops."""
        todo = [record for record in records if self._wanted(record)]
        size, failed = self.batch_size, 0
        while todo and not self.stopping.is_set():
            batch = todo[:size]
            left = self.call(batch)
            todo = [*left, *todo[size:]]
            if len(left) < len(batch):
                size, failed = self.batch_size, 0
            elif len(batch) > 1:
                size = len(batch) // 2
            elif failed < self.retries:
                failed += 1
                self.stopping.wait(min(self.first_backoff_s * 2 ** (failed - 1), LONGEST_BACKOFF_S))
            else:
                self.set_aside(todo.pop(0))
                failed = 0

    def call(self, batch: Sequence[Record]) -> list[Record]:
        """Call the consumer; the records from the first one that it failed on, all if it raised."""
        try:
            answer: Mapping[str, Any] = self.invoke({"Records": [*batch]})
        except Exception as error:  # noqa: BLE001 - whatever a handler raises fails its batch
            _logger.warning("%s failed: %s", self.name, without_message(error))
            return list(batch)
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        for position, record in enumerate(batch):
            if _identifier(record) in failed:
                return list(batch[position:])
        return []

    def _wanted(self, record: Record) -> bool:
        return not self.patterns or any(matches(pattern, record) for pattern in self.patterns)


class Pump:
    """Delivers an outbox to its consumers on a thread of its own.

    `delivered`, where it is set, is told how far the consumers have come before the outbox is.
    """

    def __init__(
        self,
        outbox: SqliteTable,
        sources: Sequence[StreamSource],
        invoke: Invoke,
        failures: FailureQueue,
        *,
        first_backoff_s: float = FIRST_BACKOFF_S,
    ) -> None:
        self._outbox = outbox
        self.delivered: Callable[[int], None] | None = None
        self._sources = sources
        self._invoke = invoke
        self._failures = failures
        self._first_backoff_s = first_backoff_s
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)

    def start(self) -> None:
        """Start delivering, what was set aside first."""
        self._thread.start()

    def wake(self) -> None:
        """Say that the table may have changed."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the batch in hand and end; what is not delivered yet comes at the next start."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        redrive_at = 0.0
        while not self._stopping.is_set():
            try:
                if time.monotonic() >= redrive_at:
                    self.redrive()
                    redrive_at = time.monotonic() + REDRIVE_S
                idle = not self.deliver_once()
            except Exception as error:  # noqa: BLE001 - the table is away; the thread must outlive it
                _logger.error("the stream cannot be read: %s", without_message(error))  # noqa: TRY400
                idle = True
            if idle:
                self._wake.wait(IDLE_S)
                self._wake.clear()

    def deliver_once(self) -> bool:
        """Deliver the next changes to every consumer; False when there were none."""
        after = self._outbox.acknowledged()
        changes = self._outbox.changes(after, READ_AT_ONCE)
        if not changes:
            return False
        if len(changes) < min(source.batch_size for source in self._sources):
            self._stopping.wait(min(source.batching_window_s for source in self._sources))
            changes = self._outbox.changes(after, READ_AT_ONCE)
        for source in self._sources:
            self._delivery(source).deliver([stream_record(change) for change in changes])
        if not self._stopping.is_set():
            if self.delivered is not None:
                self.delivered(changes[-1].sequence)
            self._outbox.acknowledge(changes[-1].sequence)
        return True

    def redrive(self) -> None:
        """Try everything that was set aside once more."""
        sources = {source.function.name: source for source in self._sources}
        for failure in self._failures.all():
            source = sources.get(failure.function)
            again = parked_record if failure.event == PARKED else stream_record
            if source is None or not self._delivery(source).call([again(failure)]):
                self._failures.remove(failure)

    def _delivery(self, source: StreamSource) -> Delivery:
        def set_aside(record: Record) -> None:
            change = record["dynamodb"]
            pk, sk = change["Keys"]["pk"]["S"], change["Keys"]["sk"]["S"]
            self._failures.put(
                source.function.name, record["eventName"], pk, sk, int(change["SequenceNumber"])
            )
            _logger.error(
                "%s gave up on %s %s; it is tried again every minute",
                source.function.name,
                pk,
                sk,
            )

        return Delivery(
            name=source.function.name,
            batch_size=source.batch_size,
            retries=source.retries,
            patterns=source.patterns,
            invoke=partial(self._invoke, source.function),
            set_aside=set_aside,
            stopping=self._stopping,
            first_backoff_s=self._first_backoff_s,
        )
