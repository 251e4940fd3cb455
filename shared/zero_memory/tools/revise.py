"""The tool `revise`."""

from zero_memory.contracts.lifecycle import ReviseArguments, ReviseResult
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.succession import revise
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.caller import Caller
from zero_memory.tools.changed import path_of
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: ReviseArguments) -> ReviseResult:
    """Put a corrected wording in a memory's place."""
    refuse_secrets([("content", arguments.content)])
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    written = revise(
        services.table,
        services.clock,
        actor,
        arguments.memory_id,
        content=arguments.content,
        read_passage=lambda text: read_passage(services.embedder, text),
    )
    return ReviseResult(
        id=written.memory_id,
        scope=path_of(services.table, written.memory_id, actor.rights),
        superseded=list(written.superseded),
        changed=bool(written.superseded),
        audit_id=next(iter(written.audits), None),
    )


TOOL = Tool(
    name="revise",
    title="Revise a memory",
    description=(
        "Say the same statement in better words: a new memory takes the old one's place and keeps "
        "its kind, entities and links; the old wording stays in history. Send the whole "
        "statement. For a new truth use remember with supersedes, when no truth is left forget."
    ),
    input=ReviseArguments,
    output=ReviseResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=False),
    grant="memory:write",
    needs=frozenset(("table", "embedder")),
    run=run,
)
