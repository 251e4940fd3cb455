"""The tool `challenge`."""

from zero_memory.contracts.errors import conflict
from zero_memory.contracts.lifecycle import ChallengeArguments, ChallengeResult
from zero_memory.memory import state
from zero_memory.memory.guard import refuse_secrets
from zero_memory.scopes.caller import Caller
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: ChallengeArguments) -> ChallengeResult:
    """Open a dispute about a memory."""
    refuse_secrets(
        (name, text)
        for name, text in (("reason", arguments.reason), ("evidence", arguments.evidence))
        if text is not None
    )
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    outcome = state.challenge(
        services.table,
        services.clock,
        actor,
        memory_id=arguments.memory_id,
        reason=arguments.reason,
        evidence=arguments.evidence,
    )
    meta, audit = outcome.meta, outcome.audit
    if meta.dispute is None:
        raise conflict("The dispute was settled meanwhile; read the memory again.")
    return ChallengeResult(
        id=meta.memory_id,
        scope=actor.rights.read_set.paths[meta.scope],
        dispute_id=meta.dispute,
        changed=audit is not None,
        audit_id=audit.audit_id if audit else None,
    )


TOOL = Tool(
    name="challenge",
    title="Challenge a memory",
    description=(
        "Challenge a memory that misled you or looks wrong when you don't know what is right: it "
        "stays live, ranks lower and is marked as disputed until somebody settles it. When you "
        "know what is right use remember with supersedes."
    ),
    input=ChallengeArguments,
    output=ChallengeResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
