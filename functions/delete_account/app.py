from zero_memory.runtime.entry import lambda_for
from zero_memory.tools import delete_account

handler = lambda_for(delete_account.TOOL)
