from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import restore_memory

handler = lambda_for(restore_memory.TOOL)
