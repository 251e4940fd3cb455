import time
from collections.abc import Generator

import pytest

from tests.clock import ManualClock
from tests.contract.isolation.edge import Edge, Person, arrives, edge
from tests.contract.oauth.issuer import Pool, running
from zero_memory.runtime.settings import Settings


@pytest.fixture
def pool() -> Generator[Pool]:
    with running(Pool()) as running_pool:
        yield running_pool


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(round(time.time() * 1_000))


@pytest.fixture
def at(pool: Pool, clock: ManualClock) -> Generator[Edge]:
    """A service whose people may sign in at the pool."""
    settings = Settings(
        log_level="CRITICAL",
        public_url="https://memory.example",
        oauth_issuer=pool.url,
        oauth_login_url=pool.url,
        oauth_redirect_uris=("https://agent.example/callback",),
    )
    with edge("sqlite, no index", clock, settings) as made:
        yield made


@pytest.fixture
def ada(at: Edge) -> Person:
    return arrives(at)
