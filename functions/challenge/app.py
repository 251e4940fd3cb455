from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import challenge

handler = lambda_for(challenge.TOOL)
