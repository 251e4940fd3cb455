from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import manage_scope

handler = lambda_for(manage_scope.TOOL)
