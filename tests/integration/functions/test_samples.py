"""Each function takes the sample of its source, as `sam local invoke` hands it over."""

import json
from collections.abc import Generator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.samples import REPOSITORY, sample
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.local.deployment import Route, read_deployment
from zero_memory.local.functions import invoker
from zero_memory.runtime import bootstrap
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import make_person, make_token
from zero_memory.scopes.model import GRANTS

DEPLOYMENT = read_deployment(REPOSITORY)
FUNCTIONS = {function.name: function for function in DEPLOYMENT.functions}


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Of a person in the home that the functions of this process work on."""
    folder = Path(tmp_path_factory.mktemp("home"))
    composed = Composition(Settings(data_dir=folder, allowed_hosts=()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "_composition", composed)
        person = make_person(composed.table, composed.clock)
        yield make_token(composed.table, composed.clock, person, label="tests", grants=GRANTS)
    for port in (composed.derived_index, composed.table):
        assert isinstance(port, (LocalIndex, SqliteTable))
        port.close()


def answered(function: str, event: dict[str, Any]) -> Any:
    return invoker((FUNCTIONS[function],))(FUNCTIONS[function], event)


def with_token(event: dict[str, Any], token: str) -> dict[str, Any]:
    """The token of a sample is nobody's."""
    return {**event, "headers": {**event["headers"], "authorization": f"Bearer {token}"}}


def test_recall_answers_the_sample_of_a_tools_call(token: str) -> None:
    refused = answered("recall", sample("http_tool"))
    answer = answered("recall", with_token(sample("http_tool"), token))

    assert refused["statusCode"] == HTTPStatus.UNAUTHORIZED
    assert answer["statusCode"] == HTTPStatus.OK
    assert json.loads(answer["body"])["hits"] == []


def test_the_protocol_answers_the_sample_of_an_mcp_call(token: str) -> None:
    answer = answered("mcp", with_token(sample("http_mcp"), token))

    assert answer["statusCode"] == HTTPStatus.OK
    assert not json.loads(answer["body"])["result"].get("isError")


@pytest.mark.parametrize("source", ["table_stream", "parked"])
def test_the_indexer_has_done_what_a_sample_asks_for(source: str, token: str) -> None:
    assert answered("indexer", sample(source)) == {"batchItemFailures": []}


def test_the_schedules_function_takes_its_sample(token: str) -> None:
    assert answered("tick", sample("schedule")) is None


@pytest.mark.parametrize(
    "route", [route for route in DEPLOYMENT.routes if "{" not in route.path], ids=lambda at: at.key
)
def test_every_route_takes_the_sample_for_its_path(route: Route, token: str) -> None:
    """Without arguments: a tool says which it lacks, and none fails on the event itself."""
    event = with_token(sample("http_tool"), token)
    method = "POST" if route.method == "ANY" else route.method
    event |= {"routeKey": route.key, "rawPath": route.path, "body": "{}"}
    event["requestContext"]["http"] |= {"method": method, "path": route.path}

    answer = answered(route.function.name, event)

    assert answer["statusCode"] < HTTPStatus.INTERNAL_SERVER_ERROR
    assert json.loads(answer["body"])
