"""People who remember, forget and list, over any home of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from tests.clock import ManualClock
from tests.hashing_embedder import HashingEmbedder
from tests.ports import Ports
from zero_memory.adapters.table_index import TableIndex
from zero_memory.memory import state, write
from zero_memory.memory.changing import Outcome
from zero_memory.memory.listing import Wanted, list_live
from zero_memory.memory.model import AuditRecord, Meta
from zero_memory.memory.rights import Actor, Rights, rights_of
from zero_memory.memory.write import Destination, Draft, Idempotency, Submission, Written
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.access import Access, access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.members import accept, invite
from zero_memory.scopes.model import GRANTS, Membership, Role
from zero_memory.scopes.projects import open_project
from zero_memory.tools.tool import Tool

TALK = "talk-1"


@dataclass(frozen=True)
class Someone:
    """A person who calls as `principal`; their words go to `scope`."""

    table: Table
    clock: Clock
    person: str
    principal: str
    scope: Membership

    @property
    def access(self) -> Access:
        return access_of(self.table, self.person)

    @property
    def caller(self) -> Caller:
        return Caller(self.person, self.principal, frozenset(GRANTS))

    @property
    def rights(self) -> Rights:
        return rights_of(self.access.memberships)

    @property
    def actor(self) -> Actor:
        return Actor(self.caller, self.rights)

    @property
    def ports(self) -> Ports:
        index = TableIndex(self.table, limit=1_000)
        return Ports(self.table, index, cast("ManualClock", self.clock))

    def at(self, scope: Membership) -> "Someone":
        """The same person, whose words go elsewhere."""
        return Someone(self.table, self.clock, self.person, self.principal, scope)

    def as_another(self) -> "Someone":
        """The same person through another principal."""
        return Someone(self.table, self.clock, self.person, f"{self.principal}.other", self.scope)

    def project(self, name: str) -> Membership:
        return open_project(self.table, self.clock, self.access, name, "desk")

    def lets_in(self, other: "Someone", scope: Membership, role: Role) -> Membership:
        code = invite(self.table, self.clock, self.access, scope.path, role)
        return accept(self.table, self.clock, other.access, code)

    def submission(
        self,
        content: str,
        *,
        talk: str | None = TALK,
        key: str | None = None,
        request: str = "r",
        **draft: Any,
    ) -> Submission:
        return Submission(
            actor=Actor(
                self.caller,
                self.rights,
                conversation=None if talk is None else f"{self.principal}#{talk}",
                thread=talk,
            ),
            draft=Draft(content, **draft),
            to=Destination(self.scope.scope, self.scope.owner),
            once=None if key is None else Idempotency("remember", key, request),
        )

    def remembers(self, content: str, **how: Any) -> Written:
        return write.remember(
            self.table,
            self.clock,
            self.submission(content, **how),
            partial(read_passage, HashingEmbedder()),
        )

    def knows(self, content: str, **how: Any) -> str:
        """The id of what this remembers anew."""
        written = self.remembers(content, **how)
        assert not written.deduplicated
        return written.memory_id

    def forgets(self, memory_id: str, reason: str = "outdated") -> Outcome:
        return state.forget(
            self.table,
            self.clock,
            self.actor,
            memory_id=memory_id,
            reason=reason,
        )

    def restores(self, memory_id: str, audit_id: str | None = None) -> Outcome:
        return state.restore(
            self.table,
            self.clock,
            self.actor,
            memory_id=memory_id,
            audit_id=audit_id,
        )

    def calls(self, tool: Tool[Any, Any], **arguments: Any) -> Any:
        """What a tool answers."""
        return tool.run(self.ports, self.caller, tool.input(**arguments))

    def lists(self, *, limit: int = 100, **wanted: Any) -> list[str]:
        """The ids of one page over everything that the person may read."""
        listed = list_live(self.table, self.rights.read_set, Wanted(**wanted), limit=limit)
        return [meta.memory_id for meta in listed.memories]

    def meta(self, memory_id: str) -> Meta:
        meta = self.table.get(Meta, memory_id)
        assert meta is not None
        return meta

    def audits(self, memory_id: str) -> Sequence[AuditRecord]:
        """All audit records of a memory, oldest first."""
        return self.table.query(AuditRecord, memory_id, limit=1_000).records


def arrives(table: Table, clock: Clock) -> Someone:
    """Makes a further person, whose words go to their private root."""
    person = make_person(table, clock).person
    return Someone(table, clock, person, person, access_of(table, person).personal)


def refused(refusal: Any) -> str:
    """The code of a refusal that pytest caught."""
    return cast("str", refusal.value.code.value)
