"""Where a call stands: the project that its conversation is attached to, what it reads and writes.

The first hint that resolves attaches a conversation; a later one that names another project pins
that call alone, so that reading elsewhere never moves where the conversation writes.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from zero_memory.contracts.errors import not_found, validation_failed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table
from zero_memory.scopes.access import NO_SUCH_SCOPE, Access, can_write
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Membership
from zero_memory.scopes.projects import Astray, Newly, open_own_path, open_project, reach
from zero_memory.scopes.threads import attach, fresh_thread, is_thread, thread_of
from zero_memory.scopes.visibility import ReadSet

ALL_SCOPES = "*"

PORTABLE_KINDS = frozenset(("fact", "reference", "gotcha"))
"""Kinds of memory that may hold beyond the project that they were learnt in."""


_FORMS = "git remote, repository root or name"

_ASTRAY: Mapping[Astray, str] = {
    "unknown": "No project is known by this call's project_hint; the first memory with it makes "
    "one.",
    "several": "Several projects are called as this call's project_hint says: pass the git remote, "
    "or one of them as scope.",
    "nothing": f"This call's project_hint names no project: pass another ({_FORMS}).",
}

_NEWLY: Mapping[Newly, str] = {
    "made": ", a project that this call made",
    "taken": ", by its name alone: it was not known by this project_hint",
}


class Session(Struct, frozen=True):
    """A call's conversation.

    `attached` is its project; `pinned` is another one that this call's hint named. `thread` is for
    the caller to echo. `conversation` names principal and conversation, None when the call named
    neither thread nor conversation. `astray`: why the call's hint reached no project. `newly`: how
    it came to one that was not known by it.
    """

    attached: Membership | None
    pinned: Membership | None
    thread: str
    conversation: str | None
    astray: Astray | None = None
    newly: Newly | None = None

    @property
    def project(self) -> Membership | None:
        """The project that this call is about."""
        return self.pinned or self.attached

    def line(self, *, everywhere: bool = False) -> str:
        """Where the caller stands, in words; `everywhere`: the call searched all that they see."""
        astray = "" if self.astray is None else f" {_ASTRAY[self.astray]}"
        if self.attached is None:
            read = ", so this searched all scopes that you may read" if everywhere else ""
            advice = "" if astray else f": pass project_hint ({_FORMS}) to work in one"
            return f"No project is attached{read}{advice}.{astray}"
        newly = "" if self.newly is None else _NEWLY[self.newly]
        if self.pinned is None:
            return f"Attached to {self.attached.path}{newly}.{astray}"
        return f"Attached to {self.attached.path}; this call was about {self.pinned.path}{newly}."


def enter(
    table: Table,
    clock: Clock,
    caller: Caller,
    access: Access,
    *,
    project_hint: str | None,
    thread: str | None,
    conversation_id: str | None = None,
    write: bool = False,
) -> Session:
    """The session of a call, attached by its hint if nothing was attached before.

    A hint that reaches no project is as if absent on a read; on a write it makes the project, or
    raises validation_failed (`project_hint_unresolvable:`) when it names none.
    """
    now = clock.now()
    hinted = newly = astray = None
    if project_hint is not None:
        reached = reach(access, project_hint, caller.machine)
        hinted, newly, astray = reached.project, reached.newly, reached.astray
        if write:
            astray = None
            hinted = open_project(table, clock, access, project_hint, caller.machine)
    threads: list[str] = []
    if thread is not None and is_thread(thread):
        threads.append(thread)
    elif conversation_id is not None:
        threads.append(thread_of(caller.principal, "conversation", conversation_id))
    conversation = f"{caller.principal}#{threads[0]}" if threads else None
    if caller.transport_session is not None:
        threads.append(thread_of(caller.principal, "transport", caller.transport_session))
    attached = attach(table, caller, access, threads, hinted=hinted, now=now) if threads else hinted
    elsewhere = hinted is not None and attached is not None and hinted.scope != attached.scope
    return Session(
        attached=attached,
        pinned=hinted if elsewhere else None,
        thread=threads[0] if threads else fresh_thread(caller.principal, now, attached),
        conversation=conversation,
        astray=astray,
        newly=newly if hinted is not None else None,
    )


def read_set(
    access: Access, session: Session, scopes: Sequence[str] | None, *, briefing: bool = False
) -> ReadSet:
    """The scopes that a call reads.

    None: the call's project, the personal root and core; without a project all that the caller is
    in, but for a briefing the root and core alone. `*`: all. Otherwise the paths and short names
    given; raises not_found for one that the caller is not in.
    """
    if scopes is not None:
        chosen = access.memberships if ALL_SCOPES in scopes else tuple(map(access.must, scopes))
    elif session.project is not None:
        chosen = (session.project, access.personal, access.core)
    elif briefing:
        chosen = (access.personal, access.core)
    else:
        chosen = access.memberships
    return ReadSet({membership.scope: membership.path for membership in chosen})


class WriteTarget(Struct, frozen=True):
    """Where a write goes.

    `routed_to_project` says that core or personal was asked for and the project taken instead;
    `reason` says why, for people.
    """

    scope: Membership
    routed_to_project: bool = False
    reason: str | None = None


def write_target(
    table: Table,
    clock: Clock,
    access: Access,
    session: Session,
    *,
    scope: str | None,
    kind: str,
    portable: Callable[[], bool] | None = None,
) -> WriteTarget:
    """Where a write goes, by its scope, its hint, its thread, its transport session, in this order.

    `session` was entered with `write=True`, which settled the hint and what follows it. Inside a
    project, core and personal are requests: `portable` is the judge of whether the content holds
    elsewhere too, None when there is none. Raises not_found, forbidden for a reader, and
    validation_failed (`scope_target_required:`) without a target.
    """
    if scope is None:
        target = WriteTarget(_attached_or_refused(session))
    else:
        named = access.named(scope) or open_own_path(table, clock, access, scope)
        if named is None:
            raise not_found(NO_SUCH_SCOPE)
        target = _routed(named, session, kind, portable)
    can_write(target.scope)
    return target


def _attached_or_refused(session: Session) -> Membership:
    if session.project is None:
        raise validation_failed(
            f"scope_target_required: nothing says where this belongs. Pass project_hint ({_FORMS})"
            ", scope (core, personal or a path), or the thread of an earlier answer."
        )
    return session.project


def _routed(
    named: Membership, session: Session, kind: str, portable: Callable[[], bool] | None
) -> WriteTarget:
    """The named scope, or the project when it is core or personal and the content stays there."""
    project = session.project
    if project is None or named.kind not in {"core", "personal"}:
        return WriteTarget(named)
    if named.kind == "personal" and kind == "preference":
        return WriteTarget(named)
    if kind not in PORTABLE_KINDS:
        reason = (
            f"Inside a project, {named.kind} takes no memory of kind {kind}; it was stored in the "
            "project."
        )
    elif portable is None:
        reason = (
            f"Inside a project, {named.kind} takes what a judge finds portable, and no judge is "
            "configured; it was stored in the project."
        )
    elif not portable():
        reason = (
            f"The judge did not find this portable enough for {named.kind}; it was stored in the "
            "project."
        )
    else:
        return WriteTarget(named)
    return WriteTarget(project, routed_to_project=True, reason=reason)
