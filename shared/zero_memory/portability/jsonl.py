"""JSON Lines: one memory a line, with its vectors, links and history."""

import msgspec

from zero_memory.contracts.errors import validation_failed
from zero_memory.portability.model import Portable

_decode = msgspec.json.Decoder(Portable).decode


def line(memory: Portable) -> str:
    """A memory as one line, with its line feed; bytes are in base64."""
    return msgspec.json.encode(memory).decode() + "\n"


def read_line(text: str) -> Portable:
    """The memory of a line. Raises Refusal `validation_failed`, which repeats nothing of it."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise validation_failed(
            "This line is no memory of this format: export it again, or import it as Markdown."
        ) from None
