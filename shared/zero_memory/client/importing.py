"""`zm import`: notes and exported memories, from files and folders."""

import argparse
import json
import os
import sys
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from zero_memory.client.arguments import path_of, print_json
from zero_memory.client.connection import Connection, find_connection
from zero_memory.client.failure import REFUSED, USAGE, Failure
from zero_memory.client.project import project_hint
from zero_memory.client.transfer import Invalid, Progress, call, store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MOST_ITEMS = 50
MOST_BYTES = 900_000
"""Of one call's texts as JSON; the service takes a body of 1 MiB."""

CALLS_AT_ONCE = max(4, os.cpu_count() or 1)
"""Each call embeds one text after the other; a service elsewhere has cores of its own."""

_ENDINGS = (".md", ".markdown", ".jsonl")
_IGNORE = ".zero-memory-ignore"


class Item:
    """One file of Markdown, or one line of JSON Lines, as the service takes it."""

    def __init__(self, path: str, text: str, form: str) -> None:
        self.path = path
        self.text = text
        self.form = form
        self.bytes = len(json.dumps(text, ensure_ascii=False).encode())
        self.call_bytes = self.bytes + len(path.encode()) + 64
        self.upload: str | None = None

    def as_json(self) -> "dict[str, str]":
        """The item as the call has it."""
        content = {"text": self.text} if self.upload is None else {"upload": self.upload}
        return {"path": self.path, "format": self.form, **content}


class Report:
    """What became of everything so far."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.refused: list[dict[str, str]] = []

    def count(self, status: str) -> None:
        """One more of this status."""
        self.counts[status] = self.counts.get(status, 0) + 1

    def add(self, item: Item, result: "Mapping[str, str]") -> bool:
        """What the service answered of an item; False when it put it off."""
        status = result["status"]
        if status == "deferred":
            return False
        if status == "refused":
            self.refuse(item.path, result["message"])
        else:
            self.count(status)
        return True

    def refuse(self, path: str, why: str) -> None:
        """One that was not imported."""
        self.count("refused")
        self.refused.append({"path": path, "message": why})


def main(arguments: "Sequence[str]") -> int:
    """Import everything there is; 1 when something was refused."""
    parser = argparse.ArgumentParser(
        prog="zm import",
        description="Import Markdown files (notes, or what zm export wrote) and JSON Lines. "
        "Importing again changes nothing; a changed file supersedes what came of it before.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a folder of them")
    parser.add_argument("--scope", help="everything goes there: a path, core, or personal")
    parser.add_argument(
        "--project", help="where notes go (default: the project of the working directory)"
    )
    parser.add_argument("--kind", help="what notes are, when they don't say (default: fact)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    chosen = parser.parse_args(arguments)
    connection = find_connection()
    where = {
        "scope": chosen.scope,
        "project_hint": chosen.project or (None if chosen.scope else project_hint()),
        "kind": chosen.kind,
    }
    report = Report()
    items = [item for path in chosen.paths for item in _items(path_of(path), report)]
    _import(connection, where, items, report)
    _tell(report, as_json=chosen.json)
    return REFUSED if report.refused else 0


def _tell(report: Report, *, as_json: bool) -> None:
    if as_json:
        told = {"counts": report.counts, "refused": report.refused}
        print_json(told)
        return
    for refused in report.refused:
        print(f"{refused['path']}: {refused['message']}", file=sys.stderr)
    counts = (f"{number:,} {status}" for status, number in sorted(report.counts.items()))
    print(", ".join(counts) or "Nothing to import.")


def _items(path: str, report: Report) -> "Iterator[Item]":
    if not os.path.exists(path):
        raise Failure(f"There is no {_shown(path)}.", exit_code=USAGE)
    for file in _files(path) if os.path.isdir(path) else [path]:
        try:
            name = os.fsencode(_name(file)).decode()
        except UnicodeDecodeError:
            report.refuse(_shown(file), "its name is not valid UTF-8")
            continue
        if os.path.exists(file) and not os.path.isfile(file):  # a pipe or a device has no end
            report.refuse(name, "not a file")
            continue
        try:
            with open(file, encoding="utf-8", newline="") as opened:
                text = opened.read()
        except UnicodeDecodeError:
            report.refuse(name, "not valid UTF-8")
            continue
        except OSError as error:
            report.refuse(name, error.strerror or "not readable")
            continue
        if not file.endswith(".jsonl"):
            yield Item(name, text, "markdown")
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield Item(f"{name}#{number}", line, "jsonl")


def _shown(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _files(folder: str) -> "Iterator[str]":
    """The files below a folder, in order; hidden and ignored folders are left out."""
    for below, folders, files in os.walk(folder):
        if _IGNORE in files:
            folders.clear()
            continue
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(files):
            if name.endswith(_ENDINGS) and not name.startswith("."):
                yield os.path.join(below, name)


def _name(file: str) -> str:
    """What the service knows a file by: its full path, without the name of a person's home."""
    path = os.path.abspath(file).replace(os.sep, "/")
    home = os.path.expanduser("~").replace(os.sep, "/").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _import(
    connection: Connection, where: "dict[str, Any]", items: list[Item], report: Report
) -> None:
    """Import everything, several calls at a time, so that every core of the service embeds.

    The first call goes alone, since it may make the project that all others then find.
    """
    progress = Progress("importing", len(items))
    left = deque(items)
    calls: set[Future[list[tuple[Item, dict[str, str]]]]] = set()
    done, at_once = 0, 1
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        while left or calls:
            progress.show(done)
            while left and len(calls) < at_once:
                calls.add(pool.submit(_send, connection, where, _batch(left)))
            answered, calls = wait(calls, return_when=FIRST_COMPLETED)
            at_once = CALLS_AT_ONCE
            for each in answered:
                results = each.result()
                put_off = [item for item, result in results if not report.add(item, result)]
                done += len(results) - len(put_off)
                left.extendleft(reversed(put_off))
    progress.end()


def _batch(left: "deque[Item]") -> list[Item]:
    """Take what the next call holds."""
    batch = [left.popleft()]
    size = batch[0].call_bytes
    while left and len(batch) < MOST_ITEMS and size + left[0].call_bytes <= MOST_BYTES:
        size += left[0].call_bytes
        batch.append(left.popleft())
    return batch


def _send(
    connection: Connection, where: "dict[str, Any]", batch: list[Item]
) -> "list[tuple[Item, dict[str, str]]]":
    """Import a batch; answers each item with what became of it."""
    for item in batch:
        if item.bytes > MOST_BYTES and item.upload is None:
            slot = call(connection, "import_memory", {"open_upload": True})["slot"]
            store(connection, slot["url"], item.text.encode())
            item.upload = slot["upload"]
    try:
        sent = [item.as_json() for item in batch]
        results = call(connection, "import_memory", {**where, "items": sent})["items"]
    except Invalid as invalid:
        if len(batch) == 1:
            return [(batch[0], {"status": "refused", "message": str(invalid)})]
        # One of them is what no call may hold; alone, it holds back none of the others.
        return [late for item in batch for late in _send(connection, where, [item])]
    return list(zip(batch, results, strict=True))
