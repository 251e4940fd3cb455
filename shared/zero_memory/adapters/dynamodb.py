"""The table in DynamoDB: one table, with sparse secondary indexes for the views."""

import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004

from zero_memory.adapters import limits
from zero_memory.adapters.aws_session import aws_session
from zero_memory.adapters.items import Item, Step, Value, decode, steps
from zero_memory.adapters.schema import Address, Span, located, pattern_of, span_of
from zero_memory.ports.table import (
    Absent,
    Action,
    AttributeIs,
    Check,
    Condition,
    ConditionFailed,
    Page,
    Present,
    Ref,
    RevisionIs,
    TableUnavailable,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, QueryInputTypeDef

R = TypeVar("R")

CONFIG = Config(
    connect_timeout=1,
    read_timeout=2,
    retries={"mode": "standard", "total_max_attempts": 3},
)
"""DynamoDB answers in milliseconds; three attempts that hang end within a function's 10 s."""

VIEW_LAG_MS = 5_000
"""A global secondary index is usually behind by far less than a second; this is generous."""

_KEYS_A_BATCH = 100  # BatchGetItem's limit
_ATTEMPTS = 8
_FIRST_WAIT_S = 0.025
_LONGEST_WAIT_S = 0.5

_PASSING_REASONS = frozenset(
    ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded")
)
"""Cancellation reasons that a later attempt may not meet."""

_UNAVAILABLE = frozenset(
    (
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    )
)
"""Errors below HTTP 500 that mean: not now."""

_SERVER_ERROR = 500


def dynamodb_client() -> "DynamoDBClient":
    """A client by the environment's region and credentials, with timeouts and bounded retries."""
    session: Any = aws_session()  # the stubs know no service by its name here
    return session.create_client("dynamodb", config=CONFIG)


class DynamoTable:
    """`ports.table.Table` in a DynamoDB table that the template made."""

    view_lag_ms = VIEW_LAG_MS

    def __init__(self, client: "DynamoDBClient", table_name: str) -> None:
        self._client = client
        self._name = table_name
        # The stubs say that handlers answer nothing, but this event's answer is the wait.
        wait: Callable[..., Any] = _wait_for_conflict
        client.meta.events.register("needs-retry.dynamodb", wait, unique_id="zero-memory-conflict")

    def get(self, record: type[R], *parts: str) -> R | None:
        """See the port."""
        address, known = located(record, parts)
        with _translated():
            answer = self._client.get_item(
                TableName=self._name, Key=_key(address), ConsistentRead=True
            )
        if "Item" not in answer:
            return None
        return _record_of(record, known, answer["Item"])

    def get_many(self, refs: Sequence[Ref[R]]) -> list[R | None]:
        """See the port."""
        places = [located(at.record, at.parts) for at in refs]
        distinct = list(dict.fromkeys(address for address, _ in places))
        found: dict[Address, Mapping[str, Any]] = {}
        with _translated():
            for start in range(0, len(distinct), _KEYS_A_BATCH):
                for item in self._batch(distinct[start : start + _KEYS_A_BATCH]):
                    found[Address(item["pk"]["S"], item["sk"]["S"])] = item
        return [
            _record_of(at.record, known, item) if (item := found.get(address)) is not None else None
            for at, (address, known) in zip(refs, places, strict=True)
        ]

    def _batch(self, addresses: Sequence[Address]) -> Generator[Mapping[str, Any]]:
        keys: Sequence[Any] = [_key(address) for address in addresses]
        for attempt in range(_ATTEMPTS):
            answer = self._client.batch_get_item(
                RequestItems={self._name: {"Keys": keys, "ConsistentRead": True}}
            )
            yield from answer["Responses"].get(self._name, ())
            left = answer.get("UnprocessedKeys", {}).get(self._name)
            if left is None:
                return
            keys = left["Keys"]
            time.sleep(_wait_s(attempt))
        raise TableUnavailable("DynamoDB left keys of a batch unread, again and again")

    def query(
        self,
        record: type[R],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[R]:
        """See the port."""
        span = span_of(record, parts, after=after, since=since, until=until, limit=limit)
        items, behind = self._page(span, limit, newest_first=newest_first)
        found = (_record_of(record, span.fields(key), item) for key, item in items)
        return Page(tuple(found), behind)

    def keys(
        self,
        record: type[object],
        *parts: str,
        after: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page[str]:
        """See the port. Costs what reading the records does, but for the way here."""
        span = span_of(record, parts, after=after, since=since, until=until, limit=limit)
        items, behind = self._page(span, limit, newest_first=newest_first, keys_only=True)
        return Page(tuple(span.last_part(key) for key, _ in items), behind)

    def _page(
        self, span: Span, limit: int, *, newest_first: bool, keys_only: bool = False
    ) -> tuple[Sequence[tuple[str, Mapping[str, Any]]], str | None]:
        """Sort keys and items of a span's next page, and what continues behind it.

        With `keys_only` the items hold nothing else.
        """
        pk, sk = span.pattern.key_names
        request: QueryInputTypeDef = {
            "TableName": self._name,
            "KeyConditionExpression": "#pk = :pk AND #sk BETWEEN :lower AND :upper",
            "ExpressionAttributeNames": {"#pk": pk, "#sk": sk},
            "ExpressionAttributeValues": {
                ":pk": {"S": span.pk},
                ":lower": {"S": span.lower},
                ":upper": {"S": span.upper},
            },
            "ScanIndexForward": not newest_first,
            "Limit": limit,
            "ConsistentRead": not span.pattern.index,
        }
        if span.pattern.index:
            request["IndexName"] = span.pattern.index
        if keys_only:
            request["ProjectionExpression"] = "#pk, #sk"
        if span.after is not None:
            request["ExclusiveStartKey"] = _start_key(span, span.after)
        with _translated():
            answer: Any = self._client.query(**request)
        last = answer.get("LastEvaluatedKey")
        items = [(item[sk]["S"], item) for item in answer["Items"]]
        return items, span.next(last[sk]["S"] if last is not None else None)

    def transact(self, actions: Sequence[Action]) -> None:
        """See the port.

        A lone unconditional write, and a lone delete, go as such, at half the price. A lone put
        with a condition goes as a transaction: if an answer is lost, the SDK's repeat would meet
        its own write and report a failed condition; a transaction's request token prevents that.
        """
        planned = steps(actions)
        limits.check(planned)
        requests: list[Any] = [self._request(step) for step in planned]
        with _translated():
            match requests:
                case [{"Put": put}] if "ConditionExpression" not in put:
                    self._client.put_item(**put)
                case [{"Delete": delete}]:
                    self._client.delete_item(**delete)
                case _:
                    self._client.transact_write_items(TransactItems=requests)

    def scrub(self) -> None:
        """Nothing to do: a deleted item is gone, but for point-in-time recovery's 35 days."""

    def _request(self, step: Step) -> dict[str, Any]:
        """One action, in the shape that it has in a transaction."""
        request = {"TableName": self._name, **_condition(step.action.when)}
        if step.item is not None:
            return {"Put": {**request, "Item": _item(step.address, step.item)}}
        verb = "ConditionCheck" if isinstance(step.action, Check) else "Delete"
        return {verb: {**request, "Key": _key(step.address)}}


def _key(address: Address) -> dict[str, "AttributeValueTypeDef"]:
    return {"pk": {"S": address.pk}, "sk": {"S": address.sk}}


def _start_key(span: Span, after: str) -> dict[str, "AttributeValueTypeDef"]:
    """Where a page begins: the index's keys and, in a view, those of the item behind them."""
    pk, sk = span.pattern.key_names
    at = Address(span.pk, after)
    if span.pattern.of is None:
        return _key(at)
    item = pattern_of(span.pattern.of).address(span.fields(after))
    return {pk: {"S": at.pk}, sk: {"S": at.sk}, **_key(item)}


def _item(address: Address, item: Item) -> dict[str, "AttributeValueTypeDef"]:
    typed = _key(address)
    for view, place in item.views:
        pk, sk = view.key_names
        typed |= {pk: {"S": place.pk}, sk: {"S": place.sk}}
    return typed | {name: _typed(value) for name, value in item.attributes.items()}


def _typed(value: Value) -> "AttributeValueTypeDef":
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case Sequence():
            return {"L": [_typed(each) for each in value]}
        case Mapping():
            return {"M": {name: _typed(each) for name, each in value.items()}}


def _untyped(typed: Mapping[str, Any]) -> Any:
    ((kind, value),) = typed.items()
    match kind:
        case "N":
            return int(value)
        case "L":
            return [_untyped(each) for each in value]
        case "M":
            return {name: _untyped(each) for name, each in value.items()}
        case _:
            return value


def _record_of(record: type[R], known: Mapping[str, str], item: Mapping[str, Any]) -> R:
    return decode(record, known, item, _attributes)


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _untyped(typed) for name, typed in item.items()}


def _condition(condition: Condition | None) -> dict[str, Any]:
    match condition:
        case None:
            return {}
        case Absent():
            return {
                "ConditionExpression": "attribute_not_exists(#name)",
                "ExpressionAttributeNames": {"#name": "pk"},
            }
        case Present():
            return {
                "ConditionExpression": "attribute_exists(#name)",
                "ExpressionAttributeNames": {"#name": "pk"},
            }
        case RevisionIs(revision):
            return _equals("revision", revision)
        case AttributeIs(name, value):
            return _equals(name, value)


def _equals(name: str, value: str | int | bool) -> dict[str, Any]:
    return {
        "ConditionExpression": "#name = :value",
        "ExpressionAttributeNames": {"#name": name},
        "ExpressionAttributeValues": {":value": _typed(value)},
    }


def _reasons(response: Mapping[str, Any]) -> list[str]:
    """Why each action of a cancelled transaction failed, in their order."""
    return [reason.get("Code", "None") for reason in response.get("CancellationReasons", ())]


def _wait_s(attempt: int) -> float:
    """Exponential backoff with full jitter, in seconds; `attempt` counts from 0."""
    return random.uniform(0, min(_FIRST_WAIT_S * 2**attempt, _LONGEST_WAIT_S))  # noqa: S311


def _wait_for_conflict(
    response: tuple[object, Mapping[str, Any]] | None, attempts: int, **_: object
) -> float | None:
    """Tell the SDK, before it gives up on an answer, how long to wait and repeat the request.

    It knows nothing of conflicts between transactions, which pass by themselves.
    """
    if response is None or attempts >= _ATTEMPTS:
        return None
    parsed = response[1]
    passing = parsed.get("Error", {}).get("Code") == "TransactionConflictException"
    if passing or not _PASSING_REASONS.isdisjoint(_reasons(parsed)):
        return _wait_s(attempts)
    return None


@contextmanager
def _translated() -> Generator[None]:
    """DynamoDB's errors as the port's. One that is about the request itself stays what it is."""
    try:
        yield
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        reasons = _reasons(error.response)
        failed = tuple(
            position
            for position, reason in enumerate(reasons)
            if reason == "ConditionalCheckFailed"
        )
        if code == "ConditionalCheckFailedException":
            raise ConditionFailed((0,)) from error
        passing = not _PASSING_REASONS.isdisjoint(reasons)
        if passing or code in _UNAVAILABLE or status >= _SERVER_ERROR:
            raise TableUnavailable(f"DynamoDB did not take the request: {code}") from error
        if failed:
            raise ConditionFailed(failed) from error
        raise
    except (ConnectionError, HTTPClientError) as error:
        raise TableUnavailable(f"DynamoDB does not answer: {type(error).__name__}") from error
