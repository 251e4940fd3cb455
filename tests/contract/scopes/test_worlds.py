"""Random worlds of people who share, hint, echo threads and leave: where each call may go."""

import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.clock import ManualClock
from tests.contract.scopes.conftest import Someone, Where
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.members import accept, invite, leave, rename, set_role
from zero_memory.scopes.model import ROLES, Membership, Role
from zero_memory.scopes.session import Session, read_set

WHO = st.integers(0, 2)
WHICH = st.integers(0, 10)
HINTS = st.none() | st.sampled_from(
    (
        "git@github.com:acme/web.git",
        "https://github.com/globex/web",
        "/src/web",
        "web",
        "api",
        "/",
    )
)
"""Two repositories called `web`, so that names meet wherever they can."""
THREADS = st.sampled_from(("new", "conversation", "own", "foreign", "transport"))


class World(RuleBasedStateMachine):
    """Three people, and what the plainest book-keeping says of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.table = SqliteTable(Path(self.folder.name) / "table.sqlite3")
        self.clock = ManualClock()
        self.people = [
            Someone(self.table, self.clock, make_person(self.table, self.clock).person)
            for _ in range(3)
        ]
        self.roles: dict[tuple[str, str], Role] = {
            (person.id, each.scope): "admin"
            for person in self.people
            for each in person.access.memberships
        }
        paths = [person.writes("git@github.com:acme/web.git") for person in self.people]
        for person, path in zip(self.people, paths, strict=True):
            self._joined(person, person.access.by_path[path])
        self._share(self.people[0], self.people[1], paths[0], "reader")
        self._share(self.people[1], self.people[2], paths[1], "writer")
        self.threads: list[tuple[str, str]] = []
        self.attached: dict[tuple[str, str], tuple[str, int]] = {}

    def teardown(self) -> None:
        self.table.close()
        self.folder.cleanup()

    def _where(self, someone: Someone, thread: str, which: int) -> Where:
        if thread == "conversation":
            return Where(conversation=f"c{which % 2}")
        if thread == "transport":
            return Where(transport=f"s{which % 2}")
        known = [
            name
            for person, name in self.threads
            if thread != "new" and (person == someone.id) == (thread == "own")
        ]
        return Where(thread=known[which % len(known)]) if known else Where()

    def _stands(self, someone: Someone, session: Session, hint: str | None) -> None:
        """The thread is attached to what it was, else to what this call's hint names."""
        key, now = (someone.id, session.thread), self.clock.now()
        scope, until = self.attached.get(key, ("", 0))
        if now < until and (someone.id, scope) in self.roles:
            assert session.attached is not None
            assert session.attached.scope == scope
        else:
            assert hint is not None or session.attached is None
            assert session.pinned is None
        self.threads.append(key)
        if session.attached is not None:
            renewed = until if now - (until - 86_400_000) <= 3_600_000 else now + 86_400_000
            self.attached[key] = (session.attached.scope, renewed)

    def _joined(self, someone: Someone, made: Membership) -> None:
        if (someone.id, made.scope) not in self.roles:
            assert made.path.startswith(f"proj.{someone.id}.")
            assert made.owner == someone.id
            self.roles[someone.id, made.scope] = "admin"

    @rule(who=WHO, hint=HINTS, thread=THREADS, which=WHICH)
    def read(self, who: int, hint: str | None, thread: str, which: int) -> None:
        someone = self.people[who]
        session = someone.enters(hint, **self._where(someone, thread, which))
        self._stands(someone, session, hint)
        for scopes in (None, ["*"], ["core", "personal"]):
            reads = read_set(someone.access, session, scopes)
            assert all((someone.id, scope) in self.roles for scope in reads.paths)

    @rule(who=WHO, hint=HINTS, thread=THREADS, which=WHICH)
    def write(self, who: int, hint: str | None, thread: str, which: int) -> None:
        someone = self.people[who]
        with suppress(Refusal):
            where = self._where(someone, thread, which)
            session = someone.enters(hint, write=True, **where)
            if session.project is not None:
                self._joined(someone, session.project)
            self._stands(someone, session, hint)
            target = someone.target(hint, **(where or Where(thread=session.thread))).scope
            assert session.project is not None
            assert target.scope == session.project.scope
            assert self.roles[someone.id, target.scope] != "reader"

    @rule(who=WHO, whom=WHO, which=WHICH, role=st.sampled_from(ROLES))
    def share(self, who: int, whom: int, which: int, role: Role) -> None:
        host = self.people[who]
        with suppress(Refusal):
            self._share(host, self.people[whom], self._some_path(host, which), role)

    def _share(self, host: Someone, guest: Someone, path: str, role: Role) -> None:
        code = invite(self.table, self.clock, host.access, path, role)
        joined = accept(self.table, self.clock, guest.access, code)
        self.roles[guest.id, joined.scope] = role

    @rule(who=WHO, whom=WHO, which=WHICH, role=st.sampled_from(ROLES))
    def give_role(self, who: int, whom: int, which: int, role: Role) -> None:
        host, guest = self.people[who], self.people[whom]
        path = self._some_path(host, which)
        with suppress(Refusal):
            set_role(self.table, host.access, path, guest.id, role)
            self.roles[guest.id, host.access.must(path).scope] = role

    @rule(who=WHO, which=WHICH)
    def go(self, who: int, which: int) -> None:
        someone = self.people[who]
        path = self._some_path(someone, which)
        with suppress(Refusal):
            scope = someone.access.must(path).scope
            leave(self.table, someone.access, path)
            del self.roles[someone.id, scope]

    @rule(who=WHO, which=WHICH, name=st.sampled_from(("web", "site", "api")))
    def give_name(self, who: int, which: int, name: str) -> None:
        someone = self.people[who]
        with suppress(Refusal):
            rename(self.table, someone.access, self._some_path(someone, which), name)

    @rule(hours=st.sampled_from((0.5, 2, 25)))
    def wait(self, hours: float) -> None:
        self.clock.advance(hours=hours)

    def _some_path(self, someone: Someone, which: int) -> str:
        paths = sorted(each.path for each in someone.access.memberships)
        return paths[which % len(paths)]

    @invariant()
    def everybody_has_the_rights_they_were_given(self) -> None:
        held = {
            (person.id, each.scope): each.role
            for person in self.people
            for each in person.access.memberships
        }
        assert held == self.roles

    @invariant()
    def a_path_leads_to_one_scope(self) -> None:
        led: dict[str, str] = {}
        for person in self.people:
            for each in person.access.memberships:
                for path in (each.path, *each.aliases):
                    assert led.setdefault(path, each.scope) == each.scope


TestWorlds = World.TestCase
TestWorlds.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
