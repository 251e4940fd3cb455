from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import move_memories

handler = lambda_for(move_memories.TOOL)
