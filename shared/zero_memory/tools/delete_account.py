"""The tool `delete_account`."""

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.portability import DeleteAccountArguments, DeleteAccountResult
from zero_memory.portability.departure import depart, remove_person
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.paths import personal_path
from zero_memory.tools.copies import clear_files, copies_reached
from zero_memory.tools.services import Services
from zero_memory.tools.tool import Annotations, Tool

BUDGET_MS = 10_000
"""After this long no further memory is begun on: API Gateway waits 30 s."""


def run(
    services: Services, caller: Caller, arguments: DeleteAccountArguments
) -> DeleteAccountResult:
    """Erase what the caller owns, as much as one call may, and in the end the account."""
    if arguments.confirm != personal_path(caller.person):
        raise validation_failed(
            "confirm must be the path of your personal root (user.…, see describe_scope); "
            "nothing was erased."
        )
    with copies_reached():
        left = depart(
            services.table,
            services.clock,
            caller=caller,
            until=services.clock.now() + BUDGET_MS,
            unindex=services.index.erase,
        )
    if left.done:
        # While it fails, the caller's token must work, so that they can repeat it.
        clear_files(services)
        remove_person(services.table, caller.person)
    return DeleteAccountResult(
        done=left.done,
        erased=len(left.erased),
        remaining=f"{left.remaining}{'+' if left.more else ''}",
    )


TOOL = Tool(
    name="delete_account",
    title="Delete your account",
    description=(
        "Delete the account of the person you act for, for good, when they ask for it themselves: "
        "every memory in scopes that they own, their tokens and memberships. What they wrote into "
        "scopes of others stays, without their name. Works in steps: call again until done is "
        "true. Scopes that others are in must be handed over first."
    ),
    input=DeleteAccountArguments,
    output=DeleteAccountResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=True),
    grant="admin",
    needs=frozenset(("table", "index", "artifacts")),
    run=run,
)
