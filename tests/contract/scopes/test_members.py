"""Membership: by invitation, with roles, never without an owner, whatever races."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clock import ManualClock
from tests.contract.scopes.conftest import Someone
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.table import Action, Table, TableUnavailable
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.members import (
    accept,
    hand_over,
    invite,
    leave,
    make_team,
    remove,
    rename,
    set_role,
)
from zero_memory.scopes.model import ROLES, Invitation, Member, Membership, Role, Scope

WEB = "git@github.com:acme/web.git"


def _refused(code: ErrorCode, call: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        call()
    assert refused.value.code is code
    return refused.value


def _team(someone: Someone, name: str = "Web") -> str:
    return make_team(someone.table, someone.clock, someone.access, name).path


def _join(host: Someone, guest: Someone, path: str, role: Role = "writer") -> Membership:
    code = invite(host.table, host.clock, host.access, path, role)
    return accept(guest.table, guest.clock, guest.access, code)


def _roles(someone: Someone, path: str) -> dict[str, Role]:
    scope = someone.access.by_path[path].scope
    return {each.person: each.role for each in someone.table.query(Member, scope).records}


def test_a_team_is_made_with_its_owner_as_admin(ada: Someone):
    path = _team(ada)
    assert path == f"team.{ada.id}.web"
    assert _roles(ada, path) == {ada.id: "admin"}
    assert _team(ada) == f"team.{ada.id}.web-2"
    _refused(ErrorCode.VALIDATION_FAILED, lambda: _team(ada, "…"))


def test_the_invited_join_with_the_role_that_was_offered(ada: Someone, ben: Someone):
    path = _team(ada)
    for_ben = _join(ada, ben, path, "reader")
    assert (for_ben.role, for_ben.path, for_ben.owner) == ("reader", path, ada.id)
    assert _roles(ben, path) == {ada.id: "admin", ben.id: "reader"}


def test_an_invitation_is_good_once(ada: Someone, ben: Someone, arrive: Callable[[], Someone]):
    path, eve = _team(ada), arrive()
    code = invite(ada.table, ada.clock, ada.access, path, "writer")
    accept(ben.table, ben.clock, ben.access, code)
    _refused(ErrorCode.NOT_FOUND, lambda: accept(eve.table, eve.clock, eve.access, code))
    _refused(ErrorCode.NOT_FOUND, lambda: accept(ben.table, ben.clock, ben.access, code))


def test_whatever_is_wrong_with_a_code_the_answer_is_the_same(
    ada: Someone, ben: Someone, arrive: Callable[[], Someone], clock: ManualClock
):
    path, eve = _team(ada), arrive()
    _join(ada, eve, path, "admin")
    by_eve = invite(eve.table, clock, eve.access, path, "writer")
    remove(ada.table, ada.access, path, eve.id)
    old = invite(ada.table, clock, ada.access, path, "writer")
    clock.advance(hours=24 * 7)
    good = invite(ada.table, clock, ada.access, path, "writer")
    head, public_id, secret = good.split("_", 2)
    bodies = [
        _refused(ErrorCode.NOT_FOUND, lambda code=code: accept(ben.table, clock, ben.access, code))
        for code in (
            "",
            f"{head}_{public_id}_{'A' * 43}",
            f"{head}_{'a' * 16}_{secret}",
            f"zmt_{public_id}_{secret}",
            old,
            by_eve,
        )
    ]
    assert all(each.body() == bodies[0].body() for each in bodies)
    assert accept(ben.table, clock, ben.access, good).path == path


def test_of_a_code_only_a_hash_is_stored(ada: Someone):
    path = _team(ada)
    code = invite(ada.table, ada.clock, ada.access, path, "writer")
    _, public_id, secret = code.split("_", 2)
    stored = ada.table.get(Invitation, public_id)
    assert stored is not None
    assert secret not in repr(stored)


def test_a_member_is_not_invited_twice(ada: Someone, ben: Someone):
    path = _team(ada)
    _join(ada, ben, path, "reader")
    _refused(ErrorCode.CONFLICT, lambda: _join(ada, ben, path, "admin"))
    assert _roles(ada, path)[ben.id] == "reader"


def test_a_shared_project_is_reached_by_its_remote_at_once(ada: Someone, ben: Someone):
    path = ada.writes(WEB)
    ada.writes("/src/web")
    joined = _join(ada, ben, path)
    assert joined.known_by == ("remote:github.com/acme/web",)
    assert ben.writes(WEB) == path
    assert ben.reads("web") == path


def test_nothing_is_guessed_into_a_project_of_somebody_else(ada: Someone, ben: Someone):
    _join(ada, ben, ada.writes("notes"))
    assert ben.writes("/home/ben/notes") == ben.path("notes")
    assert ben.writes("git@github.com:ben/notes.git") == ben.path("notes")


def test_ones_own_project_comes_before_a_shared_one(ada: Someone, ben: Someone):
    own = ben.writes(WEB)
    _join(ada, ben, ada.writes(WEB))
    assert ben.writes(WEB) == own
    assert ben.writes("web") == own


def test_admins_alone_invite_and_change_who_is_in(
    ada: Someone, ben: Someone, arrive: Callable[[], Someone]
):
    path, eve = _team(ada), arrive()
    _join(ada, ben, path, "writer")
    _join(ada, eve, path, "reader")
    for attempt in (
        lambda: invite(ben.table, ben.clock, ben.access, path, "reader"),
        lambda: set_role(ben.table, ben.access, path, eve.id, "writer"),
        lambda: set_role(ben.table, ben.access, path, ben.id, "admin"),
        lambda: remove(ben.table, ben.access, path, eve.id),
        lambda: rename(ben.table, ben.access, path, "mine"),
        lambda: hand_over(ben.table, ben.access, path, ben.id),
    ):
        _refused(ErrorCode.FORBIDDEN, attempt)
    assert _roles(ada, path) == {ada.id: "admin", ben.id: "writer", eve.id: "reader"}


def test_a_scope_that_one_is_not_in_is_as_if_it_did_not_exist(ada: Someone, ben: Someone):
    foreign = _team(ada)
    for path in (foreign, f"team.{ada.id}.unheard"):
        for attempt in (
            lambda path=path: invite(ben.table, ben.clock, ben.access, path, "reader"),
            lambda path=path: set_role(ben.table, ben.access, path, ada.id, "reader"),
            lambda path=path: remove(ben.table, ben.access, path, ada.id),
            lambda path=path: leave(ben.table, ben.access, path),
            lambda path=path: rename(ben.table, ben.access, path, "mine"),
            lambda path=path: hand_over(ben.table, ben.access, path, ben.id),
        ):
            _refused(ErrorCode.NOT_FOUND, attempt)


def test_an_admin_who_was_removed_meanwhile_changes_nothing(
    ada: Someone, ben: Someone, arrive: Callable[[], Someone]
):
    path, eve = _team(ada), arrive()
    _join(ada, ben, path, "admin")
    _join(ada, eve, path, "reader")
    rights_of_before = ben.access
    remove(ada.table, ada.access, path, ben.id)
    _refused(
        ErrorCode.NOT_FOUND, lambda: set_role(ben.table, rights_of_before, path, eve.id, "admin")
    )


def test_a_changed_role_holds_at_once(ada: Someone, ben: Someone):
    path = _team(ada)
    _join(ada, ben, path, "reader")
    _refused(ErrorCode.FORBIDDEN, lambda: ben.writes(scope=path))
    set_role(ada.table, ada.access, path, ben.id, "writer")
    assert ben.writes(scope=path) == path
    assert _roles(ada, path)[ben.id] == "writer"


def test_who_leaves_or_is_removed_is_out(ada: Someone, ben: Someone):
    path = _team(ada)
    for out in (
        lambda: leave(ben.table, ben.access, path),
        lambda: remove(ada.table, ada.access, path, ben.id),
    ):
        _join(ada, ben, path)
        assert path in ben.access.by_path
        out()
        assert path not in ben.access.by_path
        assert _roles(ada, path) == {ada.id: "admin"}


def test_an_owner_stays_an_admin_until_the_scope_is_handed_over(ada: Someone, ben: Someone):
    path = _team(ada)
    _join(ada, ben, path, "admin")
    for attempt in (
        lambda: leave(ada.table, ada.access, path),
        lambda: set_role(ada.table, ada.access, path, ada.id, "reader"),
        lambda: remove(ben.table, ben.access, path, ada.id),
        lambda: set_role(ben.table, ben.access, path, ada.id, "reader"),
    ):
        _refused(ErrorCode.FORBIDDEN, attempt)
    hand_over(ada.table, ada.access, path, ben.id)
    assert {each.access.by_path[path].owner for each in (ada, ben)} == {ben.id}
    leave(ada.table, ada.access, path)
    assert _roles(ben, path) == {ben.id: "admin"}


def test_a_scope_is_handed_to_a_member_only(ada: Someone, ben: Someone):
    path = _team(ada)
    _refused(ErrorCode.NOT_FOUND, lambda: hand_over(ada.table, ada.access, path, ben.id))
    hand_over(ada.table, ada.access, path, ada.id)
    assert ada.access.by_path[path].owner == ada.id


def test_the_private_root_and_core_are_not_shared(ada: Someone):
    for path in ("core", "personal", f"user.{ada.id}"):
        for attempt in (
            lambda path=path: invite(ada.table, ada.clock, ada.access, path, "reader"),
            lambda path=path: rename(ada.table, ada.access, path, "other"),
            lambda path=path: hand_over(ada.table, ada.access, path, ada.id),
            lambda path=path: leave(ada.table, ada.access, path),
        ):
            _refused(ErrorCode.FORBIDDEN, attempt)


def test_a_renamed_scope_keeps_its_id_and_its_earlier_paths(ada: Someone, ben: Someone):
    old = ada.writes(WEB)
    _join(ada, ben, old)
    scope = ada.access.by_path[old].scope
    new = rename(ada.table, ada.access, old, "Shop Window")
    assert new == ada.path("shop-window")
    for someone in (ada, ben):
        for hint in (WEB, old, new, "shop window"):
            assert someone.reads(hint) == new
        assert someone.access.by_path[old].scope == scope
    assert rename(ada.table, ada.access, new, "web") == old
    assert ben.reads(new) == old


def test_a_name_that_another_scope_has_or_had_is_taken(ada: Someone):
    web, api = ada.writes("web"), ada.writes("api")
    _refused(ErrorCode.CONFLICT, lambda: rename(ada.table, ada.access, web, "api"))
    rename(ada.table, ada.access, api, "service")
    _refused(ErrorCode.CONFLICT, lambda: rename(ada.table, ada.access, web, "api"))
    assert ada.writes(scope=api) == ada.path("service")


def test_an_interrupted_rename_is_completed_by_repeating_it(
    ada: Someone, ben: Someone, table: Table, monkeypatch: pytest.MonkeyPatch
):
    old = _team(ada)
    _join(ada, ben, old)
    transact, calls = table.transact, iter((True, False, False))

    def failing(actions: Sequence[Action]) -> None:
        if not next(calls):
            raise TableUnavailable("no answer")
        transact(actions)

    monkeypatch.setattr(table, "transact", failing)
    with pytest.raises(TableUnavailable):
        rename(table, ada.access, old, "shop")
    monkeypatch.setattr(table, "transact", transact)
    assert ben.reads(old) is None
    assert old in ben.access.by_path
    new = rename(table, ada.access, old, "shop")
    assert all(someone.access.by_path[old].path == new for someone in (ada, ben))


# Races, where threads really race


def _people(table: SqliteTable, clock: ManualClock, count: int) -> list[Someone]:
    return [Someone(table, clock, make_person(table, clock).person) for _ in range(count)]


def _at_once(*calls: Callable[[], object]) -> list[object]:
    barrier = Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return call()
        except Refusal as refusal:
            return refusal.code

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def test_of_two_who_race_for_an_invitation_one_joins(sqlite_table: SqliteTable, clock: ManualClock):
    ada, *guests = _people(sqlite_table, clock, 5)
    path = _team(ada)
    code = invite(sqlite_table, clock, ada.access, path, "writer")
    answers = _at_once(
        *(lambda guest=guest: accept(sqlite_table, clock, guest.access, code) for guest in guests)
    )
    assert answers.count(ErrorCode.NOT_FOUND) == 3
    assert len(_roles(ada, path)) == 2


def _race(ada: Someone, ben: Someone, path: str) -> None:
    table, for_ada, for_ben = ada.table, ada.access, ben.access
    _at_once(
        lambda: hand_over(table, for_ada, path, ben.id),
        lambda: leave(table, for_ben, path),
        lambda: leave(table, for_ada, path),
        lambda: remove(table, for_ada, path, ben.id),
        lambda: set_role(table, for_ben, path, ada.id, "reader"),
        lambda: rename(table, for_ada, path, "shop"),
    )


def test_racing_changes_leave_a_scope_with_its_owner_as_admin(
    sqlite_table: SqliteTable, clock: ManualClock
):
    for _ in range(10):
        ada, ben = _people(sqlite_table, clock, 2)
        path = _team(ada)
        _join(ada, ben, path, "admin")
        _race(ada, ben, path)
        _consistent(sqlite_table, [ada, ben])


def _consistent(table: Table, people: list[Someone]) -> None:
    """Both sides of each membership agree, and each scope's owner is an admin of it."""
    for someone in people:
        for membership in someone.access.memberships:
            scope = table.get(Scope, membership.scope)
            member = table.get(Member, membership.scope, someone.id)
            assert scope is not None
            assert member is not None
            assert member.role == membership.role
            assert (scope.path, scope.owner) == (membership.path, membership.owner)
            roles = {each.person: each.role for each in table.query(Member, scope.scope).records}
            assert roles[scope.owner] == "admin"


def _change(event: str, actor: Someone, other: Someone, path: str, role: Role) -> None:
    table = actor.table
    match event:
        case "invite":
            _join(actor, other, path, role)
        case "role":
            set_role(table, actor.access, path, other.id, role)
        case "remove":
            remove(table, actor.access, path, other.id)
        case "leave":
            leave(table, actor.access, path)
        case "hand over":
            hand_over(table, actor.access, path, other.id)
        case _:
            rename(table, actor.access, path, f"name {role}")


EVENTS = ("invite", "role", "remove", "leave", "hand over", "rename")
PEOPLE = st.integers(0, 2)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(EVENTS), PEOPLE, PEOPLE, st.sampled_from(ROLES)), max_size=12
    )
)
def test_any_sequence_of_changes_keeps_both_sides_in_step(
    sqlite_table: SqliteTable, events: list[tuple[str, int, int, Role]]
):
    people = _people(sqlite_table, ManualClock(), 3)
    path = _team(people[0])
    for event, by, to, role in events:
        with suppress(Refusal):
            _change(event, people[by], people[to], path, role)
        _consistent(sqlite_table, people)
