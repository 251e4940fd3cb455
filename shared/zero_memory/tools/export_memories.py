"""The tool `export_memories`."""

import hashlib
import io
import zipfile
from collections.abc import Sequence

from ulid import ULID

from zero_memory.contracts.portability import (
    ExportArguments,
    ExportedArchive,
    ExportedFile,
    ExportResult,
)
from zero_memory.portability import jsonl, markdown
from zero_memory.portability.exporting import ExportLimits, export_page
from zero_memory.portability.model import Portable
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.cursors import seal, seal_key_of, unseal
from zero_memory.scopes.session import ALL_SCOPES
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool

LINES = "memories.jsonl"

# An answer carries its text twice for MCP's clients, and JSON lengthens it; so it stays below 1 MB.
INLINE = ExportLimits(memories=100, bytes=256 * 1024, milliseconds=8_000)
IN_A_FILE_BYTES = 16 * 1024 * 1024

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def run(services: Services, caller: Caller, arguments: ExportArguments) -> ExportResult:
    """One page of the caller's memories."""
    standing = stand(services, caller, thread=arguments.thread)
    as_markdown = arguments.format == "markdown"
    limits = ExportLimits(
        memories=arguments.limit,
        bytes=INLINE.bytes if arguments.deliver == "inline" else IN_A_FILE_BYTES,
        milliseconds=INLINE.milliseconds,
    )
    page = export_page(
        services.table,
        services.clock,
        standing.access,
        [standing.access.by_id[scope] for scope in _scopes(standing, arguments)],
        whole=not as_markdown,
        render=markdown.file_text if as_markdown else jsonl.line,
        behind=_behind(services, caller, arguments),
        limits=limits,
    )
    files = _files(page.memories, as_markdown=as_markdown)
    size = sum(len(file.text.encode()) for file in files)
    apart = arguments.deliver == "file" or size > INLINE.bytes
    return ExportResult(
        format=arguments.format,
        memories=len(page.memories),
        unreadable=list(page.unreadable) or None,
        files=[] if apart else files,
        archive=_archive(services, caller, files, as_markdown=as_markdown) if apart else None,
        cursor=_cursor(services, caller, arguments, page.behind),
    )


def _scopes(standing: Standing, arguments: ExportArguments) -> Sequence[str]:
    return list(standing.reads(arguments.scopes or [ALL_SCOPES]).paths)


def _files(memories: Sequence[tuple[Portable, str]], *, as_markdown: bool) -> list[ExportedFile]:
    if as_markdown:
        return [ExportedFile(path=markdown.file_name(one), text=text) for one, text in memories]
    lines = "".join(text for _, text in memories)
    return [ExportedFile(path=LINES, text=lines)] if lines else []


def _archive(
    services: Services, caller: Caller, files: Sequence[ExportedFile], *, as_markdown: bool
) -> ExportedArchive | None:
    if not files:
        return None
    content = _zipped(files) if as_markdown else files[0].text.encode()
    ending = "zip" if as_markdown else "jsonl"
    key = f"{caller.person}/{ULID.from_timestamp(services.clock.now())}.{ending}"
    services.artifacts.put(key, content)
    return ExportedArchive(
        url=services.artifacts.link(key),
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _zipped(files: Sequence[ExportedFile]) -> bytes:
    """The files in a zip, the same bytes for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.text.encode())
    return content.getvalue()


def _query(arguments: ExportArguments) -> dict[str, object]:
    """What a cursor is bound to: everything but where and how far one reads on."""
    return arguments.model_dump(mode="json", exclude={"cursor", "limit", "deliver", "thread"})


def _behind(services: Services, caller: Caller, arguments: ExportArguments) -> str | None:
    if arguments.cursor is None:
        return None
    key = seal_key_of(services.table, caller.person)
    return unseal(arguments.cursor, key=key, query=_query(arguments))


def _cursor(
    services: Services, caller: Caller, arguments: ExportArguments, behind: str | None
) -> str | None:
    if behind is None:
        return None
    key = seal_key_of(services.table, caller.person)
    return seal(behind, key=key, query=_query(arguments))


TOOL = Tool(
    name="export_memories",
    title="Export memories",
    description=(
        "Export every memory that you may read, forgotten and superseded ones too, as Markdown "
        "files with frontmatter, or as JSON Lines with vectors, links and history. Pages by "
        "cursor; deliver file gives a URL in place of the text. import_memory takes it back in, "
        "here or in another home. To read a few memories use recall or list_memories."
    ),
    input=ExportArguments,
    output=ExportResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table", "artifacts")),
    run=run,
)
