"""A service that is started as the README says."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.made import made
from tests.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    home: Path = tmp_path_factory.mktemp("e2e") / "home"
    with made(home) as started:
        yield started
