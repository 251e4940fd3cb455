"""Markdown files that begin with YAML between two lines of `---`."""

import re
from collections.abc import Mapping
from typing import Any, cast

import yaml
from msgspec import Struct
from typing_extensions import override

from zero_memory.contracts.errors import validation_failed

MAX_FRONTMATTER = 300_000
"""Characters: room for an original of 32,000 with every one of them escaped."""

MAX_DEPTH = 16
"""Nodes, one inside the other, the whole frontmatter being the first."""

_NODES = 4_000
"""An export writes 600 at most beside its source, which has 4 KB; each takes 50 µs to read."""

# A tag before what is none of its values fails as it happens to: `!!bool z` with a KeyError.
_UNREADABLE = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError)
_BEYOND_JSON = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("binary", "timestamp", "set", "omap", "pairs")
)

_BLOCK = re.compile(r"---[ \t]*\r?\n(?P<yaml>.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_NO_FOLDING = 2**31 - 1


class Fronted(Struct, frozen=True):
    """A file's frontmatter as a mapping, and what follows it, to the byte."""

    fields: dict[str, Any]
    body: str


class _Dumper(yaml.SafeDumper):
    """Escapes the line end of EBCDIC, which a reader of YAML 1.1 folds into a blank."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(  # pyright: ignore[reportUnknownMemberType]
        "tag:yaml.org,2002:str", text, '"' if "\x85" in text else None
    )


_Dumper.add_representer(str, _text)


def with_frontmatter(fields: Mapping[str, Any], body: str) -> str:
    """A file of these fields, in their order, and this body."""
    text: str = yaml.dump(  # pyright: ignore[reportUnknownMemberType]
        dict(fields), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NO_FOLDING
    )
    return f"---\n{text}---\n{body}"


def is_fenced(text: str) -> bool:
    """Whether a file begins with something between two lines of `---`, readable or not."""
    return _BLOCK.match(text) is not None


def read_frontmatter(text: str) -> Fronted | None:
    """A file's parts; None when it has no frontmatter, or something else between such lines.

    Raises Refusal `validation_failed` for frontmatter that is too long, too deep, or refers to
    itself.
    """
    block = _BLOCK.match(text)
    if block is None:
        return None
    if len(block["yaml"]) > MAX_FRONTMATTER:
        raise validation_failed("The frontmatter is too long; move what it holds into the text.")
    try:
        fields: Any = yaml.load(block["yaml"], _Loader)  # noqa: S506 - derives from SafeLoader
    except _UNREADABLE:
        return None
    if not isinstance(fields, dict):
        return None
    named = {str(name): value for name, value in cast("dict[Any, Any]", fields).items()}
    return Fronted(named, text[block.end() :])


class _Loader(yaml.SafeLoader):
    """Reads plain data alone: no aliases, which could unfold without end, and a bounded tree.

    Times stay text, as JSON would have them.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the library wants it
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012 - as the library wants it
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag not in _BEYOND_JSON
    }
    _open = 0
    _nodes = 0

    @override
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._nodes += 1
        too_much = self._open >= MAX_DEPTH or self._nodes > _NODES
        if too_much or self.check_event(yaml.AliasEvent):
            raise validation_failed(
                "The frontmatter holds too much, nests too deep or refers to itself; write it "
                "plainly."
            )
        self._open += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._open -= 1
