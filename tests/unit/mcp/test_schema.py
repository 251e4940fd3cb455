"""What clients are shown of the tools that ship."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel, Field

from zero_memory.mcp.schema import plain_schema, tool_definition
from zero_memory.tools.catalogue import TOOLS
from zero_memory.tools.tool import Tool


class Inner(BaseModel):
    title: str
    default: int | None = None


class Outer(BaseModel):
    one: Annotated[Inner, Field(description="The one.")]
    many: list[Inner] | None = None
    either: int | str | None = None
    nothing: str | None
    tags: list[str] = Field(default_factory=list)


def test_a_schema_is_plain() -> None:
    inner = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "default": {"type": "integer"}},
        "required": ["title"],
    }
    assert plain_schema(Outer) == {
        "type": "object",
        "properties": {
            "one": {**inner, "description": "The one."},
            "many": {"type": "array", "items": inner},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "nothing": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["one", "nothing"],
    }


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield cast("dict[str, Any]", node)
        for child in cast("dict[str, Any]", node).values():
            yield from schemas(child)
    elif isinstance(node, list):
        for child in cast("list[Any]", node):
            yield from schemas(child)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_shipped_tool_needs_nothing_that_clients_stumble_over(tool: Tool[Any, Any]) -> None:
    definition = tool_definition(tool)
    assert definition["inputSchema"]["additionalProperties"] is False
    for schema in schemas([definition["inputSchema"], definition["outputSchema"]]):
        assert not {"$ref", "$defs", "allOf", "oneOf", "not", "if"} & schema.keys()
    for schema in schemas(definition["inputSchema"]):
        assert "anyOf" not in schema


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_shipped_tool_can_be_found_and_is_not_longer_than_a_model_bears(
    tool: Tool[Any, Any],
) -> None:
    assert tool.title
    assert len(tool.description) > 40
    assert len(json.dumps(tool_definition(tool))) < 12_000


NAMES_THAT_SAY_IT = {
    *("memory_id", "ids", "src", "dst", "audit_id", "query", "k", "reason", "type", "entity"),
    *("kind", "kinds", "scopes", "since", "until", "limit", "cursor", "items", "links", "format"),
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_field_whose_name_does_not_say_what_it_takes_is_described(tool: Tool[Any, Any]) -> None:
    fields = tool_definition(tool)["inputSchema"]["properties"]
    assert {name for name in fields if "description" not in fields[name]} <= NAMES_THAT_SAY_IT


def test_a_scope_field_names_no_scope_that_its_tool_refuses() -> None:
    described = {
        tool.name: tool_definition(tool)["inputSchema"]["properties"]["scope"]["description"]
        for tool in TOOLS
        if "scope" in tool_definition(tool)["inputSchema"]["properties"]
    }
    assert {name for name, text in described.items() if "core" not in text} == {"share", "unshare"}
    assert {name for name, text in described.items() if "request" in text} == {
        "import_memory",
        "remember",
    }
