from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import erase_memory

handler = lambda_for(erase_memory.TOOL)
