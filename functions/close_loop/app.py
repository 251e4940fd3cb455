from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import close_loop

handler = lambda_for(close_loop.TOOL)
