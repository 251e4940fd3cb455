"""The sample events of `events/`."""

import json
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]


def sample(name: str) -> dict[str, Any]:
    """A sample event by its file's name, without the ending."""
    return json.loads((REPOSITORY / "events" / f"{name}.json").read_text(encoding="utf-8"))
