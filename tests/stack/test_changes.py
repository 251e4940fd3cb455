"""The harness changes in what ships what its list says, and nothing else."""

import copy
import json

import pytest

from tests.aws.template import Template, package, read_template, translate
from tests.samples import REPOSITORY
from tests.stack.changes import AGAIN_S, PATIENCE_S, change, resources
from zero_memory.local.deployment import read_deployment

RELAY = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def shipped() -> Template:
    template = read_template()
    package(template, lambda path: f"s3://uploads/{path}")
    return translate(template, {"Search": "domain"})


@pytest.fixture(scope="module")
def deployed(shipped: Template) -> Template:
    template = copy.deepcopy(shipped)
    change(template, RELAY)
    return template


def kinds(template: Template, names: set[str]) -> set[str]:
    return {template["Resources"][name]["Type"] for name in names}


def test_resources_are_added_and_left_out_as_listed(shipped: Template, deployed: Template) -> None:
    before, after = shipped["Resources"], deployed["Resources"]
    differing = {name for name in before.keys() & after.keys() if before[name] != after[name]}

    assert kinds(shipped, before.keys() - after.keys()) == {"AWS::S3::BucketPolicy"}
    assert kinds(deployed, after.keys() - before.keys()) == {
        "AWS::ApiGatewayV2::Integration",
        "AWS::ApiGatewayV2::Route",
    }
    assert kinds(shipped, differing) == {
        "AWS::ApiGatewayV2::Api",
        "AWS::IAM::Role",
        "AWS::Lambda::EventSourceMapping",
        "AWS::Lambda::Function",
        "AWS::SQS::Queue",
    }
    assert {key: shipped[key] for key in shipped.keys() - {"Resources"}} == {
        key: deployed[key] for key in deployed.keys() - {"Resources"}
    }


def test_what_is_deployed_otherwise_differs_as_listed(
    shipped: Template, deployed: Template
) -> None:
    for name, was in resources(shipped, "AWS::Lambda::Function").items():
        now = deployed["Resources"][name]["Properties"]
        own = {"AWS_ENDPOINT_URL": RELAY, "AWS_SDK_UA_APP_ID": name}
        variables = {**was["Environment"]["Variables"], **own}
        assert now == {**was, "Timeout": PATIENCE_S, "Environment": {"Variables": variables}}
    for name, was in resources(shipped, "AWS::Lambda::EventSourceMapping").items():
        paused = {"Enabled": False} if "StreamArn" in str(was["EventSourceArn"]) else {}
        assert deployed["Resources"][name]["Properties"] == {**was, **paused}
    for name, was in resources(shipped, "AWS::SQS::Queue").items():
        hurried = {"VisibilityTimeout": AGAIN_S} if "VisibilityTimeout" in was else {}
        assert deployed["Resources"][name]["Properties"] == {**was, **hurried}


def test_no_role_gains_more_than_the_sending_of_several_messages(
    shipped: Template, deployed: Template
) -> None:
    one, several = '"sqs:SendMessage"', '["sqs:SendMessage", "sqs:SendMessageBatch"]'
    roles = resources(shipped, "AWS::IAM::Role")
    assert json.loads(json.dumps(roles).replace(one, several)) == resources(
        deployed, "AWS::IAM::Role"
    )


def test_the_routes_are_the_templates(deployed: Template) -> None:
    routes = resources(deployed, "AWS::ApiGatewayV2::Route").values()
    declared = {route.key for route in read_deployment(REPOSITORY).routes}
    assert {route["RouteKey"] for route in routes} == declared
