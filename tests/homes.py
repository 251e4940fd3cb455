"""The two homes of the table, as tests open them."""

import functools
import itertools
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import yaml
from botocore.config import Config
from moto import mock_aws

from zero_memory.adapters.dynamodb import CONFIG, DynamoTable

TEMPLATE = Path(__file__).parents[1] / "template.yaml"

# Moto knows no endpoints that name an account.
_MOTO = Config(account_id_endpoint_mode="disabled", region_name="eu-central-1")
_CREATED = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
_numbers = itertools.count()


class _Loader(yaml.SafeLoader):
    """Reads a template's intrinsic functions as nothing: no test looks at one."""


def _nothing(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> None:
    return None


_Loader.add_multi_constructor("!", _nothing)  # pyright: ignore[reportUnknownMemberType]


@functools.cache
def declared_table() -> dict[str, Any]:
    """The table's properties, as the repository's template declares them."""
    template = yaml.load(TEMPLATE.read_text(), _Loader)  # noqa: S506 - derives from SafeLoader
    return template["Resources"]["Table"]["Properties"]


@functools.cache
def _session() -> Any:
    """Keeps the description of the service, which takes long to load."""
    return boto3.Session()


@contextmanager
def dynamodb() -> Generator[Any]:
    """A client of an empty DynamoDB in this process. For one thread: moto loses racing updates."""
    with mock_aws():
        yield _session().client("dynamodb", config=CONFIG.merge(_MOTO))


def dynamo_home(client: Any) -> DynamoTable:
    """A new table, made as the template declares it."""
    declared = declared_table()
    name = f"table-{next(_numbers)}"
    client.create_table(
        TableName=name,
        **{
            key: declared[key]
            for key in (
                "BillingMode",
                "AttributeDefinitions",
                "KeySchema",
                "GlobalSecondaryIndexes",
            )
        },
    )
    return DynamoTable(client, name)
