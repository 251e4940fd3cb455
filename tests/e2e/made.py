"""A service that `make serve` set up and started, as the README tells scripts to."""

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.samples import REPOSITORY
from tests.service import Service, started

README = REPOSITORY / "README.md"


def readme_line(start: str) -> str:
    """The one command in the README that starts so, with the lines that it goes on over."""
    found = re.findall(
        rf"^{re.escape(start)}(?:.*\\\n)*.*$", README.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(found) == 1, f"The README has {len(found)} commands that start: {start}"
    return found[0]


@contextmanager
def made(home: Path, environment: Mapping[str, str] | None = None) -> Generator[Service]:
    """Run the README's line for scripts, with another home; `environment` goes over one's own."""
    line, homes = re.subn(r"(?<=--home )\S+", str(home), readme_line('make serve ARGS="--home'))
    assert homes == 1
    with started(["sh", "-c", line], home, environment) as service:
        yield service
