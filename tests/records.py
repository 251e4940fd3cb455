"""Records for tests, and strategies for all that the table keeps."""

import functools
import types
from collections.abc import Collection
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from zero_memory.adapters.schema import PATTERNS, pattern_of
from zero_memory.memory.model import Interval, Meta

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
RECORD_TYPES = tuple(pattern.record for pattern in PATTERNS if pattern.of is None)


def meta(memory_id: str = "mem_1", **changes: Any) -> Meta:
    """A live memory of scope `scp_1`, in no view unless `changes` say so."""
    made = Meta(
        memory_id=memory_id,
        scope="scp_1",
        owner="p_1",
        author="p_1",
        author_kind="agent",
        kind="fact",
        authority=1,
        created_at=1,
        valid_from=1,
        alive=(Interval(1),),
        revision=1,
        digest="d",
        folded="f",
    )
    return replace(made, **changes)


@functools.cache
def records(record: type[Any]) -> st.SearchStrategy[Any]:
    """Any record of a type. What a key is made of is not empty."""
    pattern = pattern_of(record)
    keyed = {*pattern.parts, *(part for view in pattern.views for part in view.parts)}
    return _instances(record, keyed)


def _instances(kind: type[Any], keyed: Collection[str] = ()) -> st.SearchStrategy[Any]:
    return st.builds(
        kind,
        **{
            name: _values(hint, TEXTS.filter(bool) if name in keyed else TEXTS)
            for name, hint in get_type_hints(kind).items()
        },
    )


def _values(hint: Any, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*(_values(each, texts) for each in arguments))
    if origin is tuple:
        return st.lists(_values(arguments[0], texts), max_size=3).map(tuple)
    if origin is dict:
        keys, values = (_values(each, texts) for each in arguments)
        return st.dictionaries(keys, values, max_size=3)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _instances(hint)
    leaves: dict[Any, st.SearchStrategy[Any]] = {
        str: texts,
        int: st.integers(-(2**63), 2**63 - 1),
        bool: st.booleans(),
        bytes: st.binary(max_size=20),
        types.NoneType: st.none(),
    }
    return leaves[hint]
