"""The tool `restore_memory`."""

from zero_memory.contracts.memory import RestoreArguments, StateResult
from zero_memory.memory import state
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import state_result
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: RestoreArguments) -> StateResult:
    """Undo what made a memory invalid, or one recorded change of it."""
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    outcome = state.restore(
        services.table,
        services.clock,
        actor,
        memory_id=arguments.memory_id,
        audit_id=arguments.audit_id,
    )
    return state_result(outcome, actor.rights)


TOOL = Tool(
    name="restore_memory",
    title="Restore a memory",
    description=(
        "Restore a memory that was forgotten or superseded, so that it is recalled again: the old "
        "wording after revise, a loop after close_loop, whose new wording or outcome then ends. "
        "With audit_id, undo that one recorded change of it."
    ),
    input=RestoreArguments,
    output=StateResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
