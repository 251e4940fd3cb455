"""Importing files and records, each on its own, each once.

A file of somebody's own notes goes the ordinary way of a write, section by section, and a ledger
remembers what was made of it: unchanged, it is passed over; changed, its new text supersedes the
old; erased, it comes anew. A memory that was exported comes back as it was (`restoring`); an
exported file whose text was edited since supersedes the memory that it came from.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import Refusal, conflict, forbidden, validation_failed
from zero_memory.contracts.kinds import Kind
from zero_memory.contracts.model import MAX_ENTITIES, MAX_SUPERSEDES
from zero_memory.memory.canonical import digest
from zero_memory.memory.changing import must_write
from zero_memory.memory.guard import refuse_secrets, text_leaves
from zero_memory.memory.ledger import ImportedSection, ImportEntry, import_path
from zero_memory.memory.model import FOLLOWED, KINDS, Meta, Passage
from zero_memory.memory.reading import load_visible, with_bodies
from zero_memory.memory.rights import Actor
from zero_memory.memory.write import Destination, Draft, Submission, must_fit, remember
from zero_memory.portability.destinations import Destinations
from zero_memory.portability.frontmatter import Fronted, is_fenced, read_frontmatter
from zero_memory.portability.jsonl import read_line
from zero_memory.portability.markdown import is_exported, read_file
from zero_memory.portability.model import Portable
from zero_memory.portability.restoring import restore
from zero_memory.portability.sections import Section, sections
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import DamagedRecord, LimitExceeded, Put, Table
from zero_memory.scopes.caller import Caller

Format = Literal["markdown", "jsonl"]
Status = Literal["created", "superseded", "deduplicated", "unchanged", "refused", "deferred"]

# A file has the first of these that one of its sections has.
_BY_WEIGHT: tuple[Status, ...] = ("superseded", "created", "deduplicated")
_NAME_LENGTH = 200
_KEY_LENGTH = 16
_SECTIONS = 1_000
_LANGUAGE_LENGTH = 35
_UNREADABLE = (
    "What stands between the lines of --- at its top is no list of names and values, and was kept "
    "as text."
)
_NO_KIND = (
    f"Its frontmatter names no kind that there is: {{}} was taken. Kinds: {', '.join(KINDS)}."
)
_DAMAGED = (
    "What this was imported as before is damaged where it is stored; ask who runs the service to "
    "mend it."
)
_TOO_MUCH = (
    "This is more than can be stored at once, its history and disputes included: leave some out, "
    "or import the text as a new memory."
)


class Source(Struct, frozen=True):
    """A file, or a line of JSON Lines. `path`, what the ledger knows it by, holds no secret."""

    path: str
    text: str
    format: Format


class Imported(Struct, frozen=True):
    """What became of one source; `ids` are the memories that hold it now.

    `forgotten` counts those of an unchanged source that were forgotten, and stay so. `remark` is
    what its writer may not have meant.
    """

    path: str
    status: Status
    ids: tuple[str, ...] = ()
    refusal: Refusal | None = None
    forgotten: int = 0
    remark: str | None = None


class Importer(Struct, frozen=True):
    """One importing call: who imports, to where, and until when.

    `notes_to` is where notes go, asked for when there are some; exported memories go where
    `destinations` say. `kind` is that of notes which name none. Nothing further is begun once the
    clock reaches `until` (milliseconds). `carried` is the passage of the vectors that a record
    brings, None when they are of no use here.
    """

    table: Table
    clock: Clock
    caller: Caller
    destinations: Destinations
    notes_to: Callable[[], Destination]
    kind: Kind
    until: int
    read_passage: Callable[[str], Passage]
    carried: Callable[[Portable, str], Passage | None]

    def import_source(self, source: Source, behind: Sequence[str] = ()) -> Imported:
        """Import one source, or say why not. Other sources never suffer from it.

        `behind` are the memories of what comes before it, the last one last.
        """
        try:
            if self._is_late():
                return Imported(source.path, "deferred")
            if source.format == "jsonl":
                memory = read_line(source.text)
                _refuse_texts(memory)
                return self._record(source, memory)
            file = read_frontmatter(source.text)
            if file is not None and is_exported(file):
                return self._exported(source, read_file(file))
            # The whole file, before anything of it reaches a model, the index or the table.
            refuse_secrets([("text", source.text)])
            imported = self._notes(source, file, behind)
            return replace(imported, remark=self._remark(source, file))
        except Refusal as refusal:
            why = refusal
        except DamagedRecord:
            why = conflict(_DAMAGED)
        except (LimitExceeded, RecursionError):
            why = validation_failed(_TOO_MUCH)
        return Imported(source.path, "refused", refusal=why)

    def _is_late(self) -> bool:
        return self.clock.now() >= self.until

    def _record(self, source: Source, memory: Portable) -> Imported:
        if "admin" not in self.caller.grants:
            raise forbidden(
                "Memories with their past are restored with a token that holds admin. With this "
                "one, import the text without its frontmatter."
            )
        restored = restore(
            self.table,
            self.clock,
            caller=self.caller,
            to=self.destinations,
            memory=memory,
            read_passage=lambda record, text: self.carried(record, text) or self.read_passage(text),
        )
        return Imported(source.path, restored.status, (restored.memory_id,))

    def _exported(self, source: Source, memory: Portable) -> Imported:
        _refuse_texts(memory)
        rights = self.destinations.rights()
        here = load_visible(self.table, [memory.id], rights.read_set).get(memory.id)
        if here is None or here.digest == digest(memory.kind, memory.content):
            return self._record(source, memory)
        if here.scope not in rights.writable and "memory:read" not in self.caller.grants:
            # That it is there is more than this token may know.
            return self._record(source, memory)
        must_write(rights, here)
        # The ledger knows it by its id, wherever the file was put.
        edited = replace(source, path=f"zm://memory/{memory.id}")
        imported = self._write(
            edited,
            to=Destination(here.scope, here.owner),
            draft=Draft(
                memory.content,
                kind=memory.kind,
                entities=memory.entities,
                language=memory.language,
                original=memory.original,
            ),
            parts=[Section("", memory.content)],
            replaces=(here.memory_id,),
            behind=here.follows[::-1],
        )
        return replace(imported, path=source.path)

    def _notes(self, source: Source, file: Fronted | None, behind: Sequence[str]) -> Imported:
        fields = file.fields if file is not None else {}
        kind = fields.get("kind")
        draft = Draft(
            "",
            kind=kind if kind in KINDS else self.kind,
            entities=_names(fields.get("entities")),
            language=_language(fields.get("language")),
        )
        parts = sections(source.text if file is None else file.body)
        return self._write(source, to=self.notes_to(), draft=draft, parts=parts, behind=behind)

    def _remark(self, source: Source, file: Fronted | None) -> str | None:
        """What is to be said of a note's frontmatter, which is taken as far as it can be read."""
        if file is None:
            return _UNREADABLE if is_fenced(source.text) else None
        named = file.fields.get("kind")
        return None if named is None or named in KINDS else _NO_KIND.format(self.kind)

    def _write(
        self,
        source: Source,
        *,
        to: Destination,
        draft: Draft,
        parts: Sequence[Section],
        replaces: Sequence[str] = (),
        behind: Sequence[str] = (),
    ) -> Imported:
        """Write the sections of a file that the ledger does not know as they are."""
        if len(parts) > _SECTIONS:
            raise validation_failed(
                f"The file has more than {_SECTIONS:,} sections: import it in several files."
            )
        for part in parts:
            must_fit(draft.kind, part.text)
        whole = _sha256(source.text)
        entry = self.table.get(ImportEntry, self.caller.person, to.scope, source.path)
        listed = () if entry is None else entry.sections
        # What came out of the importer's sight since is as if it were erased.
        read_set = self.destinations.rights().read_set
        there = load_visible(self.table, [each.memory_id for each in listed], read_set)
        known = [each for each in listed if each.memory_id in there]
        if entry is not None and entry.sha256 == whole and len(known) == len(listed):
            return Imported(
                source.path,
                "unchanged",
                tuple(each.memory_id for each in known),
                forgotten=sum(_is_forgotten(meta) for meta in there.values()),
            )
        earlier = _predecessors(parts, known)
        results: list[tuple[ImportedSection, Status]] = []
        try:
            for part, before in zip(parts, earlier, strict=True):
                same = _unchanged(part, before)
                if same is None and results and self._is_late():
                    break
                if same is not None:
                    results.append((same, "unchanged"))
                    continue
                came = [*behind, *(section.memory_id for section, _ in results)][-FOLLOWED:]
                placed = replace(draft, follows=tuple(reversed(came)))
                results.append(
                    self._section(
                        part, source=source, to=to, draft=placed, before=before, replaces=replaces
                    )
                )
        finally:
            done = tuple(section for section, _ in results)
            complete = len(done) == len(parts)
            taken = {each.section for before in earlier[: len(done)] for each in before}
            left = () if complete else tuple(each for each in known if each.section not in taken)
            now = ImportEntry(
                person=self.caller.person,
                scope=to.scope,
                path=source.path,
                sha256=whole if complete else "",
                sections=(*done, *left),
            )
            if now != entry and (done or entry is not None):
                self.table.transact([Put(now)])
        status = _of_file([status for _, status in results]) if complete else "deferred"
        return Imported(source.path, status, tuple(each.memory_id for each in done))

    def _section(
        self,
        part: Section,
        *,
        source: Source,
        to: Destination,
        draft: Draft,
        before: Sequence[ImportedSection],
        replaces: Sequence[str],
    ) -> tuple[ImportedSection, Status]:
        rights = self.destinations.rights()
        made_before = [*replaces, *(each.memory_id for each in before if each.made)]
        superseded = [
            memory_id
            for memory_id, meta in load_visible(self.table, made_before, rights.read_set).items()
            if meta.live and meta.scope in rights.writable
        ]
        sha256 = _sha256(part.text)
        origin = {"path": source.path, "sha256": sha256}
        if part.name:
            origin["section"] = part.name
        written = remember(
            self.table,
            self.clock,
            Submission(
                Actor(self.caller, rights),
                draft=replace(
                    draft,
                    content=part.text,
                    supersedes=tuple(superseded[:MAX_SUPERSEDES]),
                    source_json=json.dumps({"import": origin}),
                ),
                to=to,
            ),
            self.read_passage,
        )
        made = not written.deduplicated or self._is_ours(written.memory_id, source.path)
        status: Status = "created"
        if written.superseded:
            status = "superseded"
        elif written.deduplicated:
            status = "deduplicated"
        return ImportedSection(_key(part), sha256, written.memory_id, made), status

    def _is_ours(self, memory_id: str, path: str) -> bool:
        """Whether a memory came from this path by this person: an import that was cut short."""
        read_set = self.destinations.rights().read_set
        metas = load_visible(self.table, [memory_id], read_set)
        return any(
            memory.meta.author == self.caller.principal
            and import_path(memory.body.source_json) == path
            for memory in with_bodies(self.table, list(metas.values()))
        )


