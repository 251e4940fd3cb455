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

CONTRACT_VERSION = 1


def _no_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain NUL characters")
    return text


NoNul = AfterValidator(_no_nul)

Content = Annotated[str, StringConstraints(min_length=1, max_length=32_000), NoNul]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=2_000), NoNul]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), NoNul]
Hint = Annotated[str, StringConstraints(min_length=1, max_length=1_000), NoNul]
MemoryId = Annotated[str, StringConstraints(pattern=r"^mem_[0-9A-HJKMNP-TV-Z]{26}$")]


class Arguments(BaseModel):
    """Arguments of a tool; an unknown field is an error, never dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Result(BaseModel):
    """A tool's structured result; an optional field that says nothing is left out of its JSON."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_serializer(mode="wrap")
    def _without_silence(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        said = serialize(self).items()
        return {
            name: value for name, value in said if value is not None or fields[name].is_required()
        }
