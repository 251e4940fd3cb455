"""The tool `erase_memory`."""

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.lifecycle import EraseArguments, EraseResult
from zero_memory.memory.ages import timestamp
from zero_memory.memory.erasure import erase
from zero_memory.scopes.caller import Caller
from zero_memory.tools.copies import clear_files, copies_reached
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: EraseArguments) -> EraseResult:
    """Erase a memory from the table, from the index, and from every file of this home."""
    if arguments.confirm != arguments.memory_id:
        raise validation_failed("confirm must repeat memory_id; nothing was erased.")
    actor = stand(services, caller, thread=arguments.thread).actor(caller)
    kept = erase(services.table, services.clock, actor, arguments.memory_id)
    with copies_reached():
        services.index.erase([arguments.memory_id])
    clear_files(services)
    return EraseResult(
        id=arguments.memory_id, erased_at=timestamp(kept.at), erased_by=kept.principal
    )


TOOL = Tool(
    name="erase_memory",
    title="Erase a memory for good",
    description=(
        "Erase a memory for good, words, vectors, links and history, when a person asks for it "
        "or something private was stored by mistake. Nobody can undo this; what is merely "
        "outdated is for forget. confirm repeats the id. Only for admins of its scope."
    ),
    input=EraseArguments,
    output=EraseResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table", "index", "artifacts")),
    run=run,
)
