"""Sharing: what it lets whom read, where it is found, and that nothing stays when it ends."""

from collections.abc import Callable

import pytest

from tests.contract.memory.people import Someone, refused
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.model import SharedMemory
from zero_memory.memory.sharing import MAX_SHARED_TO
from zero_memory.ports.table import Table
from zero_memory.scopes.members import leave, make_team, set_role
from zero_memory.scopes.model import Membership
from zero_memory.tools import (
    describe_scope,
    entities,
    erase_memory,
    forget,
    list_memories,
    memory_history,
    move_memories,
    recall,
    restore_memory,
    share,
    unshare,
)


@pytest.fixture
def team(ada: Someone, ben: Someone) -> Membership:
    """Ada's team, in which Ben reads."""
    made = make_team(ada.table, ada.clock, ada.access, "ops")
    ada.lets_in(ben, made, "reader")
    return made


@pytest.fixture
def shared(ada: Someone, team: Membership) -> str:
    """A memory of Ada's private root that she shared to the team."""
    memory_id = ada.knows("The pager rings at night", entities=("Pager",))
    ada.calls(share.TOOL, memory_id=memory_id, scope=team.path)
    return memory_id


def found(someone: Someone, team: Membership) -> list[set[str]]:
    """What one who reads the team finds there, by every leg."""
    listed = someone.calls(list_memories.TOOL, scopes=[team.path]).memories
    by_entity = someone.calls(list_memories.TOOL, scopes=[team.path], entity="pager").memories
    hits = someone.calls(recall.TOOL, query="when does the pager ring", scopes=[team.path]).hits
    nodes = someone.calls(entities.TOOL, query="pager", scopes=[team.path]).nodes
    newest = someone.calls(entities.TOOL, scopes=[team.path]).nodes
    return [
        {each.id for each in listed},
        {each.id for each in by_entity},
        {each.id for each in hits},
        {memory_id for node in nodes for memory_id in node.memory_ids},
        {memory_id for node in newest for memory_id in node.memory_ids},
    ]


def test_readers_find_what_is_shared_to_their_team_by_every_leg(
    ben: Someone, team: Membership, shared: str
) -> None:
    assert found(ben, team) == [{shared}] * 5
    counts = ben.calls(describe_scope.TOOL, scope=team.path).scopes[0].counts
    assert counts == {"fact": "1"}


def test_readers_see_that_it_is_shared_and_not_where_it_lives(
    ada: Someone, ben: Someone, team: Membership, shared: str
) -> None:
    (whole,) = ben.calls(recall.TOOL, ids=[shared]).memories
    assert (whole.scope, whole.shared, whole.author) == (team.path, True, ada.principal)
    assert ada.scope.path not in ben.calls(memory_history.TOOL, memory_id=shared).model_dump_json()
    (own,) = ada.calls(recall.TOOL, ids=[shared]).memories
    assert (own.scope, own.shared, own.shared_to) == (ada.scope.path, None, [team.path])


def test_readers_change_nothing(ben: Someone, team: Membership, shared: str) -> None:
    for tool, arguments in (
        (forget.TOOL, {"reason": "no"}),
        (share.TOOL, {"scope": team.path}),
        (unshare.TOOL, {"scope": team.path}),
        (unshare.TOOL, {}),
    ):
        with pytest.raises(Refusal) as refusal:
            ben.calls(tool, memory_id=shared, **arguments)
        assert refused(refusal) == "forbidden"


