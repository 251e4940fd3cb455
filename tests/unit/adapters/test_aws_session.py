"""Clients of the quick session address and sign as those of an ordinary one do."""

from collections.abc import Callable
from typing import Any
from unittest import mock
from urllib.parse import parse_qs

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.session import get_session

from zero_memory.adapters import dynamodb, s3

REGIONS = ("eu-central-1", "us-east-1", "cn-north-1", "us-gov-west-1", "ap-southeast-7")


@pytest.fixture(params=REGIONS, autouse=True)
def region(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", request.param)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-nobody")


def test_a_table_is_asked_where_an_ordinary_session_asks() -> None:
    def ask(client: Any) -> None:
        client.describe_limits()

    assert sent(dynamodb.dynamodb_client(), ask) == sent(ordinary(dynamodb.dynamodb_client), ask)


def test_an_object_is_asked_for_where_an_ordinary_session_asks() -> None:
    def ask(client: Any) -> None:
        client.get_object(Bucket="a-bucket", Key="a key")

    assert sent(s3.s3_client(), ask) == sent(ordinary(s3.s3_client), ask)


def test_a_link_leads_where_an_ordinary_session_leads() -> None:
    def link(client: Any) -> tuple[str, str]:
        asked = {"Bucket": "a-bucket", "Key": "a key"}
        url: str = client.generate_presigned_url("get_object", Params=asked)
        where, _, signed = url.partition("?")
        return where, parse_qs(signed)["X-Amz-Credential"][0]

    assert link(s3.s3_client()) == link(ordinary(s3.s3_client))


def ordinary(make: Callable[[], Any]) -> Any:
    """The same client, of a session that knows everything."""

    with (
        mock.patch.object(dynamodb, "aws_session", get_session),
        mock.patch.object(s3, "aws_session", get_session),
    ):
        return make()


def sent(client: Any, ask: Callable[[Any], None]) -> tuple[str, str, str]:
    """Method, URL, and what the signature is for: key, day, region, service, and headers."""
    requests: list[AWSPreparedRequest] = []

    def keep(request: AWSPreparedRequest, **_: object) -> AWSResponse:
        requests.append(request)
        return AWSResponse(request.url, 400, HTTPHeaders(), _Empty())

    client.meta.events.register("before-send", keep)
    with pytest.raises(client.exceptions.ClientError):
        ask(client)
    (request,) = requests
    authorization = str(request.headers["Authorization"])
    return request.method, request.url, authorization.partition(" Signature=")[0]


class _Empty:
    """The raw body of an answer that has none."""

    def stream(self) -> list[bytes]:
        return []
