"""Changes of the table reach their consumers as DynamoDB's stream would deliver them."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.samples import sample
from zero_memory.adapters.sqlite import Change, SqliteTable
from zero_memory.local.deployment import Function, StreamSource
from zero_memory.local.failures import PARKED, FailureParking, FailureQueue
from zero_memory.local.stream import Pump, matches, parked_record, stream_record
from zero_memory.ports.parking import ParkingUnavailable
from zero_memory.ports.table import Put
from zero_memory.scopes.model import Member, ScopePath

PATHS = {"dynamodb": {"Keys": {"sk": {"S": ["PATH"]}}}}
SOURCE = StreamSource(Function("indexer", Path("app.py"), "handler", 512, 60), 2, 0, 2, (PATHS,))

MEMORY = "mem_01KB9Q4T7E3N5R8V2W6X0Y1Z4A"

Handler = Callable[[list[str]], list[str]]


class Consumer:
    """Notes the keys of each batch; `fail` names those of a batch that it fails on."""

    def __init__(self, fail: Handler = lambda keys: []) -> None:
        self.fail = fail
        self.batches: list[list[str]] = []

    def __call__(self, function: Function, event: dict[str, Any]) -> Any:
        records = {one["dynamodb"]["Keys"]["pk"]["S"]: one["dynamodb"] for one in event["Records"]}
        self.batches.append(list(records))
        failed = self.fail(list(records))
        return {
            "batchItemFailures": [
                {"itemIdentifier": records[key]["SequenceNumber"]} for key in failed
            ]
        }

    @property
    def keys(self) -> list[str]:
        return [key for batch in self.batches for key in batch]


def write(table: SqliteTable, *names: str) -> list[str]:
    for name in names:
        table.transact([Put(ScopePath(name, "scp_1")), Put(Member("scp_1", name, "reader"))])
    return [f"PATH#{name}" for name in names]


def pump(
    table: SqliteTable, consumer: Consumer, tmp_path: Path, source: StreamSource = SOURCE
) -> Pump:
    failures = FailureQueue(tmp_path / "failures.json")
    return Pump(table, (source,), consumer, failures, first_backoff_s=0)


def test_a_record_has_the_shape_of_the_sample_that_the_cloud_sends() -> None:
    wanted = sample("table_stream")["Records"][0]

    record = stream_record(Change(7, "INSERT", "M#mem_1", "META"))

    assert record.keys() == wanted.keys()
    assert record["dynamodb"].keys() == wanted["dynamodb"].keys()
    assert record["dynamodb"]["Keys"] == {"pk": {"S": "M#mem_1"}, "sk": {"S": "META"}}


def test_consumers_get_what_their_filter_lets_through_in_order_and_in_batches(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    keys = write(sqlite_table, "a", "b", "c")
    consumer = Consumer()

    assert pump(sqlite_table, consumer, tmp_path).deliver_once()

    assert consumer.batches == [keys[:2], keys[2:]]


def test_what_was_delivered_does_not_come_again(sqlite_table: SqliteTable, tmp_path: Path) -> None:
    write(sqlite_table, "a")
    pump(sqlite_table, Consumer(), tmp_path).deliver_once()
    late = Consumer()

    assert not pump(sqlite_table, late, tmp_path).deliver_once()
    assert late.batches == []


def test_a_batch_that_a_crash_cut_off_comes_again(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    class Killed(BaseException):
        pass

    def die(keys: list[str]) -> list[str]:
        raise Killed

    keys = write(sqlite_table, "a")
    with pytest.raises(Killed):
        pump(sqlite_table, Consumer(die), tmp_path).deliver_once()
    after = Consumer()

    pump(sqlite_table, after, tmp_path).deliver_once()

    assert after.keys == keys


def test_after_a_partial_failure_the_records_from_there_on_come_again(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    keys = write(sqlite_table, "a", "b", "c")
    attempts: list[str] = []

    def once(batch: list[str]) -> list[str]:
        attempts.extend(batch)
        return [keys[1]] if attempts.count(keys[1]) == 1 and keys[1] in batch else []

    consumer = Consumer(once)
    pump(sqlite_table, consumer, tmp_path).deliver_once()

    assert consumer.batches == [keys[:2], keys[1:]]


def test_a_record_that_keeps_failing_is_set_aside_and_holds_up_no_other(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    keys = write(sqlite_table, "a", "b", "c", "d")

    def poisoned(batch: list[str]) -> list[str]:
        if keys[1] in batch:
            raise RuntimeError
        return []

    consumer = Consumer(poisoned)
    pump(sqlite_table, consumer, tmp_path).deliver_once()

    assert set(consumer.keys) == set(keys)
    assert consumer.batches.count([keys[1]]) == SOURCE.retries + 1
    (waiting,) = FailureQueue(tmp_path / "failures.json").all()
    assert (waiting.function, waiting.pk, waiting.sk) == ("indexer", keys[1], "PATH")
    assert not pump(sqlite_table, consumer, tmp_path).deliver_once()


def test_what_was_set_aside_is_delivered_once_its_consumer_is_mended(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    keys = write(sqlite_table, "a")
    broken = Consumer(lambda batch: batch)
    pump(sqlite_table, broken, tmp_path).deliver_once()
    mended = Consumer()

    pump(sqlite_table, mended, tmp_path).redrive()
    pump(sqlite_table, mended, tmp_path).redrive()

    assert mended.batches == [keys]
    assert FailureQueue(tmp_path / "failures.json").all() == []


def test_a_parked_memory_has_the_shape_of_the_sample_that_the_cloud_sends(tmp_path: Path) -> None:
    (wanted,) = sample("parked")["Records"]
    failures = FailureQueue(tmp_path / "failures.json")
    FailureParking(failures, ["indexer"]).park([MEMORY])

    (record,) = map(parked_record, failures.all())

    assert record.keys() == wanted.keys()
    assert record["attributes"].keys() == wanted["attributes"].keys()
    assert (record["body"], record["eventSource"]) == (wanted["body"], wanted["eventSource"])


def test_what_a_consumer_parks_waits_once_and_comes_again_by_its_queue_until_it_is_done(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    failures = FailureQueue(tmp_path / "failures.json")
    parking = FailureParking(failures, ["indexer"])
    parking.park([MEMORY])
    parking.park([MEMORY])
    bodies: list[str] = []
    failing = True

    def look(function: Function, event: dict[str, Any]) -> Any:
        (record,) = event["Records"]
        bodies.append(record["body"])
        failed = [{"itemIdentifier": record["messageId"]}] if failing else []
        return {"batchItemFailures": failed}

    looking = Pump(sqlite_table, (SOURCE,), look, failures)
    looking.redrive()
    assert len(failures.all()) == 1
    failing = False
    looking.redrive()
    looking.redrive()

    assert len(bodies) == 2
    assert failures.all() == []


def test_what_was_set_aside_and_is_parked_at_the_next_try_still_waits(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    failures = FailureQueue(tmp_path / "failures.json")
    failures.put("indexer", "MODIFY", f"M#{MEMORY}", "META", 7)

    def park(function: Function, event: dict[str, Any]) -> Any:
        FailureParking(failures, [function.name]).park([MEMORY])
        return {"batchItemFailures": []}

    Pump(sqlite_table, (SOURCE,), park, failures).redrive()

    assert [each.event for each in failures.all()] == [PARKED]


def test_what_cannot_be_parked_is_told(tmp_path: Path) -> None:
    nowhere = FailureQueue(tmp_path / "none" / "failures.json")
    with pytest.raises(ParkingUnavailable):
        FailureParking(nowhere, ["indexer"]).park([MEMORY])


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"function": "indexer"}]'])
def test_a_damaged_queue_is_dropped_and_holds_up_nothing(
    sqlite_table: SqliteTable, tmp_path: Path, text: str
) -> None:
    keys = write(sqlite_table, "a", "b")
    (tmp_path / "failures.json").write_text(text, encoding="utf-8")
    consumer = Consumer(lambda batch: [key for key in batch if key == keys[1]])

    pump(sqlite_table, consumer, tmp_path).redrive()
    pump(sqlite_table, consumer, tmp_path).deliver_once()

    assert keys[0] in consumer.keys
    assert [each.pk for each in FailureQueue(tmp_path / "failures.json").all()] == [keys[1]]


def test_a_running_pump_delivers_what_is_written_and_stops_when_asked(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    delivered = threading.Event()

    def tell(batch: list[str]) -> list[str]:
        delivered.set()
        return []

    running = pump(sqlite_table, Consumer(tell), tmp_path, replace(SOURCE, batch_size=1))
    running.start()
    write(sqlite_table, "a")
    running.wake()

    assert delivered.wait(30)
    running.stop()


@pytest.mark.parametrize(
    ("pattern", "let_through"),
    [
        ({}, True),
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["REMOVE"]}, False),
        ({"dynamodb": {"Keys": {"sk": {"S": ["META"]}}}}, True),
        ({"dynamodb": {"Keys": {"sk": {"S": ["BODY"]}}}}, False),
        ({"dynamodb": {"NewImage": {"sk": {"S": ["META"]}}}}, False),
    ],
)
def test_a_filter_lets_through_what_its_pattern_names(
    pattern: dict[str, Any], let_through: bool
) -> None:
    assert matches(pattern, stream_record(Change(1, "INSERT", "M#1", "META"))) is let_through


def test_a_filter_that_is_not_understood_loses_nothing_silently() -> None:
    with pytest.raises(ValueError, match="exact values"):
        matches({"eventName": [{"prefix": "IN"}]}, stream_record(Change(1, "INSERT", "a", "b")))
