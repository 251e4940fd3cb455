"""Every tool, sorted by name: those that models are offered, and those for people alone."""

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
    manage_scope,
    manage_tokens,
    memory_history,
    move_memories,
    recall,
    remember,
    restore_memory,
    revise,
    share,
    unshare,
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
    share.TOOL,
    unshare.TOOL,
)

PEOPLES_TOOLS: tuple[Tool[Any, Any], ...] = (manage_scope.TOOL, manage_tokens.TOOL)
"""Served over plain HTTP alone. A model that read a planted instruction must not let strangers in.
"""
