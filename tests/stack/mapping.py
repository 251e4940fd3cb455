"""Lambda's event source mapping on a stream in the emulator, by what a deployed mapping says."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from zero_memory.local.stream import Delivery, Record

IDLE_S = 0.25
FIRST_BACKOFF_S = 0.05
"""Lambda waits longer; a test has the same number of attempts."""


@contextmanager
def delivering(client: Any, mapping: Mapping[str, Any]) -> Generator["EventSourceMapping"]:
    """Deliver a stream's records until the block ends; `client` makes clients of AWS's services."""
    running = EventSourceMapping(client, mapping)
    thread = threading.Thread(target=running.run, name="mapping", daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.stopping.set()
        thread.join()


class EventSourceMapping:
    """Reads a stream and delivers its records; none is under way while a test holds `turn`.

    `given_up` has those that failed as often as the mapping allows; of each it leaves a note in the
    queue that the mapping names.
    """

    def __init__(self, client: Any, mapping: Mapping[str, Any]) -> None:
        self.turn = threading.Lock()
        self.stopping = threading.Event()
        self.given_up: list[Record] = []
        self._streams = client("dynamodbstreams")
        self._lambda = client("lambda")
        self._queues = client("sqs")
        self._mapping = mapping
        described = self._streams.describe_stream(StreamArn=mapping["EventSourceArn"])
        (shard,) = described["StreamDescription"]["Shards"]
        self._shard: str = shard["ShardId"]
        self._delivery = Delivery(
            name="mapping",
            batch_size=mapping["BatchSize"],
            retries=mapping["MaximumRetryAttempts"],
            patterns=[json.loads(each["Pattern"]) for each in mapping["FilterCriteria"]["Filters"]],
            invoke=self._invoke,
            set_aside=self._give_up,
            stopping=self.stopping,
            first_backoff_s=FIRST_BACKOFF_S,
        )

    def run(self) -> None:
        """Deliver what comes, until it is told to stop."""
        at = self._iterator(ShardIteratorType=self._mapping["StartingPosition"])
        while not self.stopping.is_set():
            with self.turn:
                records, at = self._read(at)
                self._delivery.deliver(records)
            if not records:
                self.stopping.wait(IDLE_S)

    @contextmanager
    def trying(self, retries: int) -> Generator[None]:
        """Try a record so many times again, and not as often as the mapping says."""
        with self.turn:
            usual, self._delivery = self._delivery, replace(self._delivery, retries=retries)
        try:
            yield
        finally:
            with self.turn:
                self._delivery = usual

    def records_of(self, pk: str) -> list[Record]:
        """All of the stream's records of one partition that functions are told of, oldest first."""
        found: list[Record] = []
        at = self._iterator(ShardIteratorType="TRIM_HORIZON")
        while page := self._read(at):
            records, at = page
            found += [each for each in records if each["dynamodb"]["Keys"]["pk"]["S"] == pk]
            if not records:
                break
        return [each for each in found if each["dynamodb"]["Keys"]["sk"]["S"] == "META"]

    def _iterator(self, **at: str) -> str:
        return self._streams.get_shard_iterator(
            StreamArn=self._mapping["EventSourceArn"], ShardId=self._shard, **at
        )["ShardIterator"]

    def _read(self, at: str) -> tuple[list[Record], str]:
        page = self._streams.get_records(ShardIterator=at)
        return [self._record(each) for each in page["Records"]], page["NextShardIterator"]

    def _record(self, read: Mapping[str, Any]) -> Record:
        """A record that was read from a stream, as functions get it."""
        change = read["dynamodb"]
        at = change["ApproximateCreationDateTime"].timestamp()
        return {
            "eventID": read["eventID"],
            "eventName": read["eventName"],
            "eventVersion": read["eventVersion"],
            "eventSource": read["eventSource"],
            "awsRegion": read["awsRegion"],
            "dynamodb": {**change, "ApproximateCreationDateTime": int(at)},
            "eventSourceARN": self._mapping["EventSourceArn"],
        }

    def _give_up(self, record: Record) -> None:
        """Leave a note, as Lambda does: of the batch's place in the stream, not of what it held."""
        arn = self._mapping["DestinationConfig"]["OnFailure"]["Destination"]
        queue = self._queues.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"]
        at = datetime.now(UTC).isoformat()
        number = record["dynamodb"]["SequenceNumber"]
        note = {
            "requestContext": {
                "requestId": record["eventID"],
                "functionArn": self._mapping["FunctionArn"],
                "condition": "RetryAttemptsExhausted",
                "approximateInvokeCount": self._delivery.retries + 1,
            },
            "version": "1.0",
            "timestamp": at,
            "DDBStreamBatchInfo": {
                "shardId": self._shard,
                "startSequenceNumber": number,
                "endSequenceNumber": number,
                "approximateArrivalOfFirstRecord": at,
                "approximateArrivalOfLastRecord": at,
                "batchSize": 1,
                "streamArn": self._mapping["EventSourceArn"],
            },
        }
        self._queues.send_message(QueueUrl=queue, MessageBody=json.dumps(note))
        self.given_up.append(record)

    def _invoke(self, event: Mapping[str, Any]) -> Any:
        answer = self._lambda.invoke(
            FunctionName=self._mapping["FunctionArn"], Payload=json.dumps(event)
        )
        said = json.load(answer["Payload"])
        if "FunctionError" in answer:
            raise FunctionFailed(said["errorType"])
        return said


class FunctionFailed(Exception):
    """A function raised, timed out or was killed."""
