from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import memory_history

handler = lambda_for(memory_history.TOOL)
