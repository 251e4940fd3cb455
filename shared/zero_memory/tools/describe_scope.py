"""The tool `describe_scope`."""

from zero_memory.contracts.memory import (
    DescribeScopeArguments,
    DescribeScopeResult,
    Home,
    ScopeDescription,
    ScopeMember,
)
from zero_memory.contracts.model import LIMITS
from zero_memory.memory.ages import timestamp
from zero_memory.memory.listing import count_live
from zero_memory.ports.table import ref
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Member, Membership, Person, Scope
from zero_memory.tools.services import Services
from zero_memory.tools.standing import Standing, stand
from zero_memory.tools.tool import Annotations, Tool

_MEMBERS_SHOWN = 100
_SCOPES_SHOWN = 20


def run(
    services: Services, caller: Caller, arguments: DescribeScopeArguments
) -> DescribeScopeResult:
    """One scope, or the first of those that the caller may read."""
    standing = stand(services, caller, project_hint=arguments.project_hint, thread=arguments.thread)
    chosen = _chosen(standing, arguments)
    return DescribeScopeResult(
        scopes=[_described(services, membership) for membership in chosen[:_SCOPES_SHOWN]],
        more_scopes=[membership.path for membership in chosen[_SCOPES_SHOWN:]],
        home=_home(services),
        limits=LIMITS,
        session=standing.state(),
    )


def _chosen(standing: Standing, arguments: DescribeScopeArguments) -> list[Membership]:
    if arguments.scope is not None:
        return [standing.access.must(arguments.scope)]
    first = (standing.session.project, standing.access.personal, standing.access.core)
    others = sorted(standing.access.memberships, key=lambda membership: membership.path)
    return list(dict.fromkeys([each for each in (*first, *others) if each is not None]))


def _described(services: Services, membership: Membership) -> ScopeDescription:
    table = services.table
    scope = table.get(Scope, membership.scope)
    members = table.query(Member, membership.scope, limit=_MEMBERS_SHOWN).records
    people = table.get_many([ref(Person, member.person) for member in members])
    return ScopeDescription(
        path=membership.path,
        id=membership.scope,
        kind=membership.kind,
        role=membership.role,
        owner=membership.owner,
        created_at=timestamp(scope.created_at) if scope else "",
        members=[
            ScopeMember(person=member.person, name=person.name if person else "", role=member.role)
            for member, person in zip(members, people, strict=True)
        ],
        counts={**count_live(table, membership.scope)},
    )


def _home(services: Services) -> Home:
    home = services.home
    return Home(
        table=home.table,
        search=home.search,
        embedder=home.embedder.model,
        dimensions=home.embedder.dimensions,
        languages=list(home.embedder.languages),
    )


TOOL = Tool(
    name="describe_scope",
    title="Describe a scope",
    description=(
        "Describe where you are: your scopes with roles, members and counts by kind, "
        "the home of the memories, and limits. With scope, that one alone."
    ),
    input=DescribeScopeArguments,
    output=DescribeScopeResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table",)),
    run=run,
)
