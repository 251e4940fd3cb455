from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import unshare

handler = lambda_for(unshare.TOOL)
