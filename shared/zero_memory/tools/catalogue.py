"""Every tool, sorted by name."""

from typing import Any

from zero_memory.tools import (
    challenge,
    close_loop,
    describe_scope,
    entities,
    erase_memory,
    forget,
    link,
    list_memories,
    memory_history,
    move_memories,
    recall,
    remember,
    restore_memory,
    revise,
)
from zero_memory.tools.tool import Tool

TOOLS: tuple[Tool[Any, Any], ...] = (
    challenge.TOOL,
    close_loop.TOOL,
    describe_scope.TOOL,
    entities.TOOL,
    erase_memory.TOOL,
    forget.TOOL,
    link.TOOL,
    list_memories.TOOL,
    memory_history.TOOL,
    move_memories.TOOL,
    recall.TOOL,
    remember.TOOL,
    restore_memory.TOOL,
    revise.TOOL,
)
