"""The tool `describe_scope`."""

from zero_memory.contracts.errors import validation_failed
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
from zero_memory.ports.table import Page, Table, ref
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.cursors import seal, seal_key_of, unseal
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
        scopes=[
            _described(services, caller, membership, arguments.cursor)
            for membership in chosen[:_SCOPES_SHOWN]
        ],
        more_scopes=[membership.path for membership in chosen[_SCOPES_SHOWN:]],
        home=_home(services),
        limits=LIMITS,
        session=standing.state(),
    )


def _chosen(standing: Standing, arguments: DescribeScopeArguments) -> list[Membership]:
    if arguments.scope is not None:
        return [standing.access.must(arguments.scope)]
    if arguments.cursor is not None:
        raise validation_failed("A cursor goes on with the members of one scope: name it in scope.")
    first = (standing.session.project, standing.access.personal, standing.access.core)
    others = sorted(standing.access.memberships, key=lambda membership: membership.path)
    return list(dict.fromkeys([each for each in (*first, *others) if each is not None]))


def _described(
    services: Services, caller: Caller, membership: Membership, cursor: str | None
) -> ScopeDescription:
    table = services.table
    scope = table.get(Scope, membership.scope)
    page = _members(table, caller, membership.scope, cursor)
    members = page.records
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
        cursor=page.next,
        counts={**count_live(table, membership.scope)},
    )


def _members(table: Table, caller: Caller, scope: str, cursor: str | None) -> Page[Member]:
    """One page, whose `next` is a cursor of this caller's."""
    query = {"members of": scope}
    behind = None
    if cursor is not None:
        behind = unseal(cursor, key=seal_key_of(table, caller.person), query=query)
    page = table.query(Member, scope, after=behind, limit=_MEMBERS_SHOWN)
    if page.next is None:
        return page
    key = seal_key_of(table, caller.person)
    return Page(page.records, seal(page.next, key=key, query=query))


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
        "the home of the memories, and limits. With scope, that one alone; its cursor, if there is "
        "one, goes on with its members."
    ),
    input=DescribeScopeArguments,
    output=DescribeScopeResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table",)),
    run=run,
)
