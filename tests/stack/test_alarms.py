"""An alarm is raised by its own metric alone, and each deployed one watches what is there."""

import time
from dataclasses import replace

import pytest

from tests.stack.alarms import Datum, Watch, embedded, raised
from tests.stack.stack import Stack

NOW = 1_800_000_000.0
ALARM = {
    "Namespace": "Ponds",
    "MetricName": "Level",
    "Dimensions": [{"Name": "Pond", "Value": "north"}],
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 2,
    "ComparisonOperator": "GreaterThanThreshold",
    "Threshold": 4,
    "TreatMissingData": "notBreaching",
}
DATUM = Datum("Ponds", "Level", {"Pond": "north"}, 3, NOW - 1)
LONG = [DATUM, DATUM, replace(DATUM, value=5, at=NOW - 61)]


def test_an_alarm_is_raised_by_its_statistic_over_each_of_its_periods() -> None:
    assert raised(ALARM, LONG, NOW)
    assert not raised(ALARM, LONG[1:], NOW)  # 3 in the last minute
    assert not raised(ALARM, LONG[:2], NOW)  # nothing in the minute before
    assert not raised(ALARM, LONG, NOW + 60)
    assert raised({**ALARM, "TreatMissingData": "breaching"}, LONG[:2], NOW)


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "Lakes"},
        {"name": "Depth"},
        {"dimensions": {"Pond": "south"}},
        {"dimensions": {}},
        {"dimensions": {"Pond": "north", "Bank": "left"}},
    ],
)
def test_another_metric_raises_no_alarm(other: dict[str, object]) -> None:
    assert not raised(ALARM, [replace(each, **other) for each in LONG], NOW)


def test_a_metric_is_read_from_the_line_that_logs_it() -> None:
    line = (
        '{"_aws": {"Timestamp": 1799999999000, "CloudWatchMetrics": [{"Namespace": "Ponds", '
        '"Dimensions": [["Pond"]], "Metrics": [{"Name": "Level", "Unit": "Count"}]}]}, '
        '"Pond": "north", "Level": [3.0]}'
    )
    assert list(embedded(line)) == [DATUM]
    assert list(embedded('{"level": "INFO", "message": "call"}')) == []


@pytest.mark.timeout(300)
def test_each_deployed_alarm_is_raised_by_what_aws_counts_of_the_deployed(
    stack_with_none: Stack,
) -> None:
    there, watch = stack_with_none.physical, Watch(stack_with_none)

    def counted(service: str, name: str, value: float, **of: str) -> Datum:
        return Datum(f"AWS/{service}", name, of, value, time.time())

    def queue(name: str) -> str:
        return there[name].rpartition("/")[2]

    waiting = "ApproximateNumberOfMessagesVisible"
    indexer = there["IndexerFunction"]
    breaches = {
        "ApiAlarm": counted("ApiGateway", "5xx", 6, ApiId=there["Api"]),
        "FailuresAlarm": Datum(
            "ZeroMemory", "Failures", {"service": "zero-memory"}, 6, time.time()
        ),
        "ThrottlesAlarm": counted("Lambda", "Throttles", 1),
        "IndexerLagAlarm": counted("Lambda", "IteratorAge", 900_001, FunctionName=indexer),
        "IndexerParkedAlarm": counted(
            "SQS", "ApproximateAgeOfOldestMessage", 1_801, QueueName=queue("IndexerParked")
        ),
        "IndexerFailuresAlarm": counted("SQS", waiting, 1, QueueName=queue("IndexerFailures")),
        "StreamFailuresAlarm": counted("SQS", waiting, 1, QueueName=queue("StreamFailures")),
    }
    for function in (name for name in there if name.endswith("Function")):
        breaches[f"{function.removesuffix('Function')}Alarm"] = counted(
            "Lambda", "Errors", 1, FunctionName=there[function]
        )

    assert [name for name, datum in breaches.items() if not watch.raised(name, [datum])] == []
    quiet = {name: replace(datum, value=0) for name, datum in breaches.items()}
    assert [name for name, datum in quiet.items() if watch.raised(name, [datum])] == []
    # This one is raised by what the schedule logs: see the faults.
    assert {name for name in there if name.endswith("Alarm")} == {*breaches, "IndexDriftAlarm"}
