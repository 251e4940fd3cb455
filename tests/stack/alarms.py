"""Alarms, as CloudWatch would judge them by what a stack logs and does.

The emulator judges alarms too, but looks at no dimension: there an alarm on another function's or
another queue's metric would be raised as well.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import Any

from tests.stack.stack import Stack

Alarm = Mapping[str, Any]
"""CloudFormation's properties and CloudWatch's DescribeAlarms name its parts alike."""

_STATISTICS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": gt,
    "GreaterThanOrEqualToThreshold": ge,
    "LessThanThreshold": lt,
    "LessThanOrEqualToThreshold": le,
}


@dataclass(frozen=True)
class Datum:
    """One value of a metric, which is a namespace, a name and all dimensions; `at` in seconds."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    value: float
    at: float


def raised(alarm: Alarm, data: Sequence[Datum], now: float) -> bool:
    """Whether an alarm is in state ALARM at a moment, by the metrics' values.

    Raises KeyError for a statistic, a comparison or a treatment of missing data that is unknown
    here.
    """
    missing = {"notBreaching": False, "breaching": True}[alarm["TreatMissingData"]]
    dimensions = {each["Name"]: each["Value"] for each in alarm.get("Dimensions", ())}
    watched = (alarm["Namespace"], alarm["MetricName"], dimensions)
    own = [each for each in data if (each.namespace, each.name, each.dimensions) == watched]
    compare, statistic = _COMPARISONS[alarm["ComparisonOperator"]], _STATISTICS[alarm["Statistic"]]
    period, periods = alarm["Period"], alarm["EvaluationPeriods"]

    def breaching(ends: float) -> bool:
        values = [each.value for each in own if ends - period < each.at <= ends]
        return compare(statistic(values), alarm["Threshold"]) if values else missing

    found = sum(breaching(now - number * period) for number in range(periods))
    return found >= alarm.get("DatapointsToAlarm", periods)


def embedded(line: str) -> Iterator[Datum]:
    """The values in a log's line, if it is of CloudWatch's embedded metric format."""
    if '"_aws"' not in line:
        return
    said = json.loads(line)
    at = said["_aws"]["Timestamp"] / 1_000
    for directive in said["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: said[name] for name in names}
            for metric in directive["Metrics"]:
                for value in said[metric["Name"]]:
                    yield Datum(directive["Namespace"], metric["Name"], dimensions, value, at)


class Watch:
    """A stack's alarms, by what happened since the watch began."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._since = time.time()

    def definition(self, alarm: str) -> Alarm:
        """An alarm as it is deployed, by its logical id."""
        (found,) = self._stack.emulator.client("cloudwatch").describe_alarms(
            AlarmNames=[self._stack.physical[alarm]]
        )["MetricAlarms"]
        return found

    def raised(self, alarm: str, data: Sequence[Datum]) -> bool:
        """Whether an alarm is raised now."""
        return raised(self.definition(alarm), data, time.time())

    def logged(self, function: str) -> list[Datum]:
        """What a function counted: the metrics in the log that the template gives it."""
        group = self._stack.physical[function.removesuffix("Function") + "Logs"]
        pages = self._stack.emulator.client("logs").get_paginator("filter_log_events")
        since = int(self._since * 1_000)
        return [
            datum
            for page in pages.paginate(logGroupName=group, startTime=since)
            for event in page["events"]
            for datum in embedded(event["message"])
        ]

    def errors(self, function: str) -> list[Datum]:
        """How often a function ended without an answer, as Lambda counts."""
        dimensions = {"FunctionName": self._stack.physical[function]}
        counted = self._stack.emulator.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Lambda",
            MetricName="Errors",
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
            StartTime=datetime.fromtimestamp(self._since, UTC),
            EndTime=datetime.now(UTC),
            Period=60,
            Statistics=["Sum"],
        )["Datapoints"]
        return [
            Datum("AWS/Lambda", "Errors", dimensions, each["Sum"], time.time()) for each in counted
        ]

    def depth(self, queue: str) -> list[Datum]:
        """How many messages of a queue nobody is looking at, as SQS counts."""
        url = self._stack.physical[queue]
        attributes = self._stack.emulator.client("sqs").get_queue_attributes(
            QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages", "QueueArn"]
        )["Attributes"]
        dimensions = {"QueueName": attributes["QueueArn"].rpartition(":")[2]}
        visible = float(attributes["ApproximateNumberOfMessages"])
        name = "ApproximateNumberOfMessagesVisible"
        return [Datum("AWS/SQS", name, dimensions, visible, time.time())]
