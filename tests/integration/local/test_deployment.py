"""The template and what is made of it: functions, routes, table."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.samples import REPOSITORY, sample
from zero_memory.adapters.schema import EXPIRY, PATTERNS
from zero_memory.local.deployment import deployment_folder, read_deployment, read_template
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

TEMPLATE = read_template(REPOSITORY)
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]
FUNCTIONS = {
    Path(resource["Properties"]["CodeUri"]).name: resource["Properties"]
    for resource in RESOURCES.values()
    if resource["Type"] == "AWS::Serverless::Function"
}
TABLE: dict[str, Any] = RESOURCES["Table"]["Properties"]

PREFIXES = ("/tools", "/mcp/tools")


def test_the_checkout_is_what_is_served() -> None:
    assert deployment_folder() == REPOSITORY


def test_every_tool_has_its_routes_those_for_people_plain_http_alone_and_the_protocol_one() -> None:
    routes = {route.key: route.function.name for route in read_deployment(REPOSITORY).routes}

    tools = {f"POST {prefix}/{tool.name}": tool.name for tool in TOOLS for prefix in PREFIXES}
    peoples = {f"POST /tools/{tool.name}": tool.name for tool in PEOPLES_TOOLS}
    protocol = {"ANY /mcp": "mcp", "POST /tools/{tool}": "mcp"}
    asked = {
        "GET /.well-known/oauth-protected-resource": "oauth",
        "GET /.well-known/oauth-protected-resource/mcp": "oauth",
        "GET /.well-known/oauth-authorization-server": "oauth",
        "POST /oauth/register": "oauth",
    }
    assert routes == tools | peoples | protocol | asked


def test_every_folder_of_a_function_is_deployed_and_has_its_handler() -> None:
    functions = read_deployment(REPOSITORY).functions

    assert {one.name for one in functions} == {
        folder.name for folder in (REPOSITORY / "functions").iterdir() if folder.is_dir()
    }
    assert [one.file for one in functions if not one.file.is_file()] == []


SAMPLES = {
    "HttpApi": {"http_tool", "http_mcp"},
    "DynamoDB": {"table_stream"},
    "Schedule": {"schedule"},
    "SQS": {"parked"},
}


def test_every_kind_of_source_has_its_samples() -> None:
    kinds = {
        event["Type"] for one in FUNCTIONS.values() for event in one.get("Events", {}).values()
    }

    assert kinds == SAMPLES.keys()
    assert all(sample(name) for names in SAMPLES.values() for name in names)


def test_the_indexer_is_called_for_the_authoritative_record_of_memories_alone() -> None:
    (stream,) = read_deployment(REPOSITORY).streams

    assert stream.function.name == "indexer"
    assert stream.patterns == ({"dynamodb": {"Keys": {"sk": {"S": ["META"]}}}},)


def test_the_schedule_ticks_every_quarter_of_an_hour() -> None:
    (schedule,) = read_deployment(REPOSITORY).schedules

    assert (schedule.function.name, schedule.every_s) == ("tick", 900)


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_a_function_keeps_its_logs_for_the_stated_time(function: str) -> None:
    group = FUNCTIONS[function]["LoggingConfig"]["LogGroup"]["Ref"]

    assert RESOURCES[group]["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}


def test_no_environment_variable_holds_a_secret() -> None:
    """None is named for one, and none takes its value from where secrets are kept."""
    every = {name: one.get("Environment", {}) for name, one in FUNCTIONS.items()}
    every["all"] = TEMPLATE["Globals"]["Function"]["Environment"]
    variables = [each for one in every.values() for each in one.get("Variables", {}).items()]
    kept_secret = [name for name, one in TEMPLATE["Parameters"].items() if one.get("NoEcho")]
    hidden = "|".join(["resolve:", *kept_secret])

    assert not [name for name, _ in variables if re.search("TOKEN|SECRET|PASSWORD|KEY", name)]
    assert not [name for name, value in variables if re.search(hidden, str(value))]


NESTED = {
    name: resource["Properties"]
    for name, resource in RESOURCES.items()
    if resource["Type"] == "AWS::CloudFormation::Stack"
}


@pytest.mark.parametrize("stack", sorted(NESTED))
def test_a_nested_stack_is_given_each_of_its_parameters(stack: str) -> None:
    declared = read_template(REPOSITORY, NESTED[stack]["TemplateURL"])["Parameters"]

    assert NESTED[stack]["Parameters"].keys() == declared.keys()


def test_the_table_is_safe_by_default() -> None:
    assert TABLE["BillingMode"] == "PAY_PER_REQUEST"
    assert TABLE["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert TABLE["SSESpecification"]["SSEEnabled"] is True
    assert TABLE["StreamSpecification"]["StreamViewType"] == "KEYS_ONLY"
    assert TABLE["TimeToLiveSpecification"] == {"AttributeName": EXPIRY, "Enabled": True}
    assert TEMPLATE["Parameters"]["DeletionProtection"]["Default"] == "true"
    assert RESOURCES["Table"]["DeletionPolicy"] == "Retain"


def test_the_table_has_the_secondary_indexes_that_the_schema_reads() -> None:
    declared = {
        index["IndexName"]: (
            tuple(key["AttributeName"] for key in index["KeySchema"]),
            frozenset(index["Projection"]["NonKeyAttributes"]),
        )
        for index in TABLE["GlobalSecondaryIndexes"]
    }

    assert declared == {
        view.index: (view.key_names, view.attributes) for view in PATTERNS if view.index
    }


def pinned(name: str) -> dict[str, str]:
    """A lock's versions by the distribution's name."""
    text = (REPOSITORY / "requirements" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def test_a_function_runs_the_versions_that_were_tested() -> None:
    assert pinned("lambda.txt").items() <= pinned("run.txt").items()


def test_artifacts_are_private_encrypted_and_gone_after_a_day() -> None:
    bucket = RESOURCES["Artifacts"]["Properties"]
    (policy,) = RESOURCES["ArtifactsPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in bucket
    assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 1)
    assert (policy["Effect"], policy["Condition"]) == (
        "Deny",
        {"Bool": {"aws:SecureTransport": "false"}},
    )
