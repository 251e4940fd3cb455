"""JSON Schemas of tools, in the plain shape that every client digests.

No `$ref` (some clients do not follow them), no generated titles (a model pays for each word), and
an optional field as its type alone: leaving it out says null.
"""

from functools import cache
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from zero_memory.tools.tool import Tool

_DATA = frozenset(("default", "enum", "const", "examples"))
"""Keywords whose values are data, not schemas."""

_REF_PREFIX = "#/$defs/"


@cache
def tool_definition(tool: Tool[Any, Any]) -> dict[str, Any]:
    """A tool as `tools/list` shows it. Shared by all callers; not to be changed."""
    hints = tool.annotations
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": plain_schema(tool.input),
        "outputSchema": plain_schema(tool.output),
        "annotations": {
            "title": tool.title,
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": False,
        },
    }


def plain_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's JSON Schema 2020-12, an object without references.

    Raises RecursionError for a model that contains itself.
    """
    schema = model.model_json_schema(schema_generator=_Untitled)
    definitions = schema.pop("$defs", {})
    # Descriptions of the models themselves are for readers of the code.
    return {"type": "object", **_without(_plain(schema, definitions), "title", "description")}


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - as inherited
        return False


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        target = definitions[reference.removeprefix(_REF_PREFIX)]
        inlined = _without(_plain(target, definitions), "title", "description")
        return {**inlined, **_plain(_without(schema, "$ref"), definitions)}
    return _without_null({key: _keyword(key, schema[key], definitions) for key in schema})


def _keyword(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":  # whose keys are names, not keywords
        return {name: _plain(schema, definitions) for name, schema in value.items()}
    return value if key in _DATA else _plain(value, definitions)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An optional field's schema as that of its value, where null is the default."""
    alternatives = schema.get("anyOf")
    if not isinstance(alternatives, list) or schema.get("default", ...) is not None:
        return schema
    values = [one for one in cast("list[Any]", alternatives) if one != {"type": "null"}]
    rest = _without(schema, "anyOf", "default")
    return {**values[0], **rest} if len(values) == 1 else {"anyOf": values, **rest}


def _without(schema: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keys}
