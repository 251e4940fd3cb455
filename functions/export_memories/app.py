from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import export_memories

handler = lambda_for(export_memories.TOOL)
