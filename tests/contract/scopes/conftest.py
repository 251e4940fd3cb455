"""People and their calls, over either home of the table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pytest

from tests.clock import ManualClock
from zero_memory.ports.table import Table
from zero_memory.scopes.access import Access, access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.model import GRANTS
from zero_memory.scopes.session import Session, WriteTarget, enter, write_target


class Where(TypedDict, total=False):
    """What a call says of itself beside its hint."""

    thread: str
    conversation: str
    machine: str
    transport: str


@dataclass
class Someone:
    """A person who calls."""

    table: Table
    clock: ManualClock
    id: str

    @property
    def access(self) -> Access:
        return access_of(self.table, self.id)

    def enters(
        self, hint: str | None = None, *, write: bool = False, **where: Unpack[Where]
    ) -> Session:
        caller = Caller(
            self.id,
            self.id,
            frozenset(GRANTS),
            machine=where.get("machine", "desk"),
            transport_session=where.get("transport"),
        )
        return enter(
            self.table,
            self.clock,
            caller,
            self.access,
            project_hint=hint,
            thread=where.get("thread"),
            conversation_id=where.get("conversation"),
            write=write,
        )

    def reads(self, hint: str | None = None, **where: Unpack[Where]) -> str | None:
        """The path of the project that a read is about."""
        project = self.enters(hint, **where).project
        return project and project.path

    def target(
        self,
        hint: str | None = None,
        *,
        scope: str | None = None,
        kind: str = "fact",
        portable: Callable[[], bool] | None = None,
        **where: Unpack[Where],
    ) -> WriteTarget:
        session = self.enters(hint, write=True, **where)
        return write_target(
            self.table, self.clock, self.access, session, scope=scope, kind=kind, portable=portable
        )

    def writes(
        self, hint: str | None = None, *, scope: str | None = None, **where: Unpack[Where]
    ) -> str:
        """The path of the scope that a write goes to."""
        return self.target(hint, scope=scope, **where).scope.path

    def path(self, slug: str) -> str:
        return f"proj.{self.id}.{slug}"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def arrive(table: Table, clock: ManualClock) -> Callable[[], Someone]:
    """Makes further people."""
    return lambda: Someone(table, clock, make_person(table, clock).person)


@pytest.fixture
def ada(arrive: Callable[[], Someone]) -> Someone:
    return arrive()


@pytest.fixture
def ben(arrive: Callable[[], Someone]) -> Someone:
    return arrive()
