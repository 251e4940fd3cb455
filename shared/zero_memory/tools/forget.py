"""The tool `forget`."""

from zero_memory.contracts.memory import ForgetArguments, StateResult
from zero_memory.memory import state
from zero_memory.memory.guard import refuse_secrets
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import state_result
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: ForgetArguments) -> StateResult:
    """Make a memory no longer hold."""
    refuse_secrets([("reason", arguments.reason)])
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    outcome = state.forget(
        services.table,
        services.clock,
        actor,
        memory_id=arguments.memory_id,
        reason=arguments.reason,
    )
    return state_result(outcome, actor.rights)


TOOL = Tool(
    name="forget",
    title="Forget a memory",
    description=(
        "Forget a memory that no longer holds and that nothing replaces: it stops being recalled "
        "and stays in history. For a new truth use remember with supersedes, for the same in "
        "better words revise. restore_memory brings it back."
    ),
    input=ForgetArguments,
    output=StateResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
