"""Every text that a tool takes is read by the guard before anything else happens to it."""

from typing import Any

import pytest

from tests.unit.memory.credentials import TOKENS, seeded
from zero_memory.contracts.errors import Refusal
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import GRANTS
from zero_memory.tools import challenge, close_loop, entities, forget, link, move_memories, revise
from zero_memory.tools.tool import Tool

ONE, TWO = "mem_00000000000000000000000001", "mem_00000000000000000000000002"
NOBODY = Caller("p_1", "p_1", frozenset(GRANTS))

TEXTS: list[tuple[Tool[Any, Any], dict[str, Any], str]] = [
    (revise.TOOL, {"memory_id": ONE}, "content"),
    (close_loop.TOOL, {"memory_id": ONE}, "outcome"),
    (forget.TOOL, {"memory_id": ONE}, "reason"),
    (challenge.TOOL, {"memory_id": ONE}, "reason"),
    (challenge.TOOL, {"memory_id": ONE, "reason": "why"}, "evidence"),
    (link.TOOL, {"src": ONE, "dst": TWO, "type": "relates_to"}, "reason"),
    (move_memories.TOOL, {"ids": [ONE]}, "scope"),
    (move_memories.TOOL, {"ids": [ONE]}, "project_hint"),
    (entities.TOOL, {}, "query"),
    (entities.TOOL, {}, "project_hint"),
    (entities.TOOL, {}, "thread"),
]


class Untouched:
    """Ports that nobody may reach for."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was reached for before the guard had spoken")


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    TEXTS,
    ids=[f"{tool.name}.{field}" for tool, _, field in TEXTS],
)
def test_a_secret_is_refused_before_anything_is_touched(
    tool: Tool[Any, Any], arguments: dict[str, Any], field: str
):
    _, make = next(iter(TOKENS.values()))
    secret = make(seeded(field))
    text = f"use {secret} here" if field != "thread" else secret
    with pytest.raises(Refusal) as refusal:
        tool.run(Untouched(), NOBODY, tool.input(**arguments, **{field: text}))  # pyright: ignore[reportArgumentType]
    message = refusal.value.message
    assert message.startswith("secret_content_rejected:")
    assert field in message
    assert secret not in message