def _predecessors(
    parts: Sequence[Section], known: Sequence[ImportedSection]
) -> list[list[ImportedSection]]:
    """For each section what it takes the place of.

    That is the section of the same name. Those whose names are gone go, in their order, to those
    whose names are new, as when a heading was reworded or a file grew until it was split; the last
    new one takes all that are left. Where there is no new one, they keep standing.
    """
    by_name = {each.section: each for each in known}
    names = [_key(part) for part in parts]
    gone = [each for each in known if each.section not in names]
    before = [[by_name[name]] if name in by_name else [] for name in names]
    fresh = [at for at, name in enumerate(names) if name not in by_name]
    for position, each in enumerate(gone):
        if fresh:
            before[fresh[min(position, len(fresh) - 1)]].append(each)
    return before


def _of_file(statuses: Sequence[Status]) -> Status:
    """A file's status by those of its sections."""
    for status in _BY_WEIGHT:
        if status in statuses:
            return status
    return "unchanged"


def _unchanged(part: Section, before: Sequence[ImportedSection]) -> ImportedSection | None:
    sha256 = _sha256(part.text)
    for each in before:
        if each.sha256 == sha256:
            return replace(each, section=_key(part))
    return None


def _is_forgotten(meta: Meta) -> bool:
    return not meta.live and meta.superseded_by is None


def _key(part: Section) -> str:
    """What the ledger knows a section by: of its words it keeps none."""
    return _sha256(part.name)[:_KEY_LENGTH]


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_texts(memory: Portable) -> None:
    """Refuse secrets in any text of a record, and what no text may hold."""
    fields: dict[str, Any] = msgspec.to_builtins(memory)
    for name in fields.keys() - {"vectors"}:
        leaves = list(text_leaves(name, fields[name]))
        refuse_secrets(leaves)
        if any("\x00" in leaf or not _is_unicode(leaf) for _, leaf in leaves):
            raise validation_failed(f"{name} holds what is no Unicode text: leave it out.")
    if not memory.content.strip():
        raise validation_failed("The content is blank; write what is to be remembered.")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _names(value: object) -> tuple[str, ...]:
    """Entities as frontmatter names them: one, or a list."""
    listed = cast("list[object]", value) if isinstance(value, list) else [value]
    names = (each.strip() for each in listed if isinstance(each, str))
    return tuple(each for each in names if 0 < len(each) <= _NAME_LENGTH)[:MAX_ENTITIES]


def _language(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _LANGUAGE_LENGTH else None
