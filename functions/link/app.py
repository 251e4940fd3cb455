from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import link

handler = lambda_for(link.TOOL)