@pytest.mark.parametrize("end", ["unshare", "unshare from all", "forget", "leave", "erase", "undo"])
def test_nothing_stays_visible(
    ada: Someone, ben: Someone, team: Membership, shared: str, end: str
) -> None:
    match end:
        case "unshare":
            ada.calls(unshare.TOOL, memory_id=shared, scope=team.path)
        case "unshare from all":
            ada.calls(unshare.TOOL, memory_id=shared)
        case "forget":
            ada.forgets(shared)
        case "leave":
            leave(ben.table, ben.access, team.path)
        case "erase":
            ada.calls(erase_memory.TOOL, memory_id=shared, confirm=shared)
        case _:
            (record,) = [each for each in ada.audits(shared) if each.action == "share"]
            ada.calls(restore_memory.TOOL, memory_id=shared, audit_id=record.audit_id)
    if end == "leave":
        with pytest.raises(Refusal):
            found(ben, team)
    else:
        assert found(ben, team) == [set()] * 5
        assert ben.calls(describe_scope.TOOL, scope=team.path).scopes[0].counts == {}
    whole = ben.calls(recall.TOOL, ids=[shared]).memories
    assert [each.live for each in whole] == ([False] if end == "forget" else [])


def test_of_an_ended_sharing_nothing_is_left_in_the_scope(
    ada: Someone, table: Table, team: Membership, shared: str
) -> None:
    assert table.query(SharedMemory, team.scope).records
    ada.calls(unshare.TOOL, memory_id=shared)
    assert not table.query(SharedMemory, team.scope).records


def test_an_undone_unshare_shares_again(
    ada: Someone, ben: Someone, team: Membership, shared: str
) -> None:
    ended = ada.calls(unshare.TOOL, memory_id=shared)
    ada.calls(restore_memory.TOOL, memory_id=shared, audit_id=ended.audit_id)
    assert found(ben, team) == [{shared}] * 5


def test_nobody_shares_again_where_they_do_not_write(
    ada: Someone, arrive: Callable[[], Someone]
) -> None:
    eve = arrive()
    team = make_team(eve.table, eve.clock, eve.access, "theirs")
    eve.lets_in(ada, team, "writer")
    memory_id = ada.knows("The pager rings at night")
    ada.calls(share.TOOL, memory_id=memory_id, scope=team.path)
    ended = ada.calls(unshare.TOOL, memory_id=memory_id)
    set_role(eve.table, eve.access, team.path, ada.person, "reader")
    with pytest.raises(Refusal) as refusal:
        ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=ended.audit_id)
    assert refused(refusal) == "forbidden"


def test_a_memory_that_moves_to_where_it_was_shared_lives_there(
    ada: Someone, ben: Someone, team: Membership, shared: str
) -> None:
    moved = ada.calls(move_memories.TOOL, ids=[shared], scope=team.path)
    assert not moved.failed
    assert ada.meta(shared).shared_to == ()
    assert found(ben, team) == [{shared}] * 5
    undo = moved.moved[0].audit_id
    ada.calls(restore_memory.TOOL, memory_id=shared, audit_id=undo)
    assert ada.meta(shared).shared_to == (team.scope,)
    assert found(ben, team) == [{shared}] * 5


def test_what_was_unshared_from_where_it_lives_now_is_not_shared_there_again(
    ada: Someone, ben: Someone, team: Membership, shared: str
) -> None:
    other = make_team(ada.table, ada.clock, ada.access, "other")
    ada.calls(share.TOOL, memory_id=shared, scope=other.path)
    ended = ada.calls(unshare.TOOL, memory_id=shared)
    moved = ada.calls(move_memories.TOOL, ids=[shared], scope=team.path).moved[0]

    again = ada.calls(restore_memory.TOOL, memory_id=shared, audit_id=ended.audit_id)

    assert ada.meta(shared).shared_to == (other.scope,)
    assert found(ben, team) == found(ada, other) == [{shared}] * 5
    # Each record is still undone by its id, and then all is as it was.
    for record in (again, moved, ended):
        ada.calls(restore_memory.TOOL, memory_id=shared, audit_id=record.audit_id)
    meta = ada.meta(shared)
    assert (meta.scope, set(meta.shared_to)) == (ada.scope.scope, {team.scope, other.scope})
    assert found(ben, team) == found(ada, other) == [{shared}] * 5


