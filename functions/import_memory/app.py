from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import import_memory

handler = lambda_for(import_memory.TOOL)
