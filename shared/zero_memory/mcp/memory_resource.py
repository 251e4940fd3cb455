"""Memories as MCP resources."""

from zero_memory.mcp.resource import ResourceTemplate
from zero_memory.tools import memory_resource

MEMORY = ResourceTemplate(
    uri_template="zm://memory/{id}",
    variable=memory_resource.MEMORY_ID,
    name="memory",
    title="Memory",
    description="A memory, whole: the full text behind an excerpt that recall shows.",
    grant="memory:read",
    read=memory_resource.read,
)
