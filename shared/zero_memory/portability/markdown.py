"""A Markdown file a memory: what it says is the text, what it is stands in the frontmatter.

The text is the content to the byte. History and vectors are not in it; JSON Lines has them. A
source that nests deeper than frontmatter may is there as JSON text.
"""

import json
from typing import Any, cast

import msgspec

from zero_memory.contracts.errors import validation_failed
from zero_memory.portability.frontmatter import MAX_DEPTH, Fronted, with_frontmatter
from zero_memory.portability.model import Portable
from zero_memory.scopes.paths import slug_of

_LEFT_OUT = frozenset(("content", "past", "vectors"))
_TITLE = 60
_SOURCE_DEPTH = MAX_DEPTH - 1


def file_name(memory: Portable) -> str:
    """Where a memory's file is: `<scope>/<kind>/<first words>-<id>.md`.

    Every part is of characters that all file systems take, and ids tell names apart whatever the
    case.
    """
    title = slug_of(memory.content.lstrip().partition("\n")[0][: 2 * _TITLE])[:_TITLE].rstrip("-")
    return f"{memory.scope}/{memory.kind}/{title}{'-' if title else ''}{memory.id}.md"


def file_text(memory: Portable) -> str:
    """The file itself."""
    fields: dict[str, Any] = msgspec.to_builtins(memory)
    if memory.source is not None and not _is_flat(memory.source):
        fields["source"] = json.dumps(memory.source)
    shown = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    return with_frontmatter(shown, memory.content)


def is_exported(file: Fronted) -> bool:
    """Whether a file is a memory that was exported, rather than somebody's own notes."""
    return "zero_memory" in file.fields


def read_file(file: Fronted) -> Portable:
    """The memory of an exported file. Raises Refusal `validation_failed`."""
    if not _LEFT_OUT.isdisjoint(file.fields):
        raise _not_exported()
    fields = {**file.fields, "content": file.body}
    try:
        if isinstance(file.fields.get("source"), str):
            fields["source"] = json.loads(file.fields["source"])
        memory = msgspec.convert(fields, Portable)
        # YAML has keys and numbers that JSON does not.
        json.dumps(memory.source)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        raise _not_exported() from None
    return memory


def _is_flat(source: dict[str, Any]) -> bool:
    level: list[object] = [source]
    for _ in range(_SOURCE_DEPTH):
        level = [inner for each in level for inner in _inside(each)]
    return not level


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []


def _not_exported() -> Exception:
    return validation_failed(
        "The frontmatter is not what an export wrote: export the memory again, or take "
        "`zero_memory` and `id` out to import the text as new."
    )
