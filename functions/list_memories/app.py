from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import list_memories

handler = lambda_for(list_memories.TOOL)
