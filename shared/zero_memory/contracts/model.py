"""What every wire model shares."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from zero_memory.contracts.shapes import MEMORY_ID

CONTRACT_VERSION = 1

MAX_CONTENT_CHARACTERS = 32_000
MAX_LOOP_CHARACTERS = 2_000
MAX_SOURCE_BYTES = 4_096
MAX_ENTITIES = 32
MAX_SUPERSEDES = 10
MAX_LINKS = 5
MAX_WINDOWS = 20
"""Embedding windows of one memory. A full window takes 0.5 to 0.7 s of a processor, so that a call
stays within the 29 s that API Gateway waits. 32,000 characters of English have 11 to 15."""

LIMITS = {
    "content_characters": MAX_CONTENT_CHARACTERS,
    "loop_characters": MAX_LOOP_CHARACTERS,
    "source_bytes": MAX_SOURCE_BYTES,
    "entities": MAX_ENTITIES,
    "supersedes": MAX_SUPERSEDES,
    "links": MAX_LINKS,
    "embedded_windows": MAX_WINDOWS,
}
"""What one `remember` may hold, for people and agents to read."""


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


NoNul = AfterValidator(_no_nul)
NotBlank = AfterValidator(_not_blank)

Content = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_CONTENT_CHARACTERS),
    NoNul,
    NotBlank,
]
# A reason is kept in the memory's small record, which every update pays for.
Reason = Annotated[str, StringConstraints(min_length=1, max_length=500), NoNul, NotBlank]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), NoNul]
Hint = Annotated[str, StringConstraints(min_length=1, max_length=1_000), NoNul]
MemoryId = Annotated[str, StringConstraints(pattern=MEMORY_ID)]


# Models are built at first use: a function's cold start pays for its own tool's, not for all.


class Arguments(BaseModel):
    """Arguments of a tool; an unknown field is an error, never dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Result(BaseModel):
    """A tool's structured result; an optional field that says nothing is left out of its JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_serializer(mode="wrap")
    def _without_silence(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        said = serialize(self).items()
        return {
            name: value for name, value in said if value is not None or fields[name].is_required()
        }
