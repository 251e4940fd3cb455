"""What every tool begins with: where the caller stands, and what it may see and change."""

from collections.abc import Sequence

from msgspec import Struct

from zero_memory.contracts.memory import SessionState
from zero_memory.memory.rights import Actor, Rights, rights_of
from zero_memory.scopes.access import Access, access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Membership
from zero_memory.scopes.session import Session, enter, read_set
from zero_memory.scopes.visibility import ReadSet
from zero_memory.tools.services import Services


class Standing(Struct, frozen=True):
    """A caller's memberships and session, for one call."""

    access: Access
    session: Session

    def reads(self, scopes: Sequence[str] | None) -> ReadSet:
        """The scopes that the call reads; raises `not_found` for one that is not the caller's."""
        return read_set(self.access, self.session, scopes)

    def _all(self, searched: ReadSet) -> bool:
        return len(searched.paths) == len(self.access.memberships)

    def rights(self) -> Rights:
        """Everything that the caller may see and change."""
        return rights_of(self.access.memberships)

    def actor(self, caller: Caller) -> Actor:
        """The caller with these rights, speaking from the conversation that the call named."""
        session = self.session
        thread = None if session.conversation is None else session.thread
        return Actor(caller, self.rights(), session.conversation, thread)

    def with_project(self, made: Membership) -> "Standing":
        """The same standing, with the membership of a project that this very call made."""
        if made.scope in self.access.by_id:
            return self
        access = Access(self.access.person, (*self.access.memberships, made))
        return Standing(access, self.session)

    def state(self, *, searched: ReadSet | None = None) -> SessionState:
        """The session as answers carry it; `searched` are the scopes that a search read."""
        attached = self.session.attached
        return SessionState(
            attached_project=attached.path if attached else None,
            thread=self.session.thread,
            newly=self.session.newly,
            line=self.session.line(everywhere=searched is not None and self._all(searched)),
        )


def stand(
    services: Services,
    caller: Caller,
    *,
    project_hint: str | None = None,
    thread: str | None = None,
    write: bool = False,
) -> Standing:
    """Read the caller's memberships, and attach or find the session of this call."""
    access = access_of(services.table, caller.person)
    session = enter(
        services.table,
        services.clock,
        caller,
        access,
        project_hint=project_hint,
        thread=thread,
        write=write,
    )
    return Standing(access, session)
