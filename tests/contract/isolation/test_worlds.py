"""Random worlds at the edge: nothing foreign appears, whatever is asked, and however."""

import os

import pytest

from tests.contract.isolation.edge import edge
from tests.contract.isolation.world import World

WORLDS = int(os.environ.get("ZM_WORLDS", "200"))
"""How many worlds; `make soak` makes more."""

STEPS = 30
_AT_ONCE = 10


def world(seed: int, home: str) -> None:
    with edge(home) as at:
        made = World(at, seed)
        made.happen(STEPS)
        made.ask_everything()
        made.strangers_change_nothing()


def home_of(seed: int) -> str:
    """Most worlds on what costs least; moto takes seconds a world."""
    if seed % 50 == 49:
        return "dynamodb, no index"
    kinds = ("sqlite, local index", "sqlite with late views", "sqlite, no index")
    return kinds[seed % 3]


@pytest.mark.parametrize("first", range(0, WORLDS, _AT_ONCE))
def test_nothing_foreign_appears_and_no_stranger_changes_an_answer(first: int) -> None:
    for seed in range(first, min(first + _AT_ONCE, WORLDS)):
        world(seed, home_of(seed))
