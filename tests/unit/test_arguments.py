"""What tools take: any JSON is either valid or refused in words, never a failure of the service."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from zero_memory.contracts.shapes import SHAPES
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS
from zero_memory.tools.tool import Tool

EVERY_TOOL = {tool.name: tool for tool in (*TOOLS, *PEOPLES_TOOLS)}.values()

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\0", "\ud800", " "])
)
JSON = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
@given(data=st.data())
def test_any_json_is_taken_or_refused(tool: Tool[Any, Any], data: st.DataObject) -> None:
    fields = st.sampled_from(sorted(tool.input.model_fields))
    arguments = data.draw(st.dictionaries(fields, JSON, max_size=4))
    with suppress(ValidationError):
        tool.input.model_validate(arguments)


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
def test_null_is_what_is_left_out(tool: Tool[Any, Any]) -> None:
    """Clients send null for what they leave out; no more is wrong with such a call."""
    optional = {
        name
        for name, field in tool.input.model_fields.items()
        if not field.is_required() and field.default is None
    }
    missing = errors_of(tool, {})
    assert errors_of(tool, dict.fromkeys(optional)) == missing


@pytest.mark.parametrize("tool", EVERY_TOOL, ids=lambda tool: tool.name)
def test_every_pattern_of_an_argument_has_words(tool: Tool[Any, Any]) -> None:
    schema = json.dumps(tool.input.model_json_schema())
    patterns = {json.loads(f'"{each}"') for each in re.findall(r'"pattern": "(.*?)"', schema)}
    assert patterns <= SHAPES.keys()


def errors_of(tool: Tool[Any, Any], arguments: dict[str, Any]) -> set[tuple[Any, str]]:
    try:
        tool.input.model_validate(arguments)
    except ValidationError as error:
        return {(each["loc"], each["type"]) for each in error.errors()}
    return set()
