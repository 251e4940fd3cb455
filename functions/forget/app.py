from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import forget

handler = lambda_for(forget.TOOL)
