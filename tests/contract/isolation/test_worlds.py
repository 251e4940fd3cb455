"""Random worlds at the edge: nothing foreign appears, whatever is asked, and however."""

import os

import pytest

from tests.contract.isolation.edge import edge
from tests.contract.isolation.world import World

WORLDS = int(os.environ.get("ZM_WORLDS", "200"))
"""How many worlds; `make soak` makes more."""

STEPS = 30
HOMES = ("sqlite, local index", "sqlite with late views", "sqlite, no index")
_AT_ONCE = 10


def world(seed: int, home: str, steps: int = STEPS) -> None:
    with edge(home) as at:
        made = World(at, seed)
        made.happen(steps)
        made.ask_everything()
        made.strangers_change_nothing()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, WORLDS, _AT_ONCE))
def test_nothing_foreign_appears_and_no_stranger_changes_an_answer(first: int) -> None:
    for seed in range(first, min(first + _AT_ONCE, WORLDS)):
        world(seed, HOMES[seed % len(HOMES)])


@pytest.mark.timeout(600)
def test_nor_in_dynamodb() -> None:
    """One small world: moto copies the table in each transaction."""
    world(7, "dynamodb, no index", steps=12)
