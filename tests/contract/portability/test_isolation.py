"""What an import neither writes nor tells: what is somebody else's."""

import pytest

from tests.contract.memory.people import Someone
from tests.contract.portability.carrying import exported, imported
from zero_memory.contracts.portability import ImportedItem
from zero_memory.memory.model import SearchRecord
from zero_memory.memory.moving import move
from zero_memory.memory.sharing import share, unshare
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.members import leave
from zero_memory.scopes.model import Grant
from zero_memory.tools import import_memory


def shared_by(ada: Someone, ben: Someone, content: str) -> str:
    """A memory of Ada's own root that Ben may read."""
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    memory_id = ada.knows(content)
    share(ada.table, ada.clock, ada.actor, memory_id, scope=team.scope)
    return memory_id


def edited(who: Someone, memory_id: str, content: str) -> str:
    """An exported file of this memory with other words, as anybody could write it."""
    own = who.remembers("A file to begin with.").memory_id
    (text,) = (each for path, each in exported(who, "markdown").items() if own in path)
    return text.replace(own, memory_id).replace("A file to begin with.", content)


def with_grants(who: Someone, text: str, *grants: Grant) -> ImportedItem:
    caller = Caller(who.person, who.principal, frozenset(grants))
    arguments = import_memory.ImportArguments(
        items=[import_memory.ImportItem(path="a.md", text=text)]
    )
    return import_memory.run(who.ports, caller, arguments).items[0]


def held_by(who: Someone) -> list[str]:
    return list(who.table.keys(SearchRecord, who.scope.scope).records)


@pytest.mark.parametrize("content", ["Ben's words.", "Ada's secret."])
def test_an_edited_file_of_what_one_may_only_read_writes_nothing_and_tells_nothing(
    ada: Someone, ben: Someone, content: str
):
    memory_id = shared_by(ada, ben, "Ada's shared words.")
    ada.knows("Ada's secret.")
    before = held_by(ada)
    (result,) = imported(ben, {"a.md": edited(ben, memory_id, content)})
    assert (result.status, result.code, result.ids) == ("refused", "forbidden", [])
    assert "ask a writer of its scope" in (result.message or "")
    assert held_by(ada) == before
    assert ada.meta(memory_id).live


def test_the_same_words_as_what_one_may_only_read_are_no_import(ada: Someone, ben: Someone):
    memory_id = shared_by(ada, ben, "Ada's shared words.")
    (result,) = imported(ben, {"a.md": edited(ben, memory_id, "Ada's shared words.")})
    assert (result.status, result.ids) == ("refused", [])


def test_a_reader_of_a_scope_edits_nothing_in_it(ada: Someone, ben: Someone):
    team = ada.project("team")
    ada.lets_in(ben, team, "reader")
    memory_id = ada.at(team).knows("The team's words.")
    (result,) = imported(ben, {"a.md": edited(ben, memory_id, "Ben's words.")})
    assert (result.status, result.code) == ("refused", "forbidden")
    assert held_by(ada.at(team)) == [memory_id]


def test_a_token_that_only_writes_does_not_learn_what_is_there(ada: Someone, ben: Someone):
    there = shared_by(ada, ben, "Ada's shared words.")
    hidden = ada.knows("Ada's secret.")
    answers = {
        with_grants(ben, edited(ben, memory_id, words), "memory:write").message
        for memory_id in (there, hidden)
        for words in ("Other words.", "Ada's shared words.", "Ada's secret.")
    }
    assert len(answers) == 1


def test_who_left_learns_nothing_of_what_their_file_became(ada: Someone, ben: Someone):
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    notes = {"~/notes.md": "The bridge is closed."}
    (first,) = imported(ben, notes, scope="personal")
    (memory_id,) = first.ids
    move(ben.table, ben.clock, ben.actor, memory_id=memory_id, scope=team.scope, owner=team.owner)
    leave(ben.table, ben.access, team.path)
    ada.forgets(memory_id)
    (again,) = imported(ben, notes, scope="personal")
    assert (again.status, again.message) == ("created", None)
    assert again.ids != first.ids


def test_what_is_shared_no_more_is_edited_as_if_it_were_not_there(ada: Someone, ben: Someone):
    memory_id = shared_by(ada, ben, "Ada's shared words.")
    text = edited(ben, memory_id, "Ben's words.")
    unshare(ada.table, ada.clock, ada.actor, memory_id, scope=None)
    (result,) = imported(ben, {"a.md": text})
    assert (result.status, result.code, result.ids) == ("refused", "conflict", [])
    assert ada.meta(memory_id).live
