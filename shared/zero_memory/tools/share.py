"""The tool `share`."""

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.sharing import ShareArguments, SharingResult
from zero_memory.memory.sharing import share
from zero_memory.scopes.access import can_write
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import sharing_result
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: ShareArguments) -> SharingResult:
    """Let the readers of a team or project read a memory."""
    standing = stand(services, caller, thread=arguments.thread)
    to = standing.access.must(arguments.scope)
    if to.kind not in {"project", "team"}:
        raise validation_failed(
            "A memory is shared to a project or a team; your personal root and core are read by "
            "you alone. describe_scope lists your scopes."
        )
    can_write(to)
    outcome = share(
        services.table,
        services.clock,
        standing.actor(caller),
        memory_id=arguments.memory_id,
        scope=to.scope,
    )
    return sharing_result(outcome, standing.rights())


TOOL = Tool(
    name="share",
    title="Share a memory",
    description=(
        "Share a memory with a team or another project that your person can write to: its readers "
        "find it too, it stays where it is. unshare ends that. Ask your person first when the "
        "memory is from their personal layer."
    ),
    input=ShareArguments,
    output=SharingResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
