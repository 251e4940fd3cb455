"""What the template's policies allow, and what a request to AWS asks for, in the same words.

A resource is named by its logical id in the template: `Table`, `Table/index/gsi1`, `Artifacts/key`,
`SearchStack/memories/_bulk`.
"""

import functools
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tests.aws.template import Template, package, read_template, translate


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


@dataclass(frozen=True)
class Role:
    """What a function may do: the rights of its own policies, and the names of AWS's policies."""

    rights: frozenset[Right]
    managed: frozenset[str]


@functools.cache
def _translated() -> Template:
    template = read_template()
    package(template, lambda path: f"s3://uploads/{path}")
    return translate(template, {})


def roles(*conditions: str) -> dict[str, Role]:
    """By function, the role that CloudFormation makes of the template's translation by SAM.

    `conditions` are those of the template that hold.
    """
    declared = _translated()["Resources"]
    return {
        Path(resource["Properties"]["Code"]["S3Key"]).name: _role(
            declared[resource["Properties"]["Role"]["Fn::GetAtt"][0]]["Properties"], conditions
        )
        for resource in declared.values()
        if resource["Type"] == "AWS::Lambda::Function"
    }


def kinds_of_resources() -> Counter[str]:
    """How many resources of each type the translation has."""
    return Counter(resource["Type"] for resource in _translated()["Resources"].values())


def _role(properties: Mapping[str, Any], conditions: Container[str]) -> Role:
    policies = (_chosen(policy, conditions) for policy in properties.get("Policies", ()))
    managed = (_listed(arn)[0] for arn in properties["ManagedPolicyArns"])
    return Role(
        frozenset(right for policy in policies if policy for right in _rights(policy)),
        frozenset(str(arn).rstrip("'}").rpartition("/")[2] for arn in managed),
    )


def _chosen(policy: Mapping[str, Any], conditions: Container[str]) -> Mapping[str, Any] | None:
    if "Fn::If" not in policy:
        return policy
    condition, there, otherwise = policy["Fn::If"]
    assert otherwise == {"Ref": "AWS::NoValue"}
    return there if condition in conditions else None


def _rights(policy: Mapping[str, Any]) -> Iterator[Right]:
    for statement in policy["PolicyDocument"]["Statement"]:
        assert statement["Effect"] == "Allow"
        assert statement.keys() <= {"Effect", "Action", "Resource", "Condition"}
        condition = statement.get("Condition", {"ForAllValues:StringLike": {}})
        (operator,) = condition
        assert operator == "ForAllValues:StringLike"
        assert condition[operator].keys() <= {"dynamodb:LeadingKeys"}
        partitions = tuple(condition[operator].get("dynamodb:LeadingKeys", ()))
        for action in _listed(statement["Action"]):
            for resource in _listed(statement["Resource"]):
                yield Right(action, _named(resource), partitions)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def _named(resource: Mapping[str, Any]) -> str:
    """`!GetAtt Table.Arn` and `!Sub "${Table.Arn}/index/*"` by the resource's name."""
    if "Fn::GetAtt" in resource:
        name, attribute = resource["Fn::GetAtt"]
        return f"{name}/stream/*" if attribute == "StreamArn" else name
    return re.sub(r"\$\{(\w+)(\.Outputs)?\.Arn\}", r"\1", resource["Fn::Sub"])


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


def _of_queue(operation: str, parameters: Mapping[str, Any]) -> list[Request]:
    return [Request({"SendMessageBatch": "sqs:SendMessage"}[operation], "IndexerParked")]


_NEEDS = {"dynamodb": _of_table, "s3": _of_artifacts, "sqs": _of_queue}


def domain_request(method: str, path: str) -> Request:
    """The right that a request to the domain needs."""
    return Request(f"es:ESHttp{method.title()}", f"SearchStack{path}")


def _in_transaction(item: Mapping[str, Any]) -> Request:
    ((verb, asked),) = item.items()
    key = (asked.get("Key") or asked["Item"])["pk"]["S"]
    return Request(f"dynamodb:{_IN_TRANSACTIONS[verb]}", "Table", (key,))
