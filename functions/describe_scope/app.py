from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import describe_scope

handler = lambda_for(describe_scope.TOOL)
