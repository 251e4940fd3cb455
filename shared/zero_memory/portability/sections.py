"""Plain Markdown, such as notes and instruction files, as statements that stand alone.

A text of up to 2,000 characters is one memory. A longer one is split at its topmost headings, what
is still longer at the next ones inside it, and so on. Each section begins with the headings above
it, so that it can be understood alone. A section without headings stays whole, however long, up to
what a memory holds; beyond that it is cut between paragraphs, or else lines.

Blocks of promoted rules are no memories, and are left out:

    <!-- zero-memory:rules -->
    …
    <!-- /zero-memory:rules -->
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from zero_memory.contracts.model import MAX_CONTENT_CHARACTERS

WHOLE = 2_000
"""Characters; about two embedding windows, so that a memory is found by all that it says."""

_ROOM_FOR_HEADINGS = 2_000
_PART = MAX_CONTENT_CHARACTERS - _ROOM_FOR_HEADINGS

_RULES = re.compile(
    r"^[ \t]*<!--[ \t]*zero-memory:rules\b[^>]*-->.*?"
    r"(?:<!--[ \t]*/zero-memory:rules[ \t]*-->[ \t]*(?:\r?\n|\Z)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*\r?\n?")
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_PARAGRAPHS = re.compile(r"(?:\r?\n[ \t]*){2,}")
_NAME = 200


class Section(Struct, frozen=True):
    """A statement of a file: the headings above and of it, and its text with them."""

    name: str
    text: str


class _Block(Struct, frozen=True):
    """A heading and the text up to the next one, or (level 0) the text before the first."""

    level: int
    title: str
    text: str

    @property
    def heading(self) -> str:
        return f"{'#' * self.level} {self.title}\n\n" if self.level else ""

    @property
    def is_bare(self) -> bool:
        """Whether it says nothing but its heading."""
        below = self.text.partition("\n")[2] if self.level else self.text
        return not below.strip()


def without_rules(text: str) -> str:
    """A text without the blocks of promoted rules; one that is not closed goes to the end."""
    return _RULES.sub("", text)


def sections(text: str) -> list[Section]:
    """The statements of a text without frontmatter; none of a blank one. Names are distinct."""
    text = without_rules(text.removeprefix("\ufeff"))
    if not text.strip():
        return []
    if len(text) <= WHOLE:
        return [Section("", text)]
    seen: Counter[str] = Counter()
    found: list[Section] = []
    for section in _split(_blocks(text), ()):
        seen[section.name] += 1
        number = seen[section.name]
        name = section.name if number == 1 else f"{section.name} ({number})"
        found.append(Section(name, section.text))
    return found


def _blocks(text: str) -> list[_Block]:
    """The text cut before each heading that is not inside a fence."""
    blocks: list[_Block] = []
    level, title, lines = 0, "", list[str]()
    fence = ""
    for line in text.splitlines(keepends=True):
        opened = _FENCE.match(line)
        if opened is not None and not fence:
            fence = opened["fence"]
        elif opened is not None and _closes(opened, fence):
            fence = ""
        heading = None if fence or opened is not None else _HEADING.fullmatch(line)
        if heading is not None:
            blocks.append(_Block(level, title, "".join(lines)))
            level, title, lines = len(heading["marks"]), heading["title"] or "", []
        lines.append(line)
    blocks.append(_Block(level, title, "".join(lines)))
    return [block for block in blocks if block.level or block.text.strip()]


def _closes(line: re.Match[str], fence: str) -> bool:
    return line["fence"].startswith(fence) and not line["info"].strip()


def _split(blocks: Sequence[_Block], above: tuple[_Block, ...]) -> Iterator[Section]:
    """The sections of blocks that stand below some headings; the first may be what they are in."""
    if not blocks:
        return
    if sum(len(block.text) for block in blocks) <= WHOLE or len(blocks) == 1:
        if not all(block.is_bare for block in blocks):
            yield from _parts(blocks, above)
        return
    top = min(block.level for block in blocks if block.level)
    starts = [at for at, block in enumerate(blocks) if block.level == top]
    if starts == [0]:
        own, *inside = blocks
        yield from _split([own], above)
        yield from _split(inside, (*above, own))
        return
    for start, end in zip([0, *starts], [*starts, len(blocks)], strict=True):
        yield from _split(blocks[start:end], above)


def _parts(blocks: Sequence[_Block], above: tuple[_Block, ...]) -> Iterator[Section]:
    text = "".join(block.text for block in blocks).strip("\r\n")
    headings = "".join(block.heading for block in above)[:_ROOM_FOR_HEADINGS]
    own = [blocks[0]] if blocks[0].level else []
    name = " > ".join(block.title for block in (*above, *own))[:_NAME]
    for part in _cut(text):
        yield Section(name, headings + part)


def _cut(text: str) -> Iterator[str]:
    """The text in parts that a memory can hold."""
    while len(text) > _PART:
        ends = [at.start() for at in _PARAGRAPHS.finditer(text, 1, _PART)]
        end = ends[-1] if ends else text.rfind("\n", 1, _PART)
        end = end if end > 0 else _PART
        if text[:end].strip():
            yield text[:end]
        text = text[end:].lstrip("\r\n")
    if text.strip():
        yield text
