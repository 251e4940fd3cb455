"""The tool `link`."""

from zero_memory.contracts.lifecycle import LinkArguments
from zero_memory.contracts.memory import StateResult
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.linking import link
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import state_result
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: LinkArguments) -> StateResult:
    """Link two memories; the answer is about the one that changed."""
    if arguments.reason is not None:
        refuse_secrets([("reason", arguments.reason)])
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    outcome = link(
        services.table,
        services.clock,
        actor,
        source=arguments.src,
        target=arguments.dst,
        link_type=arguments.type,
        reason=arguments.reason,
    )
    return state_result(outcome, actor.rights)


TOOL = Tool(
    name="link",
    title="Link two memories",
    description=(
        "Link one memory to another: src relates_to, contradicts, is derived_from or supersedes "
        "dst. supersedes retires dst. The answer is about the memory that changed, src or, when "
        "superseded, dst; restore_memory with its audit_id takes the link back."
    ),
    input=LinkArguments,
    output=StateResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
