"""Where a call stands: what attaches, for how long, and where reads and writes then go."""

from collections.abc import Callable, Sequence

import pytest

from tests.clock import ManualClock
from tests.contract.scopes.conftest import Someone, Where
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.table import Action, Put, Table
from zero_memory.scopes.members import accept, invite, remove
from zero_memory.scopes.model import Attachment
from zero_memory.scopes.session import read_set

WEB = "git@github.com:acme/web.git"
API = "git@github.com:acme/api.git"


@pytest.fixture
def ada(arrive: Callable[[], Someone]) -> Someone:
    """Has two projects, `web` and `api`."""
    ada = arrive()
    ada.writes(WEB)
    ada.writes(API)
    return ada


@pytest.fixture
def written(table: Table, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The records that are written from here on."""
    records: list[object] = []
    transact = table.transact

    def recording(actions: Sequence[Action]) -> None:
        records.extend(action.record for action in actions if isinstance(action, Put))
        transact(actions)

    monkeypatch.setattr(table, "transact", recording)
    return records


def _refusal(call: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as refused:
        call()
    return refused.value


# Attachment


def test_the_first_hint_attaches_and_a_later_one_pins_that_call_alone(ada: Someone):
    first = ada.enters(WEB, conversation="c1")
    assert first.attached == first.project == ada.access.by_path[ada.path("web")]
    second = ada.enters(API, thread=first.thread)
    assert (second.attached, second.pinned) == (first.attached, ada.access.by_path[ada.path("api")])
    assert ada.writes(thread=first.thread) == ada.path("web")
    assert ada.reads(thread=first.thread) == ada.path("web")


def test_a_write_follows_its_hint_and_moves_nothing(ada: Someone):
    thread = ada.enters(WEB, conversation="c1").thread
    assert ada.writes(API, thread=thread) == ada.path("api")
    assert ada.writes(thread=thread) == ada.path("web")


def test_a_hint_that_reaches_nothing_attaches_nothing(ada: Someone):
    thread = ada.enters("git@github.com:acme/unheard.git", conversation="c1").thread
    assert ada.reads(thread=thread) is None
    assert ada.reads(API, thread=thread) == ada.path("api")
    assert ada.reads(thread=thread) == ada.path("api")


def test_minting_a_thread_writes_nothing(ada: Someone, written: list[object]):
    minted = ada.enters(conversation="c1").thread
    assert ada.enters(conversation="c1").thread == minted
    assert ada.enters().thread != ada.enters().thread
    ada.enters(WEB)
    assert written == []


def test_the_thread_of_a_conversation_is_the_same_for_good(ada: Someone, clock: ManualClock):
    minted = ada.enters(WEB, conversation="c1").thread
    clock.advance(hours=1_000)
    later = ada.enters(conversation="c1")
    assert later.thread == minted
    assert later.attached is None


def test_conversations_and_people_have_threads_of_their_own(ada: Someone, ben: Someone):
    threads = [
        ada.enters(conversation="c1").thread,
        ada.enters(conversation="c2").thread,
        ben.enters(conversation="c1").thread,
    ]
    assert len(set(threads)) == 3


def test_another_accounts_thread_leads_nowhere(ada: Someone, ben: Someone):
    minted = ada.enters(WEB, conversation="c1").thread
    fresh = ada.enters(WEB).thread
    ben.writes(WEB)
    for thread in (minted, fresh):
        assert ben.reads(thread=thread) is None
        assert ben.reads(WEB, thread=thread) == ben.path("web")
        assert ben.reads(thread=thread) == ben.path("web")
        assert ada.reads(thread=thread) == ada.path("web")


def test_a_thread_lapses_after_24_hours_and_can_be_attached_anew(ada: Someone, clock: ManualClock):
    thread = ada.enters(WEB, conversation="c1").thread
    clock.advance(hours=24)
    assert ada.reads(thread=thread) is None
    assert ada.reads(API, thread=thread) == ada.path("api")
    assert ada.reads(thread=thread) == ada.path("api")


@pytest.mark.parametrize("conversation", [Where(conversation="c1"), Where()])
def test_use_renews_a_thread_at_most_hourly(
    ada: Someone, clock: ManualClock, written: list[object], conversation: Where
):
    thread = ada.enters(WEB, **conversation).thread
    written.clear()
    clock.advance(seconds=3_599)
    ada.reads(thread=thread)
    assert written == []
    for _ in range(4):
        clock.advance(hours=23)
        written.clear()
        assert ada.reads(thread=thread) == ada.path("web")
        assert len(written) == 1
    clock.advance(hours=24)
    assert ada.reads(thread=thread) is None


def test_a_fresh_thread_carries_its_project_for_24_hours(ada: Someone, clock: ManualClock):
    thread = ada.enters(WEB).thread
    assert ada.writes(thread=thread) == ada.path("web")
    clock.advance(hours=24)
    assert ada.reads(thread=thread) is None


def test_a_fresh_thread_leads_nobody_else_to_its_project(ada: Someone, ben: Someone):
    thread = ada.enters(WEB).thread
    code = invite(ada.table, ada.clock, ada.access, ada.path("web"), "reader")
    accept(ben.table, ben.clock, ben.access, code)
    assert ben.reads(thread=thread) is None
    assert ada.reads(thread=thread) == ada.path("web")


@pytest.mark.parametrize("thread", ["", "thr_", "thr_x", "nonsense", "thr_" + "0" * 52 + "0"])
def test_what_is_no_thread_is_as_if_absent(ada: Someone, thread: str):
    session = ada.enters(thread=thread)
    assert session.attached is None
    assert session.conversation is None
    assert session.thread != thread


def test_a_thread_from_the_future_carries_nothing(ada: Someone, clock: ManualClock):
    clock.advance(hours=48)
    thread = ada.enters(WEB).thread
    clock.advance(hours=-48)
    assert ada.reads(thread=thread) is None


def test_an_unknown_thread_is_attached_like_a_new_one(ada: Someone):
    thread = "thr_" + "0" * 26
    assert ada.reads(thread=thread) is None
    assert ada.reads(WEB, thread=thread) == ada.path("web")
    assert ada.reads(thread=thread) == ada.path("web")


def test_a_transport_session_remembers_its_project(ada: Someone, clock: ManualClock):
    assert ada.reads(transport="s1") is None
    assert ada.reads(WEB, transport="s1") == ada.path("web")
    assert ada.writes(transport="s1") == ada.path("web")
    assert ada.reads(transport="s2") is None
    clock.advance(hours=24)
    assert ada.reads(transport="s1") is None


def test_a_transport_session_belongs_to_its_principal(ada: Someone, ben: Someone):
    ada.enters(WEB, transport="s1")
    ben.writes(API)
    assert ben.reads(transport="s1") is None
    assert ben.reads(API, transport="s1") == ben.path("api")
    assert ada.reads(transport="s1") == ada.path("web")


def test_the_thread_of_a_transport_session_leads_to_its_project(ada: Someone):
    thread = ada.enters(WEB, transport="s1").thread
    assert ada.enters(transport="s1").thread == thread
    assert ada.reads(thread=thread) == ada.path("web")


def test_scope_hint_thread_and_transport_session_go_in_this_order(ada: Someone):
    ada.writes("docs")
    ada.writes("site")
    thread = ada.enters(WEB, conversation="c1").thread
    ada.enters(API, transport="s1")
    where = Where(thread=thread, transport="s1")
    assert ada.writes("docs", scope=ada.path("site"), **where) == ada.path("site")
    assert ada.writes("docs", **where) == ada.path("docs")
    assert ada.writes(**where) == ada.path("web")
    assert ada.writes(transport="s1") == ada.path("api")
    unattached = ada.enters(conversation="c2").thread
    assert ada.writes(thread=unattached, transport="s1") == ada.path("api")


def test_without_any_target_a_write_is_refused(ada: Someone):
    refusal = _refusal(ada.writes)
    assert refusal.code is ErrorCode.VALIDATION_FAILED
    assert refusal.message.startswith("scope_target_required:")


def test_a_thread_outlives_the_membership_of_its_project_as_nothing(ada: Someone, ben: Someone):
    path = ada.path("web")
    accept(
        ben.table, ben.clock, ben.access, invite(ada.table, ada.clock, ada.access, path, "writer")
    )
    thread = ben.enters(WEB, conversation="c1").thread
    assert ben.reads(thread=thread) == path
    remove(ada.table, ada.access, path, ben.id)
    assert ben.reads(thread=thread) is None
    assert ben.writes(WEB, thread=thread) == ben.path("web")
    assert ben.writes(thread=thread) == ben.path("web")


def test_the_first_of_racing_hints_attaches(
    ada: Someone, table: Table, monkeypatch: pytest.MonkeyPatch
):
    transact = table.transact

    def beaten(actions: Sequence[Action]) -> None:
        monkeypatch.setattr(table, "transact", transact)
        ada.enters(API, conversation="c1")
        transact(actions)

    monkeypatch.setattr(table, "transact", beaten)
    session = ada.enters(WEB, conversation="c1")
    assert session.attached == ada.access.by_path[ada.path("api")]
    assert session.pinned == ada.access.by_path[ada.path("web")]


def test_a_row_keeps_no_thread_of_anybody_else(ada: Someone, table: Table):
    thread = ada.enters(WEB, conversation="c1").thread
    row = table.get(Attachment, f"{ada.id}#{thread}")
    assert row is not None
    assert row.person == ada.id
    assert table.get(Attachment, thread) is None


def test_provenance_names_a_conversation_and_a_hint_alone_names_none(ada: Someone):
    session = ada.enters(WEB, conversation="c1")
    assert session.conversation == f"{ada.id}#{session.thread}"
    assert ada.enters(thread=session.thread).conversation == session.conversation
    assert ada.enters(WEB).conversation is None
    assert ada.enters(WEB, transport="s1").conversation is None


def test_the_session_says_where_it_stands(ada: Someone):
    assert "project_hint" in ada.enters().line()
    thread = ada.enters(WEB, conversation="c1").thread
    assert ada.enters(thread=thread).line() == f"Attached to {ada.path('web')}."
    line = ada.enters(API, thread=thread).line()
    assert ada.path("web") in line
    assert ada.path("api") in line
    astray = ada.enters("git@example.com:acme/nowhere.git", thread=thread).line()
    assert ada.path("web") in astray
    assert "No project is known" in astray


# Reads


def _read(someone: Someone, scopes: list[str] | None, hint: str | None = None, **how: bool):
    reads = read_set(someone.access, someone.enters(hint), scopes, **how)
    return set(reads.paths.values())


def test_a_read_covers_the_project_the_root_and_core(ada: Someone):
    root = f"user.{ada.id}"
    assert _read(ada, None, WEB) == {ada.path("web"), root, f"{root}.core"}
    assert _read(ada, None, WEB, briefing=True) == _read(ada, None, WEB)


def test_without_a_project_a_read_widens_and_a_briefing_narrows(ada: Someone):
    root = f"user.{ada.id}"
    everything = {root, f"{root}.core", ada.path("web"), ada.path("api")}
    assert _read(ada, None) == everything
    assert _read(ada, None, briefing=True) == {root, f"{root}.core"}
    assert _read(ada, ["*"], WEB) == everything
    assert _read(ada, ["core", "*"], WEB, briefing=True) == everything


def test_a_read_of_named_scopes_covers_these_alone(ada: Someone):
    assert _read(ada, ["core", ada.path("api")], WEB) == {f"user.{ada.id}.core", ada.path("api")}
    assert _read(ada, ["personal", "personal"]) == {f"user.{ada.id}"}


def test_a_read_of_a_foreign_scope_is_not_found(ada: Someone, ben: Someone):
    bodies = [
        _refusal(lambda path=path: _read(ben, ["core", path])).body()
        for path in (ada.path("web"), f"user.{ada.id}", "proj.nobody.web")
    ]
    assert all(body == bodies[0] for body in bodies)
    assert bodies[0]["error"]["code"] == "not_found"


# Core and personal


def _core(someone: Someone) -> str:
    return f"user.{someone.id}.core"


def test_outside_a_project_core_and_personal_are_as_good_as_any(ada: Someone):
    for kind in ("fact", "decision", "preference", "task"):
        for scope, path in (("core", _core(ada)), ("personal", f"user.{ada.id}")):
            for name in (scope, path):
                target = ada.target(scope=name, kind=kind)
                assert target.scope.path == path
                assert not target.routed_to_project


def test_inside_a_project_core_and_personal_are_requests(ada: Someone):
    paths = {"core": _core(ada), "personal": f"user.{ada.id}", "project": ada.path("web")}
    for scope, kind, verdict, goes in (
        ("core", "fact", True, "core"),
        ("core", "reference", True, "core"),
        ("core", "gotcha", True, "core"),
        ("core", "fact", False, "project"),
        ("core", "fact", None, "project"),
        ("core", "preference", True, "project"),
        ("core", "decision", True, "project"),
        ("personal", "fact", True, "personal"),
        ("personal", "fact", None, "project"),
        ("personal", "preference", None, "personal"),
        ("personal", "preference", False, "personal"),
        ("personal", "convention", True, "project"),
    ):
        judge = None if verdict is None else lambda verdict=verdict: verdict
        for name in (scope, paths[scope]):
            target = ada.target(WEB, scope=name, kind=kind, portable=judge)
            assert (name, kind, target.scope.path) == (name, kind, paths[goes])
            assert target.routed_to_project == (goes == "project")
            assert bool(target.reason) == target.routed_to_project


def test_a_reader_does_not_write(ada: Someone, ben: Someone):
    path = ada.path("web")
    accept(
        ben.table, ben.clock, ben.access, invite(ada.table, ada.clock, ada.access, path, "reader")
    )
    assert ben.reads(WEB) == path
    assert _refusal(lambda: ben.writes(WEB)).code is ErrorCode.FORBIDDEN
    assert _refusal(lambda: ben.writes(scope=path)).code is ErrorCode.FORBIDDEN


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("git@example.com:acme/nowhere.git", "the first memory with it makes one"),
        ("web", "pass the git remote, or one of them as scope"),
        ("/", "pass another"),
    ],
)
def test_a_hint_that_reaches_nothing_is_answered_for_what_it_is(ada: Someone, hint: str, said: str):
    for owner in ("acme", "globex"):
        ada.writes(f"git@example.com:{owner}/web.git")
    line = ada.enters(hint).line(everywhere=True)
    assert line.startswith("No project is attached, so this searched all scopes")
    assert said in line
    assert "pass project_hint" not in line
