"""A service for the suites that talk to one."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.service import Service, running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("service") / "home"
    with running(home) as started:
        yield started
