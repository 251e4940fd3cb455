"""What the table in DynamoDB promises beyond the port: how it asks, and how it bears faults."""

# pyright: reportPrivateUsage=false

import json
from collections.abc import Callable, Generator
from typing import Any, NoReturn

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from moto.core.models import botocore_stubber

from tests.homes import dynamodb
from tests.records import meta
from zero_memory.adapters.dynamodb import DynamoTable
from zero_memory.memory.model import Meta, PendingMarker, TimelineEntry
from zero_memory.ports.table import (
    Absent,
    Check,
    ConditionFailed,
    Delete,
    Present,
    Put,
    RevisionIs,
    TableUnavailable,
    ref,
)

Fault = Callable[[Any], AWSResponse]


class _Raw:
    """A response's body, as the SDK reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, **_: object) -> list[bytes]:
        return [self._body]


def answer(status: int, body: dict[str, Any]) -> Fault:
    def send(request: Any) -> AWSResponse:
        raw: Any = _Raw(json.dumps(body).encode())
        return AWSResponse(request.url, status, HTTPHeaders(), raw)

    return send


def refusal(status: int, code: str, **body: Any) -> Fault:
    return answer(status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **body})


def cancelled(*codes: str) -> Fault:
    reasons = [{"Code": code} for code in codes]
    return refusal(400, "TransactionCanceledException", CancellationReasons=reasons)


def silence(error: Exception) -> Fault:
    def send(request: Any) -> NoReturn:
        raise error

    return send


def _at_once(seconds: float) -> None:
    """Stands in for waiting."""


class Wire:
    """What goes over the wire, to moto; the first requests meet `faults` on their way."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def send(self, request: Any, **event: Any) -> AWSResponse | None:
        operation = request.headers["X-Amz-Target"].decode().partition(".")[2]
        self.requests.append((operation, json.loads(request.body)))
        if self.faults:
            return self.faults.pop(0)(request)
        return botocore_stubber(request=request, **event)

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.requests]


@pytest.fixture
def dynamodb_client() -> Generator[Any]:
    """A client that no other test has emptied the budget of retries of."""
    with dynamodb() as client:
        yield client


@pytest.fixture
def wire(
    dynamodb_client: Any, dynamo_table: DynamoTable, monkeypatch: pytest.MonkeyPatch
) -> Generator[Wire]:
    monkeypatch.setattr("time.sleep", _at_once)
    spy = Wire()
    events = dynamodb_client.meta.events
    events.unregister("before-send", botocore_stubber)
    events.register("before-send", spy.send)
    yield spy
    events.unregister("before-send", spy.send)
    events.register("before-send", botocore_stubber)


# ------------------------------------------------------------------ what is asked for


def test_reads_of_records_are_consistent_and_those_of_views_are_not(
    dynamo_table: DynamoTable, wire: Wire
):
    dynamo_table.get(Meta, "mem_1")
    dynamo_table.get_many([ref(Meta, "mem_1")])
    dynamo_table.query(PendingMarker, "scp_1")
    dynamo_table.query(TimelineEntry, "scp_1", "knowledge")
    (_, got), (_, many), (_, collection), (_, view) = wire.requests
    (batch,) = many["RequestItems"].values()
    consistent = [each["ConsistentRead"] for each in (got, batch, collection, view)]
    assert consistent == [True, True, True, False]


def test_a_batch_asks_for_each_of_at_most_a_hundred_keys_once(
    dynamo_table: DynamoTable, wire: Wire
):
    dynamo_table.get_many([ref(Meta, f"mem_{each % 150}") for each in range(300)])
    sizes = [
        len(keys["Keys"])
        for _, request in wire.requests
        for keys in request["RequestItems"].values()
    ]
    assert sizes == [100, 50]


def test_a_lone_write_costs_no_transaction_where_its_repeat_is_harmless(
    dynamo_table: DynamoTable, wire: Wire
):
    dynamo_table.transact([Put(meta())])
    dynamo_table.transact([Delete(ref(Meta, "mem_1"), RevisionIs(1))])
    dynamo_table.transact([Put(meta(), Absent())])
    dynamo_table.transact([Check(ref(Meta, "mem_1"), Present())])
    assert wire.operations == [
        "PutItem",
        "DeleteItem",
        "TransactWriteItems",
        "TransactWriteItems",
    ]


