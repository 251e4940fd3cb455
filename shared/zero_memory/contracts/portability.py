"""Arguments and results of the tools that take memories in and out, and that end an account."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from zero_memory.contracts.kinds import Kind
from zero_memory.contracts.memory import (
    Cursor,
    ProjectHint,
    ScopeName,
    SessionState,
    TargetScope,
    ThreadToken,
)
from zero_memory.contracts.model import Arguments, NoNul, Result
from zero_memory.contracts.shapes import UPLOAD

MAX_IMPORTED = 50
MAX_EXPORTED = 500
MAX_PATH = 1_000

Format = Literal["markdown", "jsonl"]

ImportPath = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PATH), NoNul]
Upload = Annotated[str, StringConstraints(pattern=UPLOAD)]


class ImportItem(Arguments):
    """One file of Markdown, or one line of JSON Lines, as `text` or uploaded before."""

    path: Annotated[
        ImportPath,
        Field(description="The file's own name, the same at every import of it."),
    ]
    text: Annotated[str, NoNul] | None = None
    upload: Annotated[
        Upload | None,
        Field(description="The upload that holds the text, when it is too long for a call."),
    ] = None
    format: Annotated[Format | None, Field(description="Left out, the path's ending tells.")] = None


class ImportArguments(Arguments):
    """What `import_memory` takes."""

    items: Annotated[list[ImportItem], Field(min_length=1, max_length=MAX_IMPORTED)] | None = None
    scope: TargetScope | None = None
    project_hint: ProjectHint | None = None
    thread: ThreadToken | None = None
    kind: Kind = "fact"
    open_upload: Annotated[
        bool,
        Field(description="Answer a URL to PUT one long text to, in place of importing."),
    ] = False


class ImportedItem(Result):
    """What became of one item; `ids` are the memories that hold it now.

    `deferred`: not begun, or not done; import it again. `code` and `message` say why `refused`;
    a `message` without `code`, what of it was forgotten, or its frontmatter did not say.
    """

    path: str
    status: Literal["created", "superseded", "deduplicated", "unchanged", "refused", "deferred"]
    ids: list[str] = Field(default_factory=list)
    code: str | None = None
    message: str | None = None


class UploadSlot(Result):
    """Where to put one text: by PUT, or into the file when the URL is one of this machine."""

    upload: str
    url: str


class ImportResult(Result):
    """What `import_memory` answers, item by item, in their order."""

    items: list[ImportedItem] = Field(default_factory=list)
    slot: UploadSlot | None = None
    routing_reason: str | None = None
    session: SessionState


class ExportArguments(Arguments):
    """What `export_memories` takes."""

    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=50)] | None = None
    format: Format = "markdown"
    deliver: Annotated[
        Literal["inline", "file"],
        Field(description="inline: in the answer; file: larger pages, each behind a URL."),
    ] = "inline"
    limit: Annotated[int, Field(ge=1, le=MAX_EXPORTED)] = 100
    cursor: Cursor | None = None
    thread: ThreadToken | None = None


class ExportedFile(Result):
    """A file of an export: one memory, or the lines of several."""

    path: str
    text: str


class ExportedArchive(Result):
    """A page that is fetched rather than answered: a zip of files, or JSON Lines."""

    url: str
    bytes: int
    sha256: str


class ExportResult(Result):
    """What `export_memories` answers; `cursor` continues, None when this was the end.

    `unreadable` belong on this page but are damaged where they are stored, and left out.
    """

    format: Format
    memories: int
    unreadable: list[str] | None = None
    files: list[ExportedFile] = Field(default_factory=list)
    archive: ExportedArchive | None = None
    cursor: str | None = None


class DeleteAccountArguments(Arguments):
    """What `delete_account` takes."""

    confirm: Annotated[
        str,
        StringConstraints(min_length=1, max_length=100),
        NoNul,
        Field(description="The path of your personal root, as describe_scope shows it."),
    ]


class DeleteAccountResult(Result):
    """How far it is. While `done` is false, call again; `remaining` counts what is left."""

    done: bool
    erased: int
    remaining: str
