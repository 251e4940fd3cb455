"""What an import remembers of what it read, so that reading it again changes nothing."""

import json
from typing import Any, cast

from msgspec import Struct


class ImportedSection(Struct, frozen=True):
    """What an import made of one section of a file.

    `section` is a digest of the section's name, `sha256` that of its text. `made` says that the
    import wrote the memory, rather than finding one that says the same.
    """

    section: str
    sha256: str
    memory_id: str
    made: bool


class ImportEntry(Struct, frozen=True):
    """The ledger of what a person imported into a scope from one path.

    `sha256` is that of the whole file, empty while some of its sections are still to come.
    """

    person: str
    scope: str
    path: str
    sha256: str
    sections: tuple[ImportedSection, ...]


def import_path(source_json: str | None) -> str | None:
    """The path that an imported memory's source names, None for any other memory."""
    source: dict[str, Any] = json.loads(source_json) if source_json is not None else {}
    origin: Any = source.get("import")
    path = cast("dict[str, Any]", origin).get("path") if isinstance(origin, dict) else None
    return path if isinstance(path, str) and path else None
