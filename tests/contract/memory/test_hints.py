"""What `remember` says to its caller beside the id."""

from typing import Any

from tests.contract.memory.people import Someone
from zero_memory.contracts.model import MAX_WINDOWS
from zero_memory.tools import move_memories, remember


def says(writer: Someone, content: str, **arguments: Any) -> Any:
    return writer.calls(remember.TOOL, content=content, scope=writer.scope.path, **arguments)


def test_a_task_that_is_cut_again_is_told_which_cut_it_is(ada: Someone):
    first = says(ada, "Port the tests", kind="task")
    second = says(ada, "Port the last ten tests", kind="task", supersedes=[first.id])
    third = says(ada, "Port the last test", kind="task", supersedes=[second.id])
    assert first.status_hint is None
    assert second.status_hint.startswith("This is cut 2 ")
    assert third.status_hint.startswith("This is cut 3 ")


def test_cuts_that_the_writer_may_not_see_do_not_count(ada: Someone, ben: Someone):
    first = says(ada, "Port the tests", kind="task")
    second = says(ada, "Port the last ten tests", kind="task", supersedes=[first.id])
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    ada.calls(move_memories.TOOL, ids=[second.id], scope=shared.path)
    writer = ben.at(shared)
    third = says(writer, "Port the last test", kind="task", supersedes=[second.id])
    assert third.status_hint.startswith("This is cut 2 ")


def test_no_status_is_said_of_questions_nor_of_what_replaces_another_kind(ada: Someone):
    question = says(ada, "Which port?", kind="open-question")
    again = says(ada, "Which ports?", kind="open-question", supersedes=[question.id])
    task = says(ada, "Find the ports", kind="task", supersedes=[again.id])
    fact = says(ada, "The ports are 1 and 2", supersedes=[task.id])
    assert [each.status_hint for each in (again, task, fact)] == [None, None, None]


def test_the_nearest_live_memories_are_shown_when_nothing_was_declared(ada: Someone):
    first = says(ada, "The database is at 10.0.7.1")
    gone = says(ada, "The database is at 10.0.8.1")
    ada.forgets(gone.id)
    second = says(ada, "The database is at 10.0.9.1")
    assert [each.id for each in second.similar_existing] == [first.id]
    assert second.similar_existing[0].preview == "The database is at 10.0.7.1"
    assert second.hint is not None
    third = says(ada, "The database is at 10.0.6.1", supersedes=[second.id])
    assert third.similar_existing == []
    assert third.hint is None


def test_what_lies_in_a_project_of_another_name_is_not_shown(ada: Someone):
    ada.at(ada.project("web")).knows("The database is at 10.0.7.1")
    near = ada.knows("The database is at 10.0.8.1")
    answer = says(ada.at(ada.project("api")), "The database is at 10.0.9.1")
    assert [each.id for each in answer.similar_existing] == [near]


def test_a_decision_without_an_anchor_and_a_long_text_are_told_so(ada: Someone):
    assert says(ada, "We use Postgres", kind="decision").anchor_hint is not None
    anchored = says(ada, "We use Redis", kind="decision", entities=["Redis"])
    assert anchored.anchor_hint is None
    assert anchored.anchors == ["Redis"]
    long = says(ada, "word " * 1_000)
    assert long.length_directive.windows == long.length_directive.embedded > 1
    assert anchored.length_directive is None
    longest = says(ada, "word " * 6_000).length_directive
    assert longest.windows > longest.embedded == MAX_WINDOWS
    assert "all of its words" in longest.advice


def test_a_repeated_call_with_its_key_answers_the_same(ada: Someone):
    first = says(ada, "one", idempotency_key="k")
    again = says(ada, "one", idempotency_key="k")
    assert again.model_dump(exclude={"session"}) == first.model_dump(exclude={"session"})
