"""From hint to project: first use makes it, what names it is remembered, equal names stay apart."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.clock import ManualClock
from tests.contract.scopes.conftest import Someone
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.table import Table
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.model import Member, Scope, ScopePath

SSH = "git@github.com:acme/api.git"
HTTPS = "https://github.com/acme/api"
PATH = "/home/ada/src/api"


def _refusal(call: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        call()
    return refused.value


def test_the_first_write_makes_the_project_whole(table: Table, ada: Someone):
    path = ada.writes(SSH)
    assert path == ada.path("api")
    membership = ada.access.by_path[path]
    assert membership.role == "admin"
    entry = table.get(ScopePath, path)
    assert entry is not None
    assert entry.scope == membership.scope
    scope = table.get(Scope, membership.scope)
    assert scope is not None
    assert (scope.path, scope.owner, scope.title) == (path, ada.id, "api")
    assert table.get(Member, membership.scope, ada.id) == Member(scope.scope, ada.id, "admin")


def test_a_read_makes_and_links_nothing(ada: Someone):
    before = ada.access
    assert ada.reads(SSH) is None
    assert ada.reads("/") is None
    assert ada.access == before
    ada.writes(SSH)
    linked = ada.access
    assert ada.reads(PATH) == ada.path("api")
    assert ada.access == linked


@pytest.mark.parametrize(
    "order",
    [
        (SSH, HTTPS, PATH, "api"),
        (PATH, SSH, "api", HTTPS),
        ("api", PATH, HTTPS, SSH),
        ("API", HTTPS, "C:\\Users\\ada\\api", SSH),
    ],
)
def test_remote_path_and_name_reach_one_project_in_any_order(ada: Someone, order: tuple[str, ...]):
    for hint in order:
        assert ada.writes(hint) == ada.path("api")
    for hint in order:
        assert ada.reads(hint) == ada.path("api")


def test_two_repositories_of_one_name_stay_apart(ada: Someone):
    one, other = "git@github.com:acme/web.git", "git@github.com:globex/web.git"
    assert ada.writes(one) == ada.path("web")
    assert ada.writes(other) == ada.path("web-2")
    assert ada.reads(one) == ada.path("web")
    assert ada.reads(other) == ada.path("web-2")
    assert ada.reads("web-2") == ada.path("web-2")


def test_two_folders_of_one_name_stay_apart(ada: Someone):
    assert ada.writes("/src/a/web") == ada.path("web")
    assert ada.writes("/src/b/web") == ada.path("web-2")
    assert ada.reads("/src/a/web") == ada.path("web")
    assert ada.reads("/src/c/web") is None


def test_a_folder_keeps_its_project_when_it_gets_a_remote_and_another_of_its_name(ada: Someone):
    project = ada.writes("no remote\n/src/noremote")
    moved = ["git@example.org:x/y.git", "https://example.com/x/y", "git@example.net:z/noremote"]
    assert project == ada.path("noremote")
    assert ada.reads(f"{moved[0]}\n/src/noremote") == project
    assert ada.writes(f"{moved[0]}\n/src/noremote") == project
    assert ada.reads(moved[0]) == project
    assert ada.writes(f"{moved[2]}\n/src/noremote") == project
    # Of another name it may be another repository in the same place.
    assert ada.reads(f"{moved[1]}\n/src/noremote") is None
    assert ada.writes(f"{moved[1]}\n/src/noremote") == ada.path("y")
    assert ada.reads("no remote\n/src/noremote") == project


def test_a_checkout_of_a_known_remote_is_known_by_its_place_too(ada: Someone):
    project = ada.writes("git@github.com:acme/web.git")
    assert ada.writes("https://github.com/acme/web\n/src/work") == project
    assert ada.reads("/src/work") == project
    assert ada.writes("no remote\n/src/work") == project


@pytest.mark.parametrize("first", ["git@github.com:acme/web.git", "git@github.com:a/web\n/src/a"])
def test_a_repository_without_a_remote_is_none_that_has_one(ada: Someone, first: str):
    assert ada.writes(first) == ada.path("web")
    assert ada.reads("no remote\n/src/b/web") is None
    assert ada.writes("no remote\n/src/b/web") == ada.path("web-2")
    assert ada.writes(first) == ada.path("web")


def test_a_remote_somewhere_else_on_the_machine_is_another_repository(ada: Someone):
    assert ada.writes("no remote\n/src/a/web") == ada.path("web")
    assert ada.writes("git@github.com:q/web.git\n/src/b/web") == ada.path("web-2")
    first = "git@github.com:acme/web.git\n/src/a/web"
    assert ada.writes(first) == ada.path("web")
    assert ada.writes("git@github.com:acme/web.git\n/src/c/web", machine="laptop") == ada.path(
        "web"
    )


def test_on_another_machine_it_may_be_the_same_and_that_is_said(ada: Someone):
    project = ada.writes("no remote\n/src/web")
    there = "git@github.com:acme/web.git\n/home/web"
    session = ada.enters(there, machine="laptop")
    assert (session.project and session.project.path, session.newly) == (project, "taken")
    assert "by its name alone" in session.line()
    assert ada.enters(there, machine="laptop", write=True).newly == "taken"
    assert ada.enters(there, machine="laptop").newly is None


def test_a_project_that_a_call_makes_is_said_to_be_new(ada: Someone):
    assert ada.enters(SSH).newly is None
    made = ada.enters(SSH, write=True)
    assert (made.newly, "made" in made.line()) == ("made", True)
    assert ada.enters(SSH, write=True).newly is None
    assert ada.enters("api", write=True).newly is None


@pytest.mark.parametrize(
    "third", ["no remote\n/src/c/web", "git@github.com:c/web.git", "git@github.com:c/web\n/src/c"]
)
def test_what_may_be_several_projects_and_can_say_no_more_gets_its_own(ada: Someone, third: str):
    for folder in ("a", "b"):
        ada.writes(f"no remote\n/src/{folder}/web")
    assert ada.reads(third, machine="laptop") is None
    assert ada.writes(third, machine="laptop") == ada.path("web-3")


def test_a_name_of_two_projects_is_refused_on_a_write_and_absent_on_a_read(ada: Someone):
    ada.writes("git@github.com:acme/web.git")
    ada.writes("git@github.com:globex/web.git")
    assert ada.reads("web") is None
    refusal = _refusal(lambda: ada.writes("web"))
    assert refusal.code is ErrorCode.VALIDATION_FAILED
    assert refusal.message.startswith("project_hint_unresolvable:")
    candidates = [ada.path("web"), ada.path("web-2")]
    assert refusal.details == {"candidates": candidates}
    for path in candidates:
        assert path in refusal.message
        assert ada.writes(scope=path) == path


def test_a_path_is_remembered_for_its_machine(ada: Someone):
    ada.writes("git@github.com:acme/web.git")
    ada.writes("/src/web", machine="desk")
    assert ada.writes("/src/web", machine="laptop") == ada.path("web")
    assert ada.writes("/other/web", machine="laptop") == ada.path("web-2")
    assert ada.reads("/src/web", machine="desk") == ada.path("web")


@pytest.mark.parametrize("nothing", ["/", ".", "~", "  ", "---", "https://github.com/"])
def test_a_hint_that_names_nothing_is_refused_on_a_write(ada: Someone, nothing: str):
    before = ada.access
    refusal = _refusal(lambda: ada.writes(nothing))
    assert refusal.code is ErrorCode.VALIDATION_FAILED
    assert refusal.message.startswith("project_hint_unresolvable:")
    assert ada.access == before


def test_a_project_is_reached_by_its_path_too(ada: Someone):
    ada.writes(SSH)
    assert ada.reads(ada.path("api")) == ada.path("api")
    assert ada.writes(ada.path("api")) == ada.path("api")


def test_a_path_that_is_no_project_of_ones_own_is_no_hint(ada: Someone, ben: Someone):
    before = ada.access
    for path in (ben.writes(SSH), ben.path("unheard"), ada.path("unheard"), f"user.{ada.id}"):
        assert ada.reads(path) is None
        refusal = _refusal(lambda path=path: ada.writes(path))
        assert refusal.message.startswith("project_hint_unresolvable:")
    assert ada.access == before


def test_an_unknown_path_under_ones_own_id_is_made_on_a_write(ada: Someone):
    assert ada.writes(scope=ada.path("notes")) == ada.path("notes")
    assert ada.writes("notes") == ada.path("notes")
    assert ada.writes(scope=ada.path("notes")) == ada.path("notes")


def test_any_other_unknown_path_is_not_found(ada: Someone, ben: Someone):
    ben.writes("secret")
    bodies = [
        _refusal(lambda path=path: ada.writes(scope=path)).body()
        for path in (
            ben.path("secret"),
            ben.path("nothing"),
            f"user.{ben.id}",
            f"team.{ada.id}.web",
            ada.path("Not A Slug"),
            "web",
            "*",
        )
    ]
    assert all(body == bodies[0] for body in bodies)
    assert bodies[0]["error"]["code"] == "not_found"


def test_equal_hints_of_two_people_never_meet(ada: Someone, ben: Someone):
    for hint in (SSH, PATH, "api"):
        assert ada.writes(hint) == ada.path("api")
        assert ben.writes(hint) == ben.path("api")


def test_the_oldest_paths_of_a_project_are_forgotten_and_its_remote_never(
    ada: Someone, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("zero_memory.scopes.projects.PATHS", 3)
    ada.writes(SSH)
    for number in range(4):
        ada.writes(PATH, machine=f"runner-{number}")
    known = ada.access.by_path[ada.path("api")].known_by
    assert known[0] == "remote:github.com/acme/api"
    assert len(known) == 1 + 3
    assert ada.reads(SSH) == ada.path("api")


def test_a_remote_takes_no_room_from_paths(ada: Someone, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("zero_memory.scopes.projects.PATHS", 2)
    for machine in ("desk", "runner"):
        ada.writes(PATH, machine=machine)
    ada.writes(SSH)
    known = ada.access.by_path[ada.path("api")].known_by
    assert [each.partition(":")[0] for each in known] == ["path", "path", "remote"]


def test_a_person_has_room_for_so_many_scopes(ada: Someone, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("zero_memory.scopes.founding.MEMBERSHIPS", 3)
    ada.writes("one")
    assert _refusal(lambda: ada.writes("two")).code is ErrorCode.FORBIDDEN
    assert ada.writes("one") == ada.path("one")


def _at_once(calls: list[Callable[[], str]]) -> list[str]:
    barrier = Barrier(len(calls))

    def run(call: Callable[[], str]) -> str:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


@pytest.mark.parametrize("hint", [SSH, PATH, "api"])
def test_racing_makers_end_with_one_project(
    sqlite_table: SqliteTable, clock: ManualClock, hint: str
):
    ada = Someone(sqlite_table, clock, make_person(sqlite_table, clock).person)
    paths = _at_once([lambda: ada.writes(hint)] * 8)
    assert set(paths) == {ada.path("api")}
    assert [each.kind for each in ada.access.memberships].count("project") == 1


def test_racing_repositories_of_one_name_get_a_project_each(
    sqlite_table: SqliteTable, clock: ManualClock
):
    ada = Someone(sqlite_table, clock, make_person(sqlite_table, clock).person)
    remotes = [f"git@github.com:owner-{number}/web.git" for number in range(4)]
    paths = _at_once([lambda remote=remote: ada.writes(remote) for remote in remotes * 2])
    assert paths[:4] == paths[4:]
    assert len(set(paths)) == 4
    assert [ada.reads(remote) for remote in remotes] == paths[:4]


def test_of_racing_remotes_one_alone_becomes_that_of_the_project(
    sqlite_table: SqliteTable, clock: ManualClock
):
    ada = Someone(sqlite_table, clock, make_person(sqlite_table, clock).person)
    ada.writes("web")
    paths = _at_once(
        [lambda n=number: ada.writes(f"git@github.com:owner-{n}/web.git") for number in range(4)]
    )
    assert len(set(paths)) == 4
    holders = [each for each in ada.access.memberships if each.known_by]
    assert all(len(each.known_by) == 1 for each in holders)
