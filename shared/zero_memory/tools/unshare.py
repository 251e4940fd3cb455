"""The tool `unshare`."""

from zero_memory.contracts.sharing import SharingResult, UnshareArguments
from zero_memory.memory.sharing import unshare
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import sharing_result
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: UnshareArguments) -> SharingResult:
    """End the sharing of a memory."""
    standing = stand(services, caller, thread=arguments.thread)
    named = arguments.scope
    outcome = unshare(
        services.table,
        services.clock,
        standing.actor(caller),
        memory_id=arguments.memory_id,
        scope=None if named is None else standing.access.must(named).scope,
    )
    return sharing_result(outcome, standing.rights())


TOOL = Tool(
    name="unshare",
    title="Stop sharing a memory",
    description=(
        "Stop sharing a memory with a scope, or with all of them when none is named: their readers "
        "no longer find it. For writers of the scope that it lives in, and admins of the scope "
        "that it was shared to. restore_memory with the audit_id shares it again."
    ),
    input=UnshareArguments,
    output=SharingResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
