"""The template that ships, deployed in the emulator, and what a test may do to it."""

import json
import os
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.session import get_session

from tests.aws.emulator import running_emulator
from tests.aws.template import (
    REGION,
    Template,
    package,
    read_template,
    translate,
)
from tests.relay import Relay, serving
from tests.samples import REPOSITORY
from tests.stack.changes import (
    change,
    link_layers,
    point_at_node,
    resources,
    zipped_folder,
)
from tests.stack.mapping import EventSourceMapping, delivering
from zero_memory.adapters.dynamodb import CONFIG, DynamoTable

DEPLOY_S = 60
_UPLOADS = "uploads"


class Emulator:
    """AWS in the emulator, with policies in force; `client` makes clients of an administrator.

    What functions run from lies in `folder`.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._session: Any = get_session()
        self._session.set_credentials("test", "test")
        self.client("s3").create_bucket(
            Bucket=_UPLOADS, CreateBucketConfiguration={"LocationConstraint": REGION}
        )

    def client(self, service: str, **options: Any) -> Any:
        return self._session.create_client(
            service, region_name=REGION, endpoint_url=self.url, **options
        )

    def upload(self, key: str, content: bytes) -> str:
        """Put a file where CloudFormation may fetch it; its URL."""
        self.client("s3").put_object(Bucket=_UPLOADS, Key=key, Body=content)
        return f"{self.url}/{_UPLOADS}/{key}"


@contextmanager
def emulating(folder: Path) -> Generator[Emulator]:
    """An emulator that enforces policies, and keeps what it unpacks in `folder`."""
    own = {"AUTH": "true", "MINISTACK_REGION": REGION, "TMPDIR": str(folder)}
    with running_emulator(folder, own) as url:
        yield Emulator(url, folder)


@dataclass(frozen=True)
class Stack:
    """A deployed stack; its functions reach AWS through `aws`, and OpenSearch through `node`."""

    emulator: Emulator
    outputs: Mapping[str, str]
    physical: Mapping[str, str]
    aws: Relay
    node: Relay | None
    stream: EventSourceMapping

    @property
    def api_url(self) -> str:
        """The base of the template's routes."""
        return f"{self.emulator.url}/_aws/execute-api/{self.physical['Api']}/$default"

    @property
    def table(self) -> DynamoTable:
        """The stack's table, past the relay."""
        return DynamoTable(
            self.emulator.client("dynamodb", config=CONFIG), self.outputs["TableName"]
        )

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """What a function, by its logical id, answers to an event."""
        answer = self.emulator.client("lambda").invoke(
            FunctionName=f"{self.physical[function]}:live", Payload=json.dumps(event)
        )
        said = json.load(answer["Payload"])
        assert "FunctionError" not in answer, said
        return said

    def kill(self, function: str) -> int:
        """End a function's processes at once, as a lost machine would; how many there were.

        Beside this emulator others may run, with functions of the same names.
        """
        killed = 0
        unpacked = self.emulator.folder / f"ministack-lambda-{self.physical[function]}-"
        of_function = os.fsencode(unpacked)
        for command in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # others come and go
                if of_function in command.read_bytes():
                    os.kill(int(command.parent.name), signal.SIGKILL)
                    killed += 1
        return killed


@contextmanager
def deployed(
    emulator: Emulator, name: str, parameters: Mapping[str, str], node: str | None = None
) -> Generator[Stack]:
    """Deploy the template under a name, with OpenSearch at `node`; its stream is delivered."""
    with ExitStack() as stack:
        aws = stack.enter_context(serving(Relay(emulator.url)))
        search = stack.enter_context(serving(Relay(node))) if node is not None else None
        template = read_template()
        package(template, _uploading(emulator, name, search))
        template = translate(template, parameters)
        change(template, aws.url)
        outputs, physical = _create(emulator, name, template, parameters)
        mappings = emulator.client("lambda").list_event_source_mappings(
            FunctionName=physical["IndexerFunction"]
        )["EventSourceMappings"]
        (mapping,) = (each for each in mappings if "/stream/" in each["EventSourceArn"])
        stream = stack.enter_context(delivering(emulator.client, mapping))
        yield Stack(emulator, outputs, physical, aws, search, stream)


def _uploading(emulator: Emulator, name: str, node: Relay | None) -> Callable[[str], str]:
    """Uploads what is at a path of the template's, and answers how CloudFormation names it."""

    def upload(path: str) -> str:
        key = f"{name}/{path}"
        if path.endswith(".yaml"):
            nested = read_template(path)
            if node is not None and resources(nested, "AWS::OpenSearchService::Domain"):
                point_at_node(nested, node.url)
            return emulator.upload(key, json.dumps(nested).encode())
        folder = REPOSITORY / path
        content = link_layers() if folder.parent.name == "layers" else zipped_folder(folder)
        emulator.upload(key, content)
        return f"s3://{_UPLOADS}/{key}"

    return upload


def _create(
    emulator: Emulator, name: str, template: Template, parameters: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The outputs of the stack and its resources' physical ids, when it stands."""
    formation = emulator.client("cloudformation")
    formation.create_stack(
        StackName=name,
        TemplateURL=emulator.upload(f"{name}/template.json", json.dumps(template).encode()),
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[
            {"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()
        ],
    )
    deadline = time.monotonic() + DEPLOY_S
    while True:
        (stack,) = formation.describe_stacks(StackName=name)["Stacks"]
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            break
        assert time.monotonic() < deadline, "the stack takes too long"
        time.sleep(0.1)
    assert stack["StackStatus"] == "CREATE_COMPLETE", _failures(formation, name)
    listed = formation.describe_stack_resources(StackName=name)["StackResources"]
    return (
        {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]},
        {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in listed},
    )


def _failures(formation: Any, name: str) -> list[str]:
    events = formation.describe_stack_events(StackName=name)["StackEvents"]
    return [
        f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}"
        for event in events
        if event["ResourceStatus"].endswith("FAILED")
    ]