def test_what_moves_back_to_where_it_was_shared_is_not_shared_there(
    ada: Someone, ben: Someone, team: Membership
) -> None:
    memory_id = ada.at(team).knows("The pager rings at night", entities=("Pager",))
    moved = ada.calls(move_memories.TOOL, ids=[memory_id], scope=ada.scope.path).moved[0]
    ada.calls(share.TOOL, memory_id=memory_id, scope=team.path)

    back = ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=moved.audit_id)

    meta = ada.meta(memory_id)
    assert (meta.scope, meta.shared_to) == (team.scope, ())
    assert not ada.table.query(SharedMemory, team.scope).records
    assert found(ben, team) == [{memory_id}] * 5
    ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=back.audit_id)
    meta = ada.meta(memory_id)
    assert (meta.scope, meta.shared_to) == (ada.scope.scope, (team.scope,))
    assert found(ben, team) == [{memory_id}] * 5


def test_an_admin_of_the_scope_may_end_what_is_shared_to_it(
    ben: Someone, arrive: Callable[[], Someone], shared: str
) -> None:
    eve = arrive()
    team = make_team(ben.table, ben.clock, ben.access, "bens")
    ben.lets_in(eve, team, "writer")
    memory_id = eve.knows("The pager rings at noon")
    eve.calls(share.TOOL, memory_id=memory_id, scope=team.path)
    ended = ben.calls(unshare.TOOL, memory_id=memory_id, scope=team.path)
    assert (ended.changed, ended.shared_to, ended.shared_elsewhere) == (True, [], 0)
    assert ben.calls(recall.TOOL, ids=[memory_id]).missing == [memory_id]


def test_sharing_again_or_at_home_changes_nothing(
    ada: Someone, team: Membership, shared: str
) -> None:
    assert not ada.calls(share.TOOL, memory_id=shared, scope=team.path).changed
    at_home = ada.at(team).knows("Written in the team")
    assert not ada.calls(share.TOOL, memory_id=at_home, scope=team.path).changed
    ada.calls(unshare.TOOL, memory_id=shared)
    assert not ada.calls(unshare.TOOL, memory_id=shared).changed


@pytest.mark.parametrize(
    ("scope", "code"),
    [("core", "validation_failed"), ("personal", "validation_failed"), ("team.x.y", "not_found")],
)
def test_only_a_project_or_team_of_ones_own_is_shared_to(
    ada: Someone, scope: str, code: str
) -> None:
    memory_id = ada.knows("The pager rings at night")
    with pytest.raises(Refusal) as refusal:
        ada.calls(share.TOOL, memory_id=memory_id, scope=scope)
    assert refused(refusal) == code


def test_what_no_longer_holds_is_not_shared(ada: Someone, team: Membership) -> None:
    memory_id = ada.knows("The pager rings at night")
    ada.forgets(memory_id)
    with pytest.raises(Refusal) as refusal:
        ada.calls(share.TOOL, memory_id=memory_id, scope=team.path)
    assert refused(refusal) == "conflict"


@pytest.mark.parametrize("table", ["sqlite"], indirect=True)  # both homes check the same limits
def test_a_memory_of_the_most_entities_is_shared_to_the_most_scopes_and_still_moves(
    ada: Someone,
) -> None:
    names = tuple(f"Entity {number}" for number in range(32))
    memory_id = ada.knows("It is about much", entities=names)
    teams = [
        make_team(ada.table, ada.clock, ada.access, f"team {number}")
        for number in range(MAX_SHARED_TO + 1)
    ]
    for team in teams[:-1]:
        ada.calls(share.TOOL, memory_id=memory_id, scope=team.path)
    with pytest.raises(Refusal) as refusal:
        ada.calls(share.TOOL, memory_id=memory_id, scope=teams[-1].path)
    assert refused(refusal) == "validation_failed"
    moved = ada.calls(move_memories.TOOL, ids=[memory_id], scope=teams[0].path)
    assert not moved.failed
    ended = ada.calls(unshare.TOOL, memory_id=memory_id)
    ada.calls(restore_memory.TOOL, memory_id=memory_id, audit_id=ended.audit_id)
    assert len(ada.meta(memory_id).shared_to) == MAX_SHARED_TO - 1
