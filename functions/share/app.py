from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import share

handler = lambda_for(share.TOOL)
