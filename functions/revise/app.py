from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import revise

handler = lambda_for(revise.TOOL)
