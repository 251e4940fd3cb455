"""A memory's past, as a file tells it: whether it could have been so, and what is taken in of it.

Whatever an audit record says can be undone later. So each must be a step that memories take, and
name nothing that the importer may not see.
"""

import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from zero_memory.portability.destinations import Destinations
from zero_memory.portability.model import Change, Past, Side, Stretch
from zero_memory.portability.names import ELSEWHERE, renamed

# What a step changes only along with whether the memory is live.
_WITH_LIFE = frozenset(("timeline", "invalidated_at", "invalidated_reason", "superseded_by"))


def is_a_past(past: Past) -> bool:
    """Whether each change is a step that a memory takes, told once, in their order."""
    ids = [change.id for change in past.changes]
    doubts = [doubt.id for doubt in past.disputes]
    known = {None, *doubts}
    return (
        ids == sorted(set(ids))
        and len(known) == len(doubts) + 1
        and past.dispute in known
        and all(_is_a_step(change, known) for change in past.changes)
    )


def _is_a_step(change: Change, doubts: AbstractSet[str | None]) -> bool:
    if change.action == "erase":
        return False  # what is erased has no past but this, and is no record
    try:
        after = msgspec.convert(change.after, Side)
        before = None if change.before is None else msgspec.convert(change.before, Side)
    except msgspec.ValidationError:
        return False
    sides = [after] if before is None else [before, after]
    if not all(_is_a_side(side) and side.dispute in doubts for side in sides):
        return False
    if before is None or change.before is None:
        return True  # no birth is undone
    names = change.after.keys() - {"link"}
    return (
        names == change.before.keys() - {"link"}
        and ("owner" not in names or "scope" in names)
        and (before.link is None or after.link is None)
        and _is_a_turn(before.alive, after.alive)
        and ("alive" in names or names.isdisjoint(_WITH_LIFE))
    )


def _is_a_side(side: Side) -> bool:
    """What is live was neither ended nor superseded, and no life ends before it begins."""
    ended = not side.alive or side.alive[-1].end is not None
    return all(life.end is None or life.start <= life.end for life in side.alive) and (
        ended or (side.superseded_by is None and side.invalidated_reason is None)
    )


def _is_a_turn(before: tuple[Stretch, ...], after: tuple[Stretch, ...]) -> bool:
    """Whether the last life ended, or a new one began, or lives are not spoken of."""
    if not before and not after:
        return True
    if before[-1].end is None:
        return after[:-1] == before[:-1] and _is_ended(before[-1], after[-1])
    return after[:-1] == before and after[-1].end is None


def _is_ended(before: Stretch, after: Stretch) -> bool:
    return after.start == before.start and after.end is not None


def targets_of_past(past: Past) -> Iterator[str]:
    """The other memories that a past of checked steps names."""
    for change in past.changes:
        for state in (change.before or {}, change.after):
            side = msgspec.convert(state, Side)
            yield from (each for each in [side.superseded_by] if each is not None)
            yield from (side.link or ())[1:]


def taken_in(
    memory_id: str,
    change: Change,
    *,
    scope_of: Callable[[str], str],
    to: Destinations,
    hidden: AbstractSet[str],
) -> tuple[str, str]:
    """Both sides of a change as this home stores them, without the memories that are `hidden`.

    Owners are those that the scopes have here.
    """
    before, after = (_named(each, scope_of, to, hidden) for each in (change.before, change.after))
    sides = [each for each in (before, after) if each is not None]
    pairs = [side["link"] for side in sides if side.get("link") is not None]
    # A side that leads nowhere was left alone when what it led to was not to be named.
    if len(pairs) != 1 or pairs[0][1] in {*hidden, memory_id}:
        for side in sides:
            side.pop("link", None)
    homes = [to.access.by_id.get(side.get("scope", "")) for side in sides]
    moved = len({home.owner for home in homes if home is not None}) > 1
    for side, home in zip(sides, homes, strict=True):
        if home is not None and (moved or "owner" in side):
            side["owner"] = home.owner
    return json.dumps(before), json.dumps(after)


def _named(
    state: dict[str, Any] | None,
    scope_of: Callable[[str], str],
    to: Destinations,
    hidden: AbstractSet[str],
) -> dict[str, Any] | None:
    named = renamed(state, scope_of, to.principal)
    if named is None:
        return None
    if named.get("superseded_by") in hidden:
        named["superseded_by"] = None
    if "shared_to" in named:
        places: list[str] = named["shared_to"]
        named["shared_to"] = [
            each for at, each in enumerate(places) if each == ELSEWHERE or each not in places[:at]
        ]
    return named
