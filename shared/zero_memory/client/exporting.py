"""`zm export`: every memory that one may read, into a folder."""

import argparse
import io
import os
import re
import zipfile
from contextlib import suppress

from zero_memory.client.arguments import parsed, path_of, print_json
from zero_memory.client.connection import Connection, find_connection
from zero_memory.client.failure import USAGE, Failure
from zero_memory.client.files import abandoned, replacing
from zero_memory.client.transfer import Progress, call, fetch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_LINES = "memories.jsonl"
_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_SAFE = re.compile(rf"{_PART}(?:/{_PART})*")
_OURS = re.compile(r"(?:.*-)?(mem_[0-9A-HJKMNP-TV-Z]{26})\.md")


def main(arguments: "Sequence[str]") -> int:
    """Write everything; files that are as they should be stay untouched."""
    parser = argparse.ArgumentParser(
        prog="zm export",
        description="Export every memory that you may read, forgotten ones too. "
        "zm import takes it back in, here or elsewhere.",
    )
    parser.add_argument("folder", metavar="DIR", help="made when it is not there")
    parser.add_argument(
        "--format",
        choices=("markdown", "jsonl"),
        default="markdown",
        help="a file a memory, or one file with vectors, links and history (%(default)s)",
    )
    parser.add_argument("--scope", action="append", help="only this scope (repeatable)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    chosen = parsed(parser, arguments)
    folder = path_of(chosen.folder)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise Failure(f"{chosen.folder} is no folder: name one, or a new one.", exit_code=USAGE)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    unreadable: list[str] = []
    files = _exported(chosen.format, chosen.scope, unreadable)
    if chosen.format == "jsonl":
        counts = _write_lines(os.path.join(folder, _LINES), files)
    else:
        counts = _write_tree(folder, files)
    _remove_drafts(folder)
    if chosen.json:
        print_json({**counts, "unreadable": unreadable} if unreadable else counts)
    else:
        told = (f"{number:,} {what}" for what, number in counts.items())
        print(f"{', '.join(told)} in {chosen.folder}")
    if unreadable:
        raise Failure(
            f"Left out, as it is damaged where it is stored: {', '.join(unreadable)}. "
            "Ask who runs the service to mend it."
        )
    return 0


def _exported(
    form: str, scopes: "list[str] | None", unreadable: "list[str]"
) -> "Iterator[tuple[str, bytes]]":
    """Paths and contents, page by page; the lines of one path come in their order.

    `unreadable` gets the ids of what is damaged where it is stored, and left out.
    """
    connection = find_connection()
    progress = Progress("exporting")
    cursor: str | None = None
    seen = 0
    while True:
        page = call(
            connection,
            "export_memories",
            {"format": form, "scopes": scopes, "cursor": cursor},
        )
        yield from _files_of(connection, page)
        unreadable += page.get("unreadable", ())
        seen += page["memories"]
        progress.show(seen)
        cursor = page.get("cursor")
        if cursor is None:
            progress.end()
            return


def _files_of(connection: Connection, page: "dict[str, Any]") -> "Iterator[tuple[str, bytes]]":
    for file in page["files"]:
        yield _safe(file["path"]), file["text"].encode()
    if "archive" not in page:
        return
    content = fetch(connection, page["archive"]["url"])
    if page["format"] == "jsonl":
        yield _LINES, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            yield _safe(name), archive.read(name)


def _safe(path: str) -> str:
    """A path that stays below the folder, on every system."""
    if _SAFE.fullmatch(path) is None:
        raise Failure("The service named a file that can't be written here.")
    return path


def _write_lines(path: str, files: "Iterator[tuple[str, bytes]]") -> dict[str, int]:
    lines = 0
    with replacing(path) as file:
        for _, content in files:
            file.write(content)
            lines += content.count(b"\n")
    return {"memories": lines}


def _write_tree(folder: str, files: "Iterator[tuple[str, bytes]]") -> dict[str, int]:
    counts = {"written": 0, "unchanged": 0}
    written: dict[str, str] = {}
    for name, content in files:
        path = os.path.join(folder, *name.split("/"))
        counts["unchanged" if _is(path, content) else "written"] += 1
        ours = _OURS.fullmatch(os.path.basename(name))
        if ours is not None:
            written[ours[1]] = path
    _remove_former(folder, written)
    return counts


def _is(path: str, content: bytes) -> bool:
    """Whether a file is there with this content; when it is not, it is afterwards."""
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return True
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
    return False


def _remove_former(folder: str, written: dict[str, str]) -> None:
    """Remove the file of a memory that is now written under another name, as after a move."""
    for below, _, names in os.walk(folder):
        for name in names:
            ours = _OURS.fullmatch(name)
            path = os.path.join(below, name)
            if ours is not None and written.get(ours[1], path) != path:
                os.remove(path)


def _remove_drafts(folder: str) -> None:
    """Remove what exports that were killed had begun to write."""
    for below, _, names in os.walk(folder):
        for name in names:
            meant = abandoned(name)
            if meant is not None and (meant == _LINES or _OURS.fullmatch(meant)):
                with suppress(FileNotFoundError, PermissionError):
                    os.remove(os.path.join(below, name))
