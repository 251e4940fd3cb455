"""What the harness changes in what ships, each change with its reason.

Nothing else differs from what `sam deploy` would hand to CloudFormation. What the emulator itself
does otherwise than AWS is in this folder's README.
"""

import io
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

from tests.aws.template import Template
from tests.samples import REPOSITORY

_LAYER_SITE = "python/lib/python3.13/site-packages/environment.pth"
PATIENCE_S = 120
AGAIN_S = 10
_METHODS = {"x-amazon-apigateway-any-method": "ANY"}


def change(template: Template, aws: str) -> None:
    """Make the changes in a translated template; its functions find AWS at `aws`."""
    spell_out_routes(template)
    pause_mappings(template)
    allow_plain_http(template)
    be_patient(template)
    hurry_queues(template)
    name_batches(template)
    point_at_relay(template, aws)


def link_layers() -> bytes:
    """Layers hold a link to this environment's packages and to this checkout.

    Their content is built for Lambda's processor and Python; the emulator runs functions on this
    machine's.
    """
    paths = [str(REPOSITORY / "shared"), sysconfig.get_path("purelib")]
    # Before the emulator's own packages, some of which have the same names.
    return zipped({_LAYER_SITE: f"import sys; sys.path[:0] = {paths}\n"})


def point_at_node(search: Template, node: str) -> None:
    """The search stack says that its domain is at `node`.

    The emulator makes a domain in name only; the node is a real OpenSearch.
    """
    search["Outputs"]["Endpoint"]["Value"] = node


def point_at_relay(template: Template, aws: str) -> None:
    """Functions ask AWS at `aws`, and say which function they are.

    AWS is the emulator. A relay stands before it, so that a test can fail a call.
    """
    for name, function in resources(template, "AWS::Lambda::Function").items():
        # Anew, since functions share what the template gives all of them.
        own = {"AWS_ENDPOINT_URL": aws, "AWS_SDK_UA_APP_ID": name}
        function["Environment"] = {"Variables": {**function["Environment"]["Variables"], **own}}


def spell_out_routes(template: Template) -> None:
    """An API's routes are resources of their own, with an integration each.

    SAM writes them as the API's OpenAPI document, which the emulator does not read.
    """
    for name, api in resources(template, "AWS::ApiGatewayV2::Api").items():
        document = api.pop("Body")
        api |= {"Name": name, "ProtocolType": "HTTP"}
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                key = f"{_METHODS.get(method, method.upper())} {path}"
                _add_route(template, name, key, operation["x-amazon-apigateway-integration"])


def _add_route(template: Template, api: str, key: str, integration: dict[str, Any]) -> None:
    number = len(resources(template, "AWS::ApiGatewayV2::Route"))
    called = f"{api}Integration{number}"
    template["Resources"] |= {
        called: {
            "Type": "AWS::ApiGatewayV2::Integration",
            "Properties": {
                "ApiId": {"Ref": api},
                "IntegrationType": integration["type"].upper(),
                "IntegrationUri": integration["uri"],
                "PayloadFormatVersion": integration["payloadFormatVersion"],
            },
        },
        f"{api}Route{number}": {
            "Type": "AWS::ApiGatewayV2::Route",
            "Properties": {
                "ApiId": {"Ref": api},
                "RouteKey": key,
                "Target": {"Fn::Sub": f"integrations/${{{called}}}"},
            },
        },
    }


def pause_mappings(template: Template) -> None:
    """Event source mappings of streams are made disabled; the harness delivers by what they say.

    The emulator's own take no notice of reported failures, of bisecting and of the number of
    attempts: it would lose what it should bring again. Its mappings of queues do.
    """
    for mapping in resources(template, "AWS::Lambda::EventSourceMapping").values():
        if "StartingPosition" in mapping:
            mapping["Enabled"] = False


def hurry_queues(template: Template) -> None:
    """What a function could not do with a message comes again after seconds, not after minutes."""
    for queue in resources(template, "AWS::SQS::Queue").values():
        if "VisibilityTimeout" in queue:
            queue["VisibilityTimeout"] = AGAIN_S


def name_batches(template: Template) -> None:
    """Who may send a message may send several.

    To AWS these are one right; the emulator asks for one that AWS does not have.
    """
    for role in resources(template, "AWS::IAM::Role").values():
        for policy in role.get("Policies", ()):
            for statement in policy.get("PolicyDocument", {}).get("Statement", ()):
                if statement["Action"] == "sqs:SendMessage":
                    statement["Action"] = ["sqs:SendMessage", "sqs:SendMessageBatch"]


def allow_plain_http(template: Template) -> None:
    """Buckets may be asked without TLS, which the emulator does not speak."""
    for name, policy in resources(template, "AWS::S3::BucketPolicy").items():
        document = policy["PolicyDocument"]
        document["Statement"] = [
            each
            for each in document["Statement"]
            if each.get("Condition") != {"Bool": {"aws:SecureTransport": "false"}}
        ]
        if not document["Statement"]:
            del template["Resources"][name]


def be_patient(template: Template) -> None:
    """Functions may take two minutes: they share this machine with each other and the tests."""
    for function in resources(template, "AWS::Lambda::Function").values():
        function["Timeout"] = PATIENCE_S


def resources(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """The properties of the resources of a type, by their logical ids."""
    return {
        name: resource["Properties"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == kind
    }


def zipped_folder(folder: Path) -> bytes:
    """A function's folder as its package."""
    return zipped({file.name: file.read_text(encoding="utf-8") for file in folder.glob("*.py")})


def zipped(files: dict[str, str]) -> bytes:
    """An archive of these files."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return archive.getvalue()
