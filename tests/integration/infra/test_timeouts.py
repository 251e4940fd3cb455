"""Timeouts fit into each other: a store that hangs is given up while there is time to say so."""

import fnmatch
from typing import Any

import pytest

from tests.contract.rights.policy import roles
from tests.samples import REPOSITORY
from zero_memory.adapters import cognito, dynamodb, opensearch_index, s3, sqs
from zero_memory.local.deployment import Function, Route, read_deployment, read_template

# pyright: reportPrivateUsage=false

DEPLOYMENT = read_deployment(REPOSITORY)
API_GATEWAY_S = 30


def patience_s(config: Any) -> float:
    """How long a client of botocore waits for a service that takes a request and never answers.

    Before the second attempt it pauses up to 1 s, before the third up to 2 s.
    """
    attempts: int = config.retries["total_max_attempts"]
    return attempts * config.read_timeout + 2 ** (attempts - 1) - 1


PATIENCE_S = {
    "cognito-idp:*": patience_s(cognito.CONFIG),
    "dynamodb:*": patience_s(dynamodb.CONFIG),
    "es:*/_bulk": opensearch_index._WRITE_S,
    "es:*/_msearch": opensearch_index._SEARCH_S,
    "s3:*": patience_s(s3.CONFIG),
    "sqs:SendMessage/*": patience_s(sqs.CONFIG),
}
"""By the rights that asking takes, with the last part of what they are for."""


@pytest.mark.parametrize("function", DEPLOYMENT.functions, ids=lambda function: function.name)
def test_a_function_outlasts_each_store_that_it_may_ask(function: Function) -> None:
    rights = roles("HasDomain", "HasIdentity")[function.name].rights
    asked = {f"{right.action}/{right.resource.rpartition('/')[2]}" for right in rights}

    assert [
        (store, seconds)
        for store, seconds in PATIENCE_S.items()
        if seconds >= function.timeout_s and fnmatch.filter(asked, store)
    ] == []


@pytest.mark.parametrize("route", DEPLOYMENT.routes, ids=lambda route: route.key)
def test_a_function_ends_while_api_gateway_waits(route: Route) -> None:
    assert route.function.timeout_s < API_GATEWAY_S


def test_the_edge_waits_longer_than_api_gateway() -> None:
    edge = read_template(REPOSITORY, "infra/edge.yaml")["Resources"]["Distribution"]
    (origin,) = edge["Properties"]["DistributionConfig"]["Origins"]

    assert origin["CustomOriginConfig"]["OriginReadTimeout"] > API_GATEWAY_S
