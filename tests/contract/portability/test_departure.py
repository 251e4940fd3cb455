"""Leaving for good: what is gone, what stays, and under whose name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, refused
from tests.contract.portability.carrying import exported, imported
from zero_memory.adapters.files import FileArtifacts
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.entities import register
from zero_memory.memory.model import Meta, SearchRecord
from zero_memory.memory.moving import move
from zero_memory.portability.departure import depart
from zero_memory.ports.artifacts import ArtifactsUnavailable
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import Put, TableUnavailable, ref
from zero_memory.scopes.identity import TokenMemory, authenticate, make_token
from zero_memory.scopes.members import hand_over, make_team
from zero_memory.scopes.model import GRANTS, Person
from zero_memory.scopes.people import FORMER_MEMBER
from zero_memory.tools import delete_account, export_memories, list_memories, recall

WORDS = "unmistakable"


def leaves(who: Someone) -> Any:
    return who.calls(delete_account.TOOL, confirm=who.scope.path)


def everything_in(table: Any) -> str:
    """Every item and view of a SQLite home, as text."""
    with table._reading() as connection:
        rows = [
            *connection.execute("SELECT pk, sk, document FROM items"),
            *connection.execute("SELECT view_pk, view_sk, document FROM views"),
        ]
    return "\n".join(f"{pk} {sk} {bytes(document)!r}" for pk, sk, document in rows)


def test_nothing_of_a_person_stays(sqlite_table: Any, clock: ManualClock):
    from tests.contract.memory.people import arrives

    ada = arrives(sqlite_table, clock)
    person = sqlite_table.get(Person, ada.person)
    token = make_token(sqlite_table, clock, person, label="laptop", grants=GRANTS)
    first = ada.knows(f"{WORDS} one", entities=(WORDS,), talk=None)
    ada.knows(f"{WORDS} two", supersedes=(first,), talk=None)
    shop = ada.at(ada.project("shop"))
    ada.forgets(shop.knows(f"{WORDS} three " * 200, talk=None), f"{WORDS} reason")
    imported(ada, {"~/notes.md": f"{WORDS} notes"}, scope="core")
    make_team(sqlite_table, clock, ada.access, WORDS)
    register(sqlite_table, ada.scope.scope, {f"{WORDS} name": WORDS})  # as a write that failed

    assert leaves(ada).model_dump() == {"done": True, "erased": 4, "remaining": "0"}

    left = everything_in(sqlite_table)
    assert WORDS not in left
    assert ada.person not in left
    with pytest.raises(Refusal) as refusal:
        authenticate(sqlite_table, clock, token, TokenMemory())
    assert refused(refusal) == "unauthorized"
    with pytest.raises(Refusal) as refusal:
        leaves(ada)
    assert refused(refusal) == "unauthorized"


def test_a_search_record_that_cannot_be_read_stops_no_deletion(ada: Someone):
    unreadable: Any = 7
    odd, whole = ada.knows("one", talk=None), ada.knows("two", talk=None)
    ada.table.transact([Put(SearchRecord(ada.meta(odd).scope, odd, unreadable))])
    assert leaves(ada).model_dump() == {"done": True, "erased": 2, "remaining": "0"}
    assert ada.table.get_many([ref(Meta, each) for each in (odd, whole)]) == [None, None]


def test_what_was_written_for_others_stays_without_a_name(ada: Someone, ben: Someone):
    team = ben.project("team")
    ben.lets_in(ada, team, "writer")
    memory_id = ada.at(team).knows("for all")
    assert leaves(ada).done
    (listed,) = ben.calls(list_memories.TOOL).memories
    (whole,) = ben.calls(recall.TOOL, ids=[memory_id]).memories
    assert (listed.author, whole.author) == (FORMER_MEMBER, FORMER_MEMBER)
    assert ada.person not in "".join(exported(ben, "jsonl").values())
    assert ada.person not in {
        each.person for each in ben.table.query(_member(), team.scope).records
    }


def _member() -> Any:
    from zero_memory.scopes.model import Member

    return Member


def test_scopes_that_others_are_in_are_handed_over_first(ada: Someone, ben: Someone):
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    memory_id = ada.at(team).knows("for all")
    with pytest.raises(Refusal) as refusal:
        leaves(ada)
    assert refused(refusal) == "conflict"
    assert refusal.value.details == {"hand_over": [team.path]}
    assert ada.meta(memory_id).live

    hand_over(ada.table, ada.access, team.path, ben.person)
    assert leaves(ada).done
    assert ben.meta(memory_id).live


def test_a_call_does_bounded_work_and_the_next_goes_on(
    ada: Someone, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    for number in range(4):
        ada.knows(f"fact {number}")
        clock.advance(seconds=1)
    unindexed: list[Any] = []
    step = depart(ada.table, clock, caller=ada.caller, until=clock.now(), unindex=unindexed.append)
    assert (len(step.erased), step.done, step.remaining) == (1, False, 3)
    assert ada.table.get(Person, ada.person) is not None
    assert step.erased[0] in unindexed[0]
    assert leaves(ada).erased == 3
    assert ada.table.get(Person, ada.person) is None


class Away:
    """A port that does not answer for as long as there is a failure."""

    def __init__(self, port: Any, call: str, failure: Exception | None) -> None:
        self._port, self._call, self.failure = port, call, failure

    def __getattr__(self, name: str) -> Any:
        if name == self._call and self.failure is not None:

            def fails(*_: Any) -> None:
                assert self.failure is not None
                raise self.failure

            return fails
        return getattr(self._port, name)


@pytest.mark.parametrize(
    ("port", "call", "failure"),
    [
        ("index", "erase", IndexUnavailable("away")),
        ("table", "scrub", TableUnavailable("in use")),
        ("artifacts", "clear", ArtifactsUnavailable("away")),
    ],
)
def test_where_copies_are_out_of_reach_the_account_stays_until_a_repeat_reaches_them(
    ada: Someone, port: str, call: str, failure: Exception
):
    memory_id = ada.knows("one")
    away = Away(getattr(ada.ports, port), call, failure)
    ports: Any = replace(ada.ports, **{port: away})
    tool = delete_account.TOOL
    with pytest.raises(Refusal) as refusal:
        tool.run(ports, ada.caller, tool.input(confirm=ada.scope.path))
    assert refused(refusal) == "conflict"
    assert ada.table.get(Person, ada.person) is not None
    away.failure = None
    assert tool.run(ports, ada.caller, tool.input(confirm=ada.scope.path)).done
    assert ada.table.get(Person, ada.person) is None
    assert ada.table.get(Meta, memory_id) is None


def test_what_is_written_meanwhile_keeps_the_account_until_it_is_erased(ada: Someone):
    class Written(Away):
        def scrub(self) -> None:
            ada.knows("late")

    tool, late = delete_account.TOOL, Written(ada.table, "", None)
    ports: Any = replace(ada.ports, table=late)
    with pytest.raises(Refusal) as refusal:
        tool.run(ports, ada.caller, tool.input(confirm=ada.scope.path))
    assert refused(refusal) == "conflict"
    assert leaves(ada).done
    assert ada.table.get(Person, ada.person) is None


def test_the_copies_of_who_left_are_gone(ada: Someone, tmp_path: Path):
    ada.knows(f"{WORDS} one")
    ports = replace(ada.ports, artifacts=FileArtifacts(tmp_path))
    export, tool = export_memories.TOOL, delete_account.TOOL
    export.run(ports, ada.caller, export.input(format="jsonl", deliver="file"))
    assert list(tmp_path.glob("*/*"))
    assert tool.run(ports, ada.caller, tool.input(confirm=ada.scope.path)).done
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_confirmation_erases_nothing(ada: Someone):
    memory_id = ada.knows("one")
    with pytest.raises(Refusal) as refusal:
        ada.calls(delete_account.TOOL, confirm="yes")
    assert refused(refusal) == "validation_failed"
    assert ada.meta(memory_id).live


def test_others_keep_what_they_have(ada: Someone, ben: Someone):
    memory_id = ben.knows("Ben's")
    ada.knows("Ada's")
    leaves(ada)
    assert ben.calls(export_memories.TOOL).memories == 1
    assert ben.table.get(Meta, memory_id) is not None


def test_what_was_moved_to_another_owner_stays(ada: Someone, ben: Someone, clock: ManualClock):
    team = ben.project("team")
    ben.lets_in(ada, team, "writer")
    memory_id = ada.knows("moved")
    move(ada.table, clock, ada.actor, memory_id=memory_id, scope=team.scope, owner=team.owner)
    assert leaves(ada).done
    assert ben.meta(memory_id).live
