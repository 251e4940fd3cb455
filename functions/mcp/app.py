from zero_memory.mcp.memory_resource import MEMORY
from zero_memory.runtime.entry import mcp_handler
from zero_memory.tools.catalogue import TOOLS

handler = mcp_handler(TOOLS, (MEMORY,))
