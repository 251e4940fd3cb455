from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import entities

handler = lambda_for(entities.TOOL)
