"""Who sees what: the one module that decides it.

Whatever a caller is shown passes here twice. `scope_filter` goes into every query of an index, so
that a foreign memory is never a candidate, and `visible` is asked again of the authoritative
record, because an index may be behind: a memory that was moved, or is no longer shared, may still
stand in it under the scopes it had. No other module compares a memory's scopes with a caller's.

A read set is made of memberships (`session.read_set`), so everything in it the caller may read.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct


class ReadSet(Struct, frozen=True):
    """The scopes that one call reads: their paths by scope id."""

    paths: Mapping[str, str]

    def __contains__(self, scope: str) -> bool:
        return scope in self.paths


def visible(home_scope: str, shared_to: Iterable[str], read_set: ReadSet) -> bool:
    """Whether a memory of `home_scope`, shared to other scopes, is in the read set."""
    return seen_in(home_scope, shared_to, read_set) is not None


def seen_in(home_scope: str, shared_to: Iterable[str], read_set: ReadSet) -> str | None:
    """The path of the scope through which a memory is in the read set, None when it is not.

    The home scope's, when that is in the read set: only its members learn where a memory lives.
    """
    if home_scope in read_set:
        return read_set.paths[home_scope]
    return min((read_set.paths[scope] for scope in shared_to if scope in read_set), default=None)


def is_shared_into(home_scope: str, shared_to: Iterable[str], read_set: ReadSet) -> bool:
    """Whether a memory is in the read set only because it is shared to a scope of it."""
    return home_scope not in read_set and visible(home_scope, shared_to, read_set)


def shown_places(shared_to: Iterable[str], read_set: ReadSet) -> list[str]:
    """The paths of those scopes of the read set that a memory is shared to."""
    return sorted(read_set.paths[scope] for scope in shared_to if scope in read_set)


def hidden_places(home_scope: str, shared_to: Iterable[str], read_set: ReadSet) -> int:
    """To how many other scopes it is shared; 0 for whom the scope that it lives in is foreign."""
    if home_scope not in read_set:
        return 0
    return sum(scope not in read_set for scope in shared_to)


def scope_filter(read_set: ReadSet) -> tuple[str, ...]:
    """The scope ids that an index query is limited to: it may find what is in one of them."""
    return tuple(sorted(read_set.paths))
