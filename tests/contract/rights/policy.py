"""What the template's policies allow, and what a request to AWS asks for, in the same words.

A resource is named by its logical id in the template: `Table`, `Table/index/gsi1`, `Artifacts/key`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.samples import REPOSITORY
from zero_memory.local.deployment import read_template

Resources = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One right that a call needs. `keys` are the partitions that it touches, of a table."""

    action: str
    resource: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Right:
    """One right that a statement gives; no `partitions`: all."""

    action: str
    resource: str
    partitions: tuple[str, ...] = ()

    def covers(self, request: Request) -> bool:
        return (
            request.action == self.action
            and fnmatchcase(request.resource, self.resource)
            and all(self._admits(key) for key in request.keys)
        )

    def _admits(self, key: str) -> bool:
        return not self.partitions or any(fnmatchcase(key, each) for each in self.partitions)


def rights(domain: bool = False) -> dict[str, tuple[Right, ...]]:
    """By function, what its policies give it, with a search domain or without."""
    return {
        Path(resource["Properties"]["CodeUri"]).name: tuple(_rights(resource, domain=domain))
        for resource in read_template(REPOSITORY)["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def _rights(function: Resources, *, domain: bool) -> Iterator[Right]:
    for policy in function["Properties"]["Policies"]:
        if "If" in policy:
            _, with_domain, without = policy["If"]
            chosen = with_domain if domain else without
        else:
            chosen = policy
        for statement in chosen.get("Statement", ()):
            condition = statement.get("Condition", {"ForAllValues:StringLike": {}})
            (operator,) = condition
            assert operator == "ForAllValues:StringLike"
            partitions = tuple(condition[operator].get("dynamodb:LeadingKeys", ()))
            for action in _listed(statement["Action"]):
                for resource in _listed(statement["Resource"]):
                    yield Right(action, _named(resource), partitions)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def _named(resource: Mapping[str, str]) -> str:
    """`!GetAtt Table.Arn` and `!Sub "${Table.Arn}/index/*"` by the resource's name."""
    if "GetAtt" in resource:
        return resource["GetAtt"].removesuffix(".Arn")
    return re.sub(r"\$\{(\w+)(\.Outputs)?\.Arn\}", r"\1", resource["Sub"])


_SINGLE = {"GetItem": "Key", "PutItem": "Item", "DeleteItem": "Key"}
_IN_TRANSACTIONS = {
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
_OF_OBJECTS = {"GetObject": "GetObject", "PutObject": "PutObject", "DeleteObject": "DeleteObject"}


def requests(service: str, operation: str, parameters: Mapping[str, Any]) -> list[Request]:
    """The rights that a call to AWS needs. Raises KeyError for a call that is unknown here."""
    return _NEEDS[service](operation, parameters)


def _of_table(operation: str, parameters: Mapping[str, Any]) -> list[Request]:
    match operation:
        case "TransactWriteItems":
            return [_in_transaction(each) for each in parameters["TransactItems"]]
        case "BatchGetItem":
            ((_, asked),) = parameters["RequestItems"].items()
            keys = tuple(key["pk"]["S"] for key in asked["Keys"])
        case "Query":
            keys = (parameters["ExpressionAttributeValues"][":pk"]["S"],)
        case _:
            keys = (parameters[_SINGLE[operation]]["pk"]["S"],)
    index = parameters.get("IndexName")
    resource = f"Table/index/{index}" if index else "Table"
    return [Request(f"dynamodb:{operation}", resource, keys)]


def _of_artifacts(operation: str, parameters: Mapping[str, Any]) -> list[Request]:
    match operation:
        case "ListObjectsV2":
            return [Request("s3:ListBucket", "Artifacts")]
        case "DeleteObjects":
            objects = [each["Key"] for each in parameters["Delete"]["Objects"]]
            return [Request("s3:DeleteObject", f"Artifacts/{each}") for each in objects]
        case _:
            return [Request(f"s3:{operation}", f"Artifacts/{parameters['Key']}")]


_NEEDS = {"dynamodb": _of_table, "s3": _of_artifacts}


def _in_transaction(item: Mapping[str, Any]) -> Request:
    ((verb, asked),) = item.items()
    key = (asked.get("Key") or asked["Item"])["pk"]["S"]
    return Request(f"dynamodb:{_IN_TRANSACTIONS[verb]}", "Table", (key,))
