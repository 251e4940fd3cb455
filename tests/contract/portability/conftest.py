"""People over both homes, who take memories out and in."""

from collections.abc import Callable

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives
from zero_memory.ports.table import Table


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def arrive(table: Table, clock: ManualClock) -> Callable[[], Someone]:
    """Makes further people."""
    return lambda: arrives(table, clock)


@pytest.fixture
def ada(arrive: Callable[[], Someone]) -> Someone:
    return arrive()


@pytest.fixture
def ben(arrive: Callable[[], Someone]) -> Someone:
    return arrive()
