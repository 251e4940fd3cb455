"""The tool `close_loop`."""

from zero_memory.contracts.lifecycle import CloseLoopArguments, CloseLoopResult
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.state import close
from zero_memory.memory.succession import close_with_outcome
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import path_of
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: CloseLoopArguments) -> CloseLoopResult:
    """Close a loop, and store what came of it when that is said."""
    if arguments.outcome is not None:
        refuse_secrets([("outcome", arguments.outcome)])
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    if arguments.outcome is None:
        outcome_id = None
        outcome = close(services.table, services.clock, actor, memory_id=arguments.memory_id)
        audit_id = outcome.audit.audit_id if outcome.audit else None
    else:
        written = close_with_outcome(
            services.table,
            services.clock,
            actor,
            arguments.memory_id,
            outcome=arguments.outcome,
            read_passage=lambda text: read_passage(services.embedder, text),
        )
        outcome_id = written.memory_id
        audit_id = next(iter(written.audits), None)
    return CloseLoopResult(
        id=arguments.memory_id,
        scope=path_of(services.table, arguments.memory_id, actor.rights),
        changed=audit_id is not None,
        outcome_id=outcome_id,
        audit_id=audit_id,
    )


TOOL = Tool(
    name="close_loop",
    title="Close a loop",
    description=(
        "Close a task that is done or dropped, or an open-question that is answered, so that "
        "nobody takes it up again. With outcome, what came of it is remembered in its place. "
        "restore_memory opens it again, and ends the outcome."
    ),
    input=CloseLoopArguments,
    output=CloseLoopResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table", "embedder")),
    run=run,
)
