import pytest

from tests.contract.mcp.fixtures import RESOURCES, TOOLS, Client
from zero_memory.runtime import bootstrap
from zero_memory.runtime.entry import mcp_handler
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.identity import make_person, make_token


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> bootstrap.Composition:
    """A process's composition over a home of its own."""
    return bootstrap.use(Settings(data_dir=tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def token(home: bootstrap.Composition) -> str:
    person = make_person(home.table, home.clock)
    grants = ("memory:read", "memory:write")
    return make_token(home.table, home.clock, person, label="tests", grants=grants)


@pytest.fixture
def client(token: str) -> Client:
    """A client of the whole protocol over the fixtures."""
    return Client(mcp_handler(TOOLS, RESOURCES), token)
