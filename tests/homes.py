"""The two homes of the table, as tests open them."""

import functools
import itertools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from moto import mock_aws

from tests.samples import REPOSITORY
from zero_memory.adapters.dynamodb import CONFIG, DynamoTable
from zero_memory.local.deployment import read_template

# Moto knows no endpoints that name an account.
_MOTO = Config(account_id_endpoint_mode="disabled", region_name="eu-central-1")
_CREATED = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
_numbers = itertools.count()


@functools.cache
def declared_table() -> dict[str, Any]:
    """The table's properties, as the repository's template declares them."""
    return read_template(REPOSITORY)["Resources"]["Table"]["Properties"]


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
        **{key: declared[key] for key in _CREATED},
    )
    return DynamoTable(client, name)
