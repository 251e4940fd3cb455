from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import remember

handler = lambda_for(remember.TOOL)
