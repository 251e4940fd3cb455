"""Every tool, sorted by name."""

from typing import Any

from zero_memory.tools import (
    describe_scope,
    forget,
    list_memories,
    recall,
    remember,
    restore_memory,
)
from zero_memory.tools.tool import Tool

TOOLS: tuple[Tool[Any, Any], ...] = (
    describe_scope.TOOL,
    forget.TOOL,
    list_memories.TOOL,
    recall.TOOL,
    remember.TOOL,
    restore_memory.TOOL,
)
