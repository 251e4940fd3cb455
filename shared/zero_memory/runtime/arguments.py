"""A tool's arguments, from JSON to its model, with errors that say what to change."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from zero_memory.contracts.errors import Refusal, validation_failed
from zero_memory.contracts.shapes import SHAPES
from zero_memory.mcp.http import has_lone_surrogate, has_nul, json_bytes

In = TypeVar("In", bound=BaseModel)

_MAX_REPORTED = 10

_PROBLEMS = {
    "missing": "is missing: send it",
    "string_pattern_mismatch": "must be {shape}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length:,} characters",
    "too_short": "must name at least {min_length}",
    "too_long": "must name at most {max_length:,}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le:,}",
    "literal_error": "must be one of {expected}",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}
"""What is said of a constraint that is not met, by pydantic's name for it."""

_FIELD_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
"""What a caller's own name must look like to be said back: a misspelt field, never content."""


def parse_arguments(model: type[In], arguments: dict[str, Any]) -> In:
    """The arguments as the tool's model; raises Refusal validation_failed without their values."""
    if has_lone_surrogate(arguments):
        raise validation_failed("A string holds a lone surrogate: send Unicode text.")
    if has_nul(arguments):
        raise validation_failed("A string holds a NUL character: leave it out.")
    try:
        # From JSON, where strict models still take arrays and objects for their types.
        return model.model_validate_json(json_bytes(arguments))
    except ValidationError as error:
        raise _refusal(model, error) from None


def _refusal(model: type[BaseModel], error: ValidationError) -> Refusal:
    found = error.errors(include_url=False, include_input=False)
    errors = [
        {
            "field": _field(one["loc"]),
            "problem": (
                _unknown(model, one["loc"])
                if one["type"] == "extra_forbidden"
                else _problem(one["type"], one["msg"], one.get("ctx", {}))
            ),
        }
        for one in found[:_MAX_REPORTED]
    ]
    said = "; ".join(f"{one['field']}: {one['problem']}" for one in errors)
    return validation_failed(f"{said}.", {"errors": errors})


def _problem(kind: str, message: str, constraint: Mapping[str, Any]) -> str:
    """What is wrong, without pydantic's own terms where `_PROBLEMS` has others."""
    words = _PROBLEMS.get(kind)
    if words is None:
        return message.removeprefix("Value error, ")
    if constraint.get("min_length") == 1:
        return "must not be empty"
    shape = SHAPES.get(constraint.get("pattern", ""), "of another form")
    return words.format(shape=shape, **constraint)


def _field(location: tuple[int | str, ...]) -> str:
    parts = (_part(part) for part in location)
    return "".join(parts).removeprefix(".") or "arguments"


def _part(part: int | str) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _FIELD_NAME.fullmatch(part) else ".(unnamed)"


def _unknown(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    if len(location) > 1:
        return "there is no such field"
    return f"there is no such field; there are {', '.join(model.model_fields)}"
