"""The emulator and the stacks in it, each made once."""

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.aws.emulator import require_emulator
from tests.e2e.made import made
from tests.opensearch.homes import warm_up
from tests.opensearch.node import require_node, running_node
from tests.samples import sample
from tests.stack.home import Home
from tests.stack.stack import Emulator, Stack, deployed, emulating
from zero_memory.adapters.opensearch_client import opensearch_client
from zero_memory.adapters.sqlite import SqliteTable


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Generator[Emulator]:
    require_emulator()
    with emulating(tmp_path_factory.mktemp("aws")) as running:
        yield running


@pytest.fixture(scope="session")
def stack_with_none(emulator: Emulator) -> Generator[Stack]:
    """The stack with search `none`."""
    with deployed(emulator, "none", {"Search": "none"}) as stack:
        yield stack


class Node:
    """An OpenSearch that can be stopped at once and started anew, elsewhere, with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()
        self.url = ""

    def start(self) -> None:
        """Come up, at another URL than before."""
        self.url = self._running.enter_context(running_node(self._folder))

    def stop(self) -> None:
        """Be killed."""
        self._running.close()


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Generator[Node]:
    require_node()
    node = Node(tmp_path_factory.mktemp("opensearch"))
    node.start()
    client = opensearch_client(node.url)
    warm_up(client)
    client.close()
    yield node
    node.stop()


@pytest.fixture(scope="session")
def stack_with_domain(emulator: Emulator, engine: Node) -> Generator[Stack]:
    """The stack with a search domain."""
    with deployed(emulator, "domain", {"Search": "domain"}, engine.url) as stack:
        # Until the first tick, an index is not known to hold all that the table does.
        stack.invoke("TickFunction", sample("schedule"))
        yield stack


@pytest.fixture(scope="session", params=["serve", "none", "domain"])
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Home]:
    """Each home: a machine, the stack that searches its table, and the stack with OpenSearch."""
    if request.param == "serve":
        folder = tmp_path_factory.mktemp("served") / "home"
        with made(folder) as service:
            table = SqliteTable(folder / "table.sqlite3")
            yield Home(service.ready["api_url"], "local", table)
            table.close()
        return
    stack: Stack = request.getfixturevalue(f"stack_with_{request.param}")
    yield Home(stack.api_url, request.param, stack.table)
