"""`zm import`: notes and exported memories, from files and folders."""

import argparse
import json
import os
import sys
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from zero_memory.client.arguments import parsed, path_of, print_json
from zero_memory.client.connection import Connection, find_connection
from zero_memory.client.failure import REFUSED, USAGE, Failure
from zero_memory.client.project import project_hint
from zero_memory.client.transfer import Invalid, Progress, call, store
from zero_memory.client.wording import at_a_terminal

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
_NAMES = {"markdown": "files", "jsonl": "lines"}
_IGNORE = ".zero-memory-ignore"


class Item:
    """One file of Markdown, or one line of JSON Lines, as the service takes it.

    `number` is its place among all that is imported, `size` how many bytes it has there.
    """

    def __init__(self, path: str, text: str, form: str, *, number: int, size: int) -> None:
        self.number = number
        self.size = size
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
        self.forms: set[str] = set()
        self.counts: dict[str, int] = {}
        self.memories: set[str] = set()
        self.refused: list[dict[str, str]] = []
        self.remarks: list[dict[str, str]] = []

    def count(self, status: str) -> None:
        """One more of this status."""
        self.counts[status] = self.counts.get(status, 0) + 1

    def add(self, item: Item, result: "Mapping[str, Any]") -> bool:
        """What the service answered of an item; False when it put it off."""
        status = result["status"]
        if status == "deferred":
            return False
        if status == "refused":
            self.refuse(item.path, at_a_terminal(result["message"]))
            return True
        memories = result.get("ids", ())
        self.memories.update(memories)
        self.count("empty" if status == "unchanged" and not memories else status)
        if result.get("message"):
            self.remarks.append({"path": item.path, "message": result["message"]})
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
    chosen = parsed(parser, arguments)
    connection = find_connection()
    where = {
        "scope": chosen.scope,
        "project_hint": chosen.project or (None if chosen.scope else project_hint()),
        "kind": chosen.kind,
    }
    report = Report()
    paths = [path_of(path) for path in chosen.paths]
    size = sum(_size(file) for path in paths for file in _files(path))
    _import(connection, where, _items(paths, report), size, report)
    _tell(report, as_json=chosen.json)
    return REFUSED if report.refused else 0


def _tell(report: Report, *, as_json: bool) -> None:
    if as_json:
        told = {
            "counts": report.counts,
            "memories": len(report.memories),
            "refused": report.refused,
            "remarks": report.remarks,
        }
        print_json(told)
        return
    for each in (*report.refused, *report.remarks):
        print(f"{each['path']}: {each['message']}", file=sys.stderr)
    if not report.counts:
        print("Nothing to import.")
        return
    counts = (f"{number:,} {status}" for status, number in sorted(report.counts.items()))
    what = " and ".join(name for form, name in _NAMES.items() if form in report.forms)
    print(f"{what.capitalize()}: {', '.join(counts)}. Memories: {len(report.memories):,}.")


def _items(paths: "Sequence[str]", report: Report) -> "Iterator[Item]":
    """Everything there is, in order, read as it is needed: a home may be larger than a memory."""
    number = 0
    for file in (file for path in paths for file in _files(path)):
        form = "jsonl" if file.endswith(".jsonl") else "markdown"
        report.forms.add(form)
        for path, content in _contents(file, report):
            try:
                text = content.decode()
            except UnicodeDecodeError:
                report.refuse(path, "not valid UTF-8")
                continue
            if text.strip() or form == "markdown":
                number += 1
                yield Item(path, text, form, number=number, size=len(content))


def _contents(file: str, report: Report) -> "Iterator[tuple[str, bytes]]":
    """A file under its name, or the lines of one of JSON Lines under theirs."""
    try:
        name = os.fsencode(_name(file)).decode()
    except UnicodeDecodeError:
        report.refuse(_shown(file), "its name is not valid UTF-8")
        return
    if os.path.exists(file) and not os.path.isfile(file):  # a pipe or a device has no end
        report.refuse(name, "not a file")
        return
    try:
        with open(file, "rb") as opened:
            if not file.endswith(".jsonl"):
                yield name, opened.read()
                return
            for number, line in enumerate(opened, start=1):
                yield f"{name}#{number}", line
    except OSError as error:
        report.refuse(name, error.strerror or "not readable")


def _shown(path: str) -> str:
    return os.fsencode(path).decode(errors="backslashreplace")


def _files(path: str) -> "Iterator[str]":
    """A file, or those below a folder, in order; hidden and ignored folders are left out."""
    if not os.path.exists(path):
        raise Failure(f"There is no {_shown(path)}.", exit_code=USAGE)
    if not os.path.isdir(path):
        yield path
        return
    for below, folders, files in os.walk(path):
        if _IGNORE in files:
            folders.clear()
            continue
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(files):
            if name.endswith(_ENDINGS) and not name.startswith("."):
                yield os.path.join(below, name)


def _size(file: str) -> int:
    """Its bytes; 0 where that can't be known, which is told when it is read."""
    try:
        return os.stat(file).st_size
    except OSError:
        return 0


def _name(file: str) -> str:
    """What the service knows a file by: its full path, without the name of a person's home."""
    path = os.path.abspath(file).replace(os.sep, "/")
    home = os.path.expanduser("~").replace(os.sep, "/").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _import(
    connection: Connection,
    where: "dict[str, Any]",
    items: "Iterator[Item]",
    size: int,
    report: Report,
) -> None:
    """Import everything, several calls at a time, so that every core of the service embeds.

    The first call goes alone, since it may make the project that all others then find. `size` is
    how many bytes there are.
    """
    progress = Progress("importing", size)
    left: deque[Item] = deque()
    calls: set[Future[list[tuple[Item, dict[str, Any]]]]] = set()
    done = read = 0
    at_once = 1
    pool = ThreadPoolExecutor(CALLS_AT_ONCE)
    try:
        while True:
            while len(calls) < at_once and (batch := _batch(left, items)):
                calls.add(pool.submit(_send, connection, where, batch))
            if not calls:
                break
            progress.show(done, read)
            answered, calls = wait(calls, return_when=FIRST_COMPLETED)
            at_once = CALLS_AT_ONCE
            for each in answered:
                put_off: list[Item] = []
                for item, result in each.result():
                    if report.add(item, result):
                        done += 1
                        read += item.size
                    else:
                        put_off.append(item)
                left.extendleft(reversed(put_off))
    finally:
        pool.shutdown(wait=False)  # whoever interrupts does not wait for the calls in hand
    progress.end()


def _batch(left: "deque[Item]", coming: "Iterator[Item]") -> list[Item]:
    """Take what the next call holds, none when there is nothing more.

    They stand next to each other where they come from: what a call brings belongs together.
    """
    batch: list[Item] = []
    size = 0
    while len(batch) < MOST_ITEMS:
        if not left:
            left.extend(islice(coming, 1))
        if not left or (batch and left[0].number != batch[-1].number + 1):
            break
        size += left[0].call_bytes
        if batch and size > MOST_BYTES:
            break
        batch.append(left.popleft())
    return batch


def _send(
    connection: Connection, where: "dict[str, Any]", batch: list[Item]
) -> "list[tuple[Item, dict[str, Any]]]":
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
