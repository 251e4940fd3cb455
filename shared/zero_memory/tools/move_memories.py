"""The tool `move_memories`."""

from zero_memory.contracts.errors import DAMAGED, ErrorCode, Refusal, validation_failed
from zero_memory.contracts.lifecycle import MoveArguments, Moved, MoveResult, NotMoved
from zero_memory.memory.guard import refuse_secrets
from zero_memory.memory.moving import move
from zero_memory.ports.table import DamagedRecord
from zero_memory.scopes.access import can_write
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.hints import strip_credentials
from zero_memory.scopes.model import Membership
from zero_memory.scopes.projects import open_project
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool


def run(services: Services, caller: Caller, arguments: MoveArguments) -> MoveResult:
    """Move each of these memories that can be moved; say why the others can't."""
    hint = arguments.project_hint and strip_credentials(arguments.project_hint)
    named = (("scope", arguments.scope), ("project_hint", hint))
    refuse_secrets((name, text) for name, text in named if text is not None)
    standing = stand(services, caller, thread=arguments.thread)
    to = _target(services, caller, standing, arguments)
    can_write(to)
    actor = standing.with_project(to).actor(caller)
    moved: list[Moved] = []
    unchanged: list[str] = []
    failed: list[NotMoved] = []
    for memory_id in dict.fromkeys(arguments.ids):
        try:
            outcome = move(
                services.table,
                services.clock,
                actor,
                memory_id=memory_id,
                scope=to.scope,
                owner=to.owner,
            )
        except Refusal as refusal:
            failed.append(NotMoved(id=memory_id, code=refusal.code, message=refusal.message))
        except DamagedRecord:
            failed.append(NotMoved(id=memory_id, code=ErrorCode.INTERNAL, message=DAMAGED))
        else:
            if outcome.audit is None:
                unchanged.append(memory_id)
            else:
                moved.append(Moved(id=memory_id, audit_id=outcome.audit.audit_id))
    return MoveResult(scope=to.path, moved=moved, unchanged=unchanged, failed=failed)


def _target(
    services: Services, caller: Caller, standing: Standing, arguments: MoveArguments
) -> Membership:
    if (arguments.scope is None) == (arguments.project_hint is None):
        raise validation_failed("Pass either scope or project_hint: where the memories go.")
    if arguments.scope is not None:
        return standing.access.must(arguments.scope)
    hint = arguments.project_hint or ""
    return open_project(services.table, services.clock, standing.access, hint, caller.machine)


TOOL = Tool(
    name="move_memories",
    title="Move memories",
    description=(
        "Move memories that were stored in the wrong place to another scope or project, with "
        "their history and links. Those that can't be moved are named with the reason; the rest "
        "moves. restore_memory with an audit_id moves one back."
    ),
    input=MoveArguments,
    output=MoveResult,
    annotations=Annotations(read_only=False, destructive=False, idempotent=True),
    grant="memory:write",
    needs=frozenset(("table",)),
    run=run,
)
