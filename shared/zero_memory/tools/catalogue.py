"""Every tool, sorted by name."""

from typing import Any

from zero_memory.tools import (
    challenge,
    close_loop,
    delete_account,
    describe_scope,
    entities,
    erase_memory,
    export_memories,
    forget,
    import_memory,
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
    delete_account.TOOL,
    describe_scope.TOOL,
    entities.TOOL,
    erase_memory.TOOL,
    export_memories.TOOL,
    forget.TOOL,
    import_memory.TOOL,
    link.TOOL,
    list_memories.TOOL,
    memory_history.TOOL,
    move_memories.TOOL,
    recall.TOOL,
    remember.TOOL,
    restore_memory.TOOL,
    revise.TOOL,
)
