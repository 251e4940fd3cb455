from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import recall

handler = lambda_for(recall.TOOL)
