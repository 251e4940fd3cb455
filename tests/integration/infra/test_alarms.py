"""What an operator must know raises an alarm, and each alarm reaches the operator's topic."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.samples import REPOSITORY
from zero_memory.local.deployment import read_template

RESOURCES: dict[str, Any] = read_template(REPOSITORY)["Resources"]
SEARCH: dict[str, Any] = read_template(REPOSITORY, "infra/search.yaml")["Resources"]
ALARMS = {
    name: resource["Properties"]
    for name, resource in (*RESOURCES.items(), *SEARCH.items())
    if resource["Type"] == "AWS::CloudWatch::Alarm"
}
FUNCTIONS = sorted(
    name for name, resource in RESOURCES.items() if resource["Type"] == "AWS::Serverless::Function"
)
TOPIC = {"If": ["HasAlarmTopic", [{"Ref": "AlarmTopic"}], {"Ref": "AWS::NoValue"}]}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_fails_once_raises_an_alarm_that_names_it(function: str) -> None:
    folder = Path(RESOURCES[function]["Properties"]["CodeUri"]).name
    (alarm,) = (
        alarm
        for alarm in ALARMS.values()
        if alarm["MetricName"] == "Errors" and alarm["Dimensions"][0]["Value"] == {"Ref": function}
    )

    assert (alarm["Namespace"], alarm["Statistic"], alarm["Threshold"]) == ("AWS/Lambda", "Sum", 0)
    assert f" {folder} " in alarm["AlarmDescription"]


def test_what_goes_wrong_between_functions_raises_one_too() -> None:
    metrics = Counter(alarm["MetricName"] for alarm in ALARMS.values())
    del metrics["Errors"]

    assert metrics == {
        "5xx": 1,
        "Failures": 1,
        "Throttles": 1,
        "IteratorAge": 1,
        "ApproximateNumberOfMessagesVisible": 2,  # memories and batches, each given up on
        "ApproximateAgeOfOldestMessage": 1,
        "IndexDrift": 1,
        "ClusterStatus.red": 1,
        "FreeStorageSpace": 1,
        "ClusterIndexWritesBlocked": 1,
    }


@pytest.mark.parametrize("alarm", sorted(ALARMS))
def test_an_alarm_says_what_it_is_about_reaches_the_topic_and_is_quiet_without_data(
    alarm: str,
) -> None:
    properties = ALARMS[alarm]

    assert properties["AlarmActions"] == TOPIC
    assert properties["AlarmDescription"].endswith(".")
    assert properties["TreatMissingData"] == "notBreaching"


def test_the_topic_is_handed_to_the_nested_stack() -> None:
    handed = RESOURCES["SearchStack"]["Properties"]["Parameters"]["AlarmTopic"]

    assert handed == {"Ref": "AlarmTopic"}
