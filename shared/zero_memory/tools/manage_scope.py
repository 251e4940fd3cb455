"""The tool `manage_scope`, for people: it is not offered to models."""

from typing import TypeVar

from zero_memory.contracts.errors import validation_failed
from zero_memory.contracts.people import ManageScopeArguments, ManageScopeResult
from zero_memory.memory.guard import refuse_secrets
from zero_memory.scopes import members
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.tools.services import Services
from zero_memory.tools.tool import Annotations, Tool

V = TypeVar("V")


def run(services: Services, caller: Caller, arguments: ManageScopeArguments) -> ManageScopeResult:
    """Change who is in a scope, as what, or what it is called."""
    if arguments.name is not None:
        refuse_secrets([("name", arguments.name)])
    table, clock = services.table, services.clock
    access = access_of(table, caller.person)
    action = arguments.action
    if action == "make_team":
        made = members.make_team(table, clock, access, _needed("name", arguments.name))
        return ManageScopeResult(scope=made.path)
    if action == "accept":
        joined = members.accept(table, clock, access, _needed("code", arguments.code))
        return ManageScopeResult(scope=joined.path, role=joined.role)
    path = access.must(_needed("scope", arguments.scope)).path
    code = None
    match action:
        case "invite":
            code = members.invite(table, clock, access, path, _needed("role", arguments.role))
        case "set_role":
            person = _needed("person", arguments.person)
            members.set_role(table, access, path, person, _needed("role", arguments.role))
        case "remove":
            members.remove(table, access, path, _needed("person", arguments.person))
        case "leave":
            members.leave(table, access, path)
        case "hand_over":
            members.hand_over(table, access, path, _needed("person", arguments.person))
        case "rename":
            path = members.rename(table, access, path, _needed("name", arguments.name))
    return ManageScopeResult(scope=path, code=code)


def _needed(name: str, value: V | None) -> V:
    if value is None:
        raise validation_failed(f"This action needs {name}.")
    return value


TOOL = Tool(
    name="manage_scope",
    title="Manage a scope",
    description=(
        "Make a team; invite into a scope or accept an invitation; give a member another role, "
        "remove one, leave; hand a scope over, or rename it."
    ),
    input=ManageScopeArguments,
    output=ManageScopeResult,
    annotations=Annotations(read_only=False, destructive=True, idempotent=False),
    grant="admin",
    needs=frozenset(("table",)),
    run=run,
)
