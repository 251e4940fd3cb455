"""What a caller may see and change, as the use cases of memories take it."""

from msgspec import Struct

from zero_memory.scopes.visibility import ReadSet


class Rights(Struct, frozen=True):
    """What the caller may see, and the scopes in which it may change memories, and erase them."""

    read_set: ReadSet
    writable: frozenset[str]
    administered: frozenset[str] = frozenset()
