"""What `template.yaml` deploys, as far as a machine can run it: routes, streams, schedules."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, Json
from pydantic.alias_generators import to_pascal

_PACKAGE = Path(__file__).resolve().parents[1]

DEPLOYMENT_FOLDERS = (
    _PACKAGE.parents[1],  # a checkout
    _PACKAGE / "deployment",  # an installed wheel
)


def deployment_folder() -> Path:
    """The folder that holds `template.yaml` and `functions/`.

    Raises FileNotFoundError when this installation came without them.
    """
    for folder in DEPLOYMENT_FOLDERS:
        if (folder / "template.yaml").is_file():
            return folder
    raise FileNotFoundError(
        "template.yaml is missing: install zero-memory from its wheel, or use a checkout."
    )


class Function(Struct, frozen=True):
    """A Lambda function: its folder's name, where its handler is, and its limits."""

    name: str
    file: Path
    attribute: str
    memory_mb: int
    timeout_s: int


class Route(Struct, frozen=True):
    """A route of the HTTP API. `method` may be `ANY`."""

    method: str
    path: str
    function: Function

    @property
    def key(self) -> str:
        """What API Gateway calls it: `POST /tools/recall`."""
        return f"{self.method} {self.path}"


class StreamSource(Struct, frozen=True):
    """A function that is called with the table's changes, and how.

    `patterns`: a record that matches one of these is delivered; without any, all are.
    """

    function: Function
    batch_size: int
    batching_window_s: int
    retries: int
    patterns: tuple[Mapping[str, Any], ...]


class Schedule(Struct, frozen=True):
    """A function that is called at a fixed rate."""

    name: str
    function: Function
    every_s: int


class Deployment(Struct, frozen=True):
    """Everything that a machine serves."""

    routes: tuple[Route, ...]
    streams: tuple[StreamSource, ...]
    schedules: tuple[Schedule, ...]

    @property
    def functions(self) -> tuple[Function, ...]:
        """Each function once, in the template's order."""
        sources = (*self.routes, *self.streams, *self.schedules)
        return tuple({source.function.name: source.function for source in sources}.values())


class _Declared(BaseModel):
    """A part of the template; what a machine has no use for is left out."""

    model_config = ConfigDict(alias_generator=to_pascal, extra="ignore")


class _Route(_Declared):
    method: str
    path: str


class _HttpEvent(_Declared):
    type: Literal["HttpApi"]
    properties: _Route


class _Pattern(_Declared):
    pattern: Json[dict[str, Any]]


class _Filters(_Declared):
    filters: list[_Pattern] = Field(default_factory=list[_Pattern])


class _Stream(_Declared):
    batch_size: int
    maximum_batching_window_in_seconds: int
    maximum_retry_attempts: int
    filter_criteria: _Filters = Field(default_factory=_Filters)


class _StreamEvent(_Declared):
    type: Literal["DynamoDB"]
    properties: _Stream


class _Rate(_Declared):
    schedule: str


class _ScheduleEvent(_Declared):
    type: Literal["Schedule"]
    properties: _Rate


class _QueueEvent(_Declared):
    """What comes back from a queue; here the stream sets aside and brings back by itself."""

    type: Literal["SQS"]


_Event = _HttpEvent | _StreamEvent | _ScheduleEvent | _QueueEvent


class _FunctionProperties(_Declared):
    code_uri: str
    handler: str
    memory_size: int
    timeout: int
    events: dict[str, _Event] = Field(default_factory=dict[str, _Event])


def read_template(folder: Path, name: str = "template.yaml") -> dict[str, Any]:
    """A template in `folder` as it is written; `!Ref x` reads as `{"Ref": "x"}`."""
    text = (folder / name).read_text(encoding="utf-8")
    return yaml.load(text, _Loader)  # noqa: S506 - derives from SafeLoader


def read_deployment(folder: Path) -> Deployment:
    """What the template in `folder` deploys; functions' folders are relative to it.

    Raises pydantic.ValidationError for an event source that a machine cannot run.
    """
    template = read_template(folder)
    defaults: dict[str, Any] = template["Globals"]["Function"]
    routes: list[Route] = []
    streams: list[StreamSource] = []
    schedules: list[Schedule] = []
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        declared = _FunctionProperties.model_validate(defaults | resource["Properties"])
        module, _, attribute = declared.handler.rpartition(".")
        code = folder / declared.code_uri
        function = Function(
            name=code.name,
            file=code / f"{module}.py",
            attribute=attribute,
            memory_mb=declared.memory_size,
            timeout_s=declared.timeout,
        )
        for name, event in declared.events.items():
            match event:
                case _HttpEvent(properties=route):
                    routes.append(Route(route.method, route.path, function))
                case _StreamEvent(properties=stream):
                    streams.append(_stream(function, stream))
                case _ScheduleEvent(properties=rate):
                    schedules.append(Schedule(name, function, _seconds(rate.schedule)))
                case _QueueEvent():
                    pass
    return Deployment(tuple(routes), tuple(streams), tuple(schedules))


_UNITS = {"minute": 60, "hour": 3_600, "day": 86_400}


def _seconds(rate: str) -> int:
    """The period of `rate(15 minutes)`. Raises ValueError for what is no rate."""
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", rate)
    if found is None:
        raise ValueError(f"a machine runs schedules of the form rate(15 minutes), not {rate}")
    return int(found[1]) * _UNITS[found[2]]


def _stream(function: Function, declared: _Stream) -> StreamSource:
    return StreamSource(
        function=function,
        batch_size=declared.batch_size,
        batching_window_s=declared.maximum_batching_window_in_seconds,
        retries=declared.maximum_retry_attempts,
        patterns=tuple(one.pattern for one in declared.filter_criteria.filters),
    )


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms (`!Ref`, `!Sub`) as mappings, unevaluated."""


def _intrinsic(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    if isinstance(node, yaml.MappingNode):
        return {name: loader.construct_mapping(node, deep=True)}
    raise TypeError(f"!{name} has a value of no known kind")


_Loader.add_multi_constructor("!", _intrinsic)  # pyright: ignore[reportUnknownMemberType]
