"""Exports and imports, as clients make them: page by page, and again what was put off."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.contract.memory.people import Someone
from zero_memory.contracts.portability import ImportedItem
from zero_memory.ports.table import Action, Put, Table
from zero_memory.tools import export_memories, import_memory

_AT_ONCE = 50
_LINES = re.compile(r"[^\n]*\n")


def exported(who: Someone, form: str, *, limit: int = 100, **arguments: Any) -> dict[str, str]:
    """A person's export as a tree: texts by their paths."""
    tree: dict[str, str] = {}
    cursor = None
    while True:
        page = who.calls(export_memories.TOOL, format=form, limit=limit, cursor=cursor, **arguments)
        for file in page.files:
            tree[file.path] = tree.get(file.path, "") + file.text
        cursor = page.cursor
        if cursor is None:
            return tree


def items_of(tree: Mapping[str, str]) -> list[dict[str, str]]:
    """What a client sends of a tree: whole files, and JSON Lines line by line."""
    items: list[dict[str, str]] = []
    for path, text in tree.items():
        if path.endswith(".jsonl"):
            lines = _LINES.findall(text)
            items += [
                {"path": f"{path}#{number}", "text": line} for number, line in enumerate(lines)
            ]
        else:
            items.append({"path": path, "text": text})
    return items


def imported(who: Someone, tree: Mapping[str, str], **arguments: Any) -> list[ImportedItem]:
    """What became of each item of a tree."""
    items = items_of(tree)
    results: list[ImportedItem] = []
    for start in range(0, len(items), _AT_ONCE):
        batch = items[start : start + _AT_ONCE]
        results += who.calls(import_memory.TOOL, items=batch, **arguments).items
    return results


def statuses(results: Sequence[ImportedItem]) -> list[str]:
    return [result.status for result in results]


class Watched:
    """A table that counts what is written."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.written = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def transact(self, actions: Sequence[Action]) -> None:
        self.written += sum(isinstance(action, Put) for action in actions)
        self._table.transact(actions)
