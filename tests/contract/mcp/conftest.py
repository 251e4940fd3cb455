from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_fixtures import RESOURCES, TOOLS, Client

from zero_memory.runtime import bootstrap
from zero_memory.runtime.entry import mcp_handler
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import make_person, make_token


@pytest.fixture
def home(tmp_path: Path) -> Iterator[bootstrap.Composition]:
    """A process's composition over an empty home."""
    yield bootstrap.use(Settings(data_dir=tmp_path))


@pytest.fixture
def token(home: bootstrap.Composition) -> str:
    person = make_person(home.table, home.clock)
    grants = ("memory:read", "memory:write")
    return make_token(home.table, home.clock, person, label="tests", grants=grants)


@pytest.fixture
def client(token: str) -> Client:
    """A client of the whole protocol over the fixtures."""
    return Client(mcp_handler(TOOLS, RESOURCES), token)