# ------------------------------------------------------------------ faults


def test_a_conflict_with_another_transaction_is_waited_out_under_one_token(
    dynamo_table: DynamoTable, wire: Wire
):
    wire.faults = [cancelled("None", "TransactionConflict")] * 3
    dynamo_table.transact([Put(meta("mem_1"), Absent()), Put(meta("mem_2"))])
    assert dynamo_table.get(Meta, "mem_2") == meta("mem_2")
    sent = [body for operation, body in wire.requests if operation == "TransactWriteItems"]
    assert len(sent) == 4
    assert len({body["ClientRequestToken"] for body in sent}) == 1


def test_a_lone_write_waits_for_a_transaction_too(dynamo_table: DynamoTable, wire: Wire):
    wire.faults = [refusal(400, "TransactionConflictException")]
    dynamo_table.transact([Put(meta())])
    assert dynamo_table.get(Meta, "mem_1") == meta()


def test_positions_are_told_only_when_no_conflict_hides_one(dynamo_table: DynamoTable, wire: Wire):
    dynamo_table.transact([Put(meta("mem_1"))])
    wire.faults = [cancelled("ConditionalCheckFailed", "TransactionConflict")]
    with pytest.raises(ConditionFailed) as failure:
        dynamo_table.transact([Put(meta("mem_1"), Absent()), Delete(ref(Meta, "mem_2"), Present())])
    assert failure.value.failed == (0, 1)


def test_a_conflict_without_end_is_given_up(dynamo_table: DynamoTable, wire: Wire):
    wire.faults = [cancelled("None", "TransactionConflict")] * 100
    with pytest.raises(TableUnavailable):
        dynamo_table.transact([Put(meta("mem_1")), Put(meta("mem_2"))])
    assert len(wire.requests) == 8


@pytest.mark.parametrize(
    "fault",
    [
        refusal(400, "ProvisionedThroughputExceededException"),
        refusal(400, "ThrottlingException"),
        refusal(500, "InternalServerError"),
        answer(503, {}),
        silence(ReadTimeoutError(endpoint_url="https://table")),
        silence(EndpointConnectionError(endpoint_url="https://table")),
    ],
)
def test_a_table_that_does_not_answer_is_asked_again_and_then_unavailable(
    dynamo_table: DynamoTable, wire: Wire, fault: Fault
):
    wire.faults = [fault]
    assert dynamo_table.get(Meta, "mem_1") is None
    wire.faults = [fault] * 100
    for call in (
        lambda: dynamo_table.get(Meta, "mem_1"),
        lambda: dynamo_table.get_many([ref(Meta, "mem_1")]),
        lambda: dynamo_table.query(PendingMarker, "scp_1"),
        lambda: dynamo_table.transact([Put(meta())]),
    ):
        wire.requests.clear()
        with pytest.raises(TableUnavailable):
            call()
        assert len(wire.requests) == 3


def test_keys_that_a_batch_left_are_asked_for_again(dynamo_table: DynamoTable, wire: Wire):
    dynamo_table.transact([Put(meta("mem_1")), Put(meta("mem_2"))])
    left = {dynamo_table._name: {"Keys": [{"pk": {"S": "M#mem_1"}, "sk": {"S": "META"}}]}}
    wire.faults = [answer(200, {"Responses": {}, "UnprocessedKeys": left})]
    assert dynamo_table.get_many([ref(Meta, "mem_1")]) == [meta("mem_1")]
    wire.faults = [answer(200, {"Responses": {}, "UnprocessedKeys": left})] * 100
    with pytest.raises(TableUnavailable):
        dynamo_table.get_many([ref(Meta, "mem_1")])


def test_an_error_of_the_request_itself_is_not_hidden(dynamodb_client: Any):
    table = DynamoTable(dynamodb_client, "no-such-table")
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        table.get(Meta, "mem_1")
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        table.transact([Put(meta())])
