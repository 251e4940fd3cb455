"""The tool `import_memory`."""

import re
from collections.abc import Sequence
from functools import cache

from ulid import ULID

from zero_memory.contracts.errors import Refusal, not_found, validation_failed
from zero_memory.contracts.portability import (
    ImportArguments,
    ImportedItem,
    ImportItem,
    ImportResult,
    UploadSlot,
)
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.write import Destination
from zero_memory.portability.destinations import Destinations
from zero_memory.portability.importing import Format, Imported, Importer, Source
from zero_memory.portability.passages import carried_passage
from zero_memory.ports.artifacts import ArtifactTooLong
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.hints import strip_credentials
from zero_memory.scopes.session import WriteTarget, write_target
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool

BUDGET_MS = 10_000
"""After this long nothing further is begun: API Gateway waits 30 s, and one long memory takes
seconds to embed."""

_FORGOTTEN = "Forgotten since, and so left: {}. Restore what is to hold again."

_MEMORY_ID = re.compile(r"mem_[0-9A-HJKMNP-TV-Z]{26}")


def run(services: Services, caller: Caller, arguments: ImportArguments) -> ImportResult:
    """Import files and records, or open an upload for one."""
    if (arguments.items is None) != arguments.open_upload:
        raise validation_failed("Pass items, to import them, or open_upload alone.")
    started = services.clock.now()
    hint = arguments.project_hint and strip_credentials(arguments.project_hint)
    refuse_secrets(
        (name, text)
        for name, text in (
            ("scope", arguments.scope),
            ("project_hint", hint),
            ("thread", arguments.thread),
        )
        if text
    )
    standing = stand(
        services,
        caller,
        project_hint=arguments.project_hint,
        thread=arguments.thread,
        write=arguments.items is not None,
    )
    if arguments.open_upload:
        return ImportResult(slot=_slot(services, caller), session=standing.state())
    importer, target = _importer(services, caller, arguments, standing, started + BUDGET_MS)
    imported: list[Imported] = []
    # What stands next to each other in a call belongs together, and with no other call's.
    behind: list[str] = []
    for number, item in enumerate(arguments.items or (), 1):
        imported.append(_one(services, caller, importer, item, number=number, behind=behind))
        behind += imported[-1].ids
    return ImportResult(
        items=[_answer(each) for each in imported],
        routing_reason=target.reason if target else None,
        session=standing.state(),
    )


def _slot(services: Services, caller: Caller) -> UploadSlot:
    key = f"{caller.person}/{ULID.from_timestamp(services.clock.now())}"
    return UploadSlot(upload=key, url=services.artifacts.open_upload(key))


def _importer(
    services: Services,
    caller: Caller,
    arguments: ImportArguments,
    standing: Standing,
    until: int,
) -> tuple[Importer, WriteTarget | None]:
    """The importing call, and where everything of it goes when the call names a scope."""
    table, clock = services.table, services.clock
    destinations = Destinations(table, clock, standing.access)

    @cache
    def target() -> WriteTarget:
        found = write_target(
            table,
            clock,
            standing.access,
            standing.session,
            scope=arguments.scope,
            kind=arguments.kind,
        )
        destinations.admit(found.scope)
        return found

    def notes_to() -> Destination:
        return Destination(target().scope.scope, target().scope.owner)

    everything = None if arguments.scope is None else target()
    destinations.instead = everything and everything.scope
    importer = Importer(
        table=table,
        clock=clock,
        caller=caller,
        destinations=destinations,
        notes_to=notes_to,
        kind=arguments.kind,
        until=until,
        read_passage=lambda text: read_passage(services.embedder, text),
        carried=lambda memory, text: carried_passage(memory.vectors, text, services.home.embedder),
    )
    return importer, everything


def _one(
    services: Services,
    caller: Caller,
    importer: Importer,
    item: ImportItem,
    *,
    number: int,
    behind: Sequence[str],
) -> Imported:
    try:
        # An exported file ends with its memory's id, which would complete a title like `sk-…`.
        refuse_secrets([("path", _MEMORY_ID.sub("", item.path))])
    except Refusal as refusal:
        # The answer names the item by its place, since its path is what must not be repeated.
        return Imported(f"item {number}", "refused", refusal=refusal)
    try:
        text = _text(services, caller, item)
    except Refusal as refusal:
        return Imported(item.path, "refused", refusal=refusal)
    imported = importer.import_source(Source(item.path, text, _format(item)), behind)
    if item.upload is not None and imported.status != "deferred":
        services.artifacts.delete(item.upload)
    return imported


def _text(services: Services, caller: Caller, item: ImportItem) -> str:
    if (item.text is None) == (item.upload is None):
        raise validation_failed("An item has either text or upload.")
    if item.upload is None:
        return item.text or ""
    if item.upload.partition("/")[0] != caller.person:
        raise _no_upload()
    try:
        content = services.artifacts.get(item.upload)
        if content is None:
            raise _no_upload()
        text = content.decode()
    except ArtifactTooLong as error:
        raise validation_failed(f"The upload is too long: {error}; split it.") from None
    except UnicodeDecodeError:
        raise validation_failed(
            "The upload is not valid UTF-8; save the file so and upload it again."
        ) from None
    if "\x00" in text:
        raise validation_failed("The upload holds a NUL character: leave it out.")
    return text


def _no_upload() -> Refusal:
    return not_found("There is no such upload: it was imported, or a day has passed. Open another.")


def _format(item: ImportItem) -> Format:
    if item.format is not None:
        return item.format
    name = item.path.partition("#")[0]
    return "jsonl" if name.endswith(".jsonl") else "markdown"


def _answer(imported: Imported) -> ImportedItem:
    refusal = imported.refusal
    forgotten = _FORGOTTEN.format(imported.forgotten) if imported.forgotten else None
    remarks = " ".join(filter(None, (imported.remark, forgotten))) or None
    return ImportedItem(
        path=imported.path,
        status=imported.status,
        ids=list(imported.ids),
        code=refusal.code.value if refusal else None,
        message=refusal.message if refusal else remarks,
    )


TOOL = Tool(
    name="import_memory",
    title="Import memories",
    description=(
        "Import files of notes or exported memories, up to 50 in a call: Markdown, or lines of "
        "JSON Lines. Each stands alone: a file with a secret is refused and the others go on. "
        "Importing again changes nothing; a changed file supersedes what came of it before. "
        "For a single statement use remember."
    ),
    input=ImportArguments,
    output=ImportResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table", "embedder", "artifacts")),
    run=run,
)
