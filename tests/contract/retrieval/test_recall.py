"""What `recall` promises, whatever the home and however far behind the index is."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from tests.contract.retrieval.conftest import Agent
from zero_memory.contracts.errors import Refusal
from zero_memory.contracts.memory import RecallArguments
from zero_memory.memory.model import SearchRecord
from zero_memory.ports.search_index import CorpusStatistics, IndexUnavailable, SearchAnswer
from zero_memory.ports.table import Put, Ref, Table
from zero_memory.tools import recall


@pytest.fixture(params=["the indexer is stopped", "the indexer has caught up"])
def caught_up(request: pytest.FixtureRequest) -> bool:
    return request.param == "the indexer has caught up"


UNREADABLE = "index_incomplete: unreadable memories left out: 1"


def damages(agent: Agent, memory_id: str) -> None:
    """Make a memory's search record one that cannot be read."""
    unreadable: Any = 7
    agent.ports.table.transact(
        [Put(SearchRecord(agent.meta(memory_id).scope, memory_id, unreadable))]
    )


def after_a_while(agent: Agent, *, caught_up: bool) -> None:
    if caught_up:
        agent.indexed()


def test_a_memory_is_found_right_after_it_was_remembered(ada: Agent, caught_up: bool) -> None:
    wanted = ada.remembers("The staging database is rebuilt on Mondays")
    ada.remembers("Lunch is at noon")
    after_a_while(ada, caught_up=caught_up)
    assert ada.finds("when is the staging database rebuilt")[0] == wanted


def test_a_text_with_more_windows_than_are_embedded_is_found_by_any_of_its_words(
    ada: Agent, caught_up: bool
) -> None:
    # No two of these words share a token.
    letters = str.maketrans("0123456789", "bcdfghjklm")
    words = [f"{number:06}".translate(letters) for number in range(3_000)]
    long = ada.remembers(" ".join(words))
    record = ada.ports.table.get(SearchRecord, ada.meta(long).scope, long)
    assert record is not None
    windows = record.passage.windows
    gap = next(one.end for one, other in pairwise(windows) if other.start > one.end + 100)
    unseen = " ".join(words)[gap:].split()[1]
    ada.remembers("Lunch is at noon")
    after_a_while(ada, caught_up=caught_up)
    found = ada.recalls(unseen).hits[0]
    assert found.id == long
    assert unseen in found.excerpt


def test_a_forgotten_memory_is_not_found_though_the_index_still_holds_it(ada: Agent) -> None:
    gone = ada.remembers("The staging database is rebuilt on Mondays")
    ada.indexed()
    ada.forgets(gone)
    assert gone not in ada.finds("staging database")


def test_a_superseded_memory_gives_way_to_its_successor(ada: Agent, caught_up: bool) -> None:
    earlier = ada.remembers("The database is at 10.0.7.1")
    after_a_while(ada, caught_up=caught_up)
    later = ada.remembers("The database is at 10.0.9.1", supersedes=[earlier])
    assert ada.finds("where is the database") == [later]


def test_the_order_is_the_same_before_and_after_indexing(ada: Agent) -> None:
    for number in range(12):
        ada.remembers(f"Service {number} listens on port {8000 + number} for cache {number % 3}")
    before = ada.recalls("which port has cache 2", explain=True).hits
    ada.indexed()
    after = ada.recalls("which port has cache 2", explain=True).hits
    assert [hit.id for hit in before] == [hit.id for hit in after]
    assert [hit.score for hit in before] == pytest.approx([hit.score for hit in after], abs=1e-5)


def test_what_a_stranger_stores_is_never_found_and_changes_no_answer(
    ada: Agent, ben: Agent, caught_up: bool
) -> None:
    for number in range(6):
        ada.remembers(f"Queue {number} drains every {number + 2} minutes")
    after_a_while(ada, caught_up=caught_up)
    alone = ada.recalls("how often does queue 3 drain", explain=True).hits
    for number in range(20):
        ben.remembers(f"Queue 3 of Ben drains every {number} minutes")
    after_a_while(ben, caught_up=caught_up)
    assert ada.recalls("how often does queue 3 drain", explain=True).hits == alone


@pytest.mark.parametrize("ports", ["sqlite, local index"], indirect=True)
def test_a_long_backlog_is_said_and_the_newest_writes_are_still_found(ada: Agent) -> None:
    for number in range(201):
        ada.remembers(f"Filler number {number}")
    newest = ada.remembers("The release train leaves on Thursday")
    found = ada.recalls("release train")
    assert found.hits[0].id == newest
    assert (found.degraded, found.degraded_reason) == (True, "index_behind")


def test_what_was_written_next_to_a_good_answer_comes_before_what_was_not(
    ada: Agent, caught_up: bool
) -> None:
    far = ada.remembers("The cache holds forty items")
    for number in range(3):
        ada.ports.clock.advance(seconds=1)
        ada.remembers(f"Lunch {number} is at noon")
    ada.ports.clock.advance(seconds=1)
    best = ada.remembers("The cache of the checkout service is warmed by hand")
    ada.ports.clock.advance(seconds=1)
    near = ada.remembers("The cache holds fifty items")
    after_a_while(ada, caught_up=caught_up)
    found = ada.finds("who warms the cache of the checkout service")
    assert found[:2] == [best, near]
    assert far in found


def test_a_fresh_write_that_cannot_be_read_is_left_out_and_said(ada: Agent) -> None:
    odd, whole = [ada.remembers(f"The release train {number} leaves") for number in range(2)]
    damages(ada, odd)
    found = ada.recalls("release train")
    assert [hit.id for hit in found.hits] == [whole]
    assert (found.degraded, found.degraded_reason) == (True, UNREADABLE)


def test_what_cannot_be_read_degrades_no_answer_that_would_not_hold_it(ada: Agent) -> None:
    decision = ada.remembers("We take the release train", kind="decision")
    odd = ada.remembers("The release train leaves")
    damages(ada, odd)
    assert not ada.recalls("release train", kinds=["decision"]).degraded
    ada.forgets(odd)
    assert ada.finds("release train") == [decision]
    assert not ada.recalls("release train").degraded


def test_a_table_that_refuses_to_be_read_is_no_damaged_memory(ada: Agent) -> None:
    """As without the right to read: nothing is left out, and nobody asks for each one alone."""
    reads = 0

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(ada.ports.table, name)

        def get_many(self, refs: Sequence[Ref[Any]]) -> list[Any]:
            if not any(each.record is SearchRecord for each in refs):
                return ada.ports.table.get_many(refs)
            nonlocal reads
            reads += 1
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "BatchGetItem")

    for number in range(5):
        ada.remembers(f"The release train {number} leaves")
    refused = replace(ada, ports=replace(ada.ports, table=cast("Table", Refusing())))
    with pytest.raises(ClientError):
        refused.recalls("release train")
    assert reads == 1


class Away:
    """An index that does not answer."""

    def search(self, *_: object, **__: object) -> Any:
        raise IndexUnavailable("it is away")


class Partial:
    """An index that did not look at everything."""

    def search(self, *_: object, **__: object) -> Any:
        return SearchAnswer(
            (), (), CorpusStatistics(), incomplete="The rest is away.", unreadable=2
        )


def test_an_unreachable_index_degrades_the_answer_and_says_why(ada: Agent) -> None:
    fresh = ada.remembers("The release train leaves on Thursday")
    cut_off = replace(ada, ports=replace(ada.ports, index=Away()))
    found = cut_off.recalls("release train")
    assert [hit.id for hit in found.hits] == [fresh]
    assert (found.degraded, found.degraded_reason) == (True, "index_unavailable: it is away")


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (Away(), f"index_unavailable: it is away; {UNREADABLE}"),
        (
            Partial(),
            "index_incomplete: The rest is away; index_incomplete: unreadable memories left out: 3",
        ),
    ],
)
def test_every_reason_for_which_memories_may_be_missing_is_said(
    ada: Agent, index: Any, said: str
) -> None:
    damages(ada, ada.remembers("The release train leaves"))
    harmed = replace(ada, ports=replace(ada.ports, index=index))
    assert harmed.recalls("release train").degraded_reason == said


def test_ids_answer_whole_memories_live_or_not_and_name_what_is_missing(
    ada: Agent, ben: Agent
) -> None:
    dead = ada.remembers("x " * 1_000 + "end")
    ada.forgets(dead)
    foreign = ben.remembers("Ben's own")
    never = "mem_" + "0" * 26
    asked = RecallArguments(ids=[dead, foreign, never])
    answer = recall.run(ada.ports, ada.caller, asked)
    assert [(each.id, each.live) for each in answer.memories] == [(dead, False)]
    assert answer.memories[0].content.endswith("end")
    assert answer.missing == [foreign, never]


def test_a_query_that_is_one_id_answers_that_memory_whole(ada: Agent) -> None:
    known = ada.remembers("y " * 800)
    answer = ada.recalls(f" {known} ")
    assert [each.id for each in answer.memories] == [known]


@pytest.mark.parametrize("asked", [{}, {"query": "x", "ids": ["mem_" + "0" * 26]}])
def test_neither_or_both_of_query_and_ids_is_refused(ada: Agent, asked: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match="either query"):
        recall.run(ada.ports, ada.caller, RecallArguments(**asked))


def test_as_of_answers_what_held_then(ada: Agent, caught_up: bool) -> None:
    earlier = ada.remembers("The database is at 10.0.7.1")
    then = ada.ports.clock.now() + 1_000
    ada.ports.clock.advance(seconds=10)
    later = ada.remembers("The database is at 10.0.9.1", supersedes=[earlier])
    after_a_while(ada, caught_up=caught_up)
    moment = "2027-01-15T08:00:01Z"
    assert then == 1_800_000_001_000
    assert ada.finds("where is the database", as_of=moment) == [earlier]
    assert ada.finds("where is the database") == [later]


def test_kinds_narrow_the_answer(ada: Agent, caught_up: bool) -> None:
    ada.remembers("Deploys run from main")
    chosen = ada.remembers("We deploy from main because tags were forgotten", kind="decision")
    after_a_while(ada, caught_up=caught_up)
    assert ada.finds("deploy from main", kinds=["decision"]) == [chosen]


def test_a_long_memory_answers_with_the_window_that_matched(ada: Agent, caught_up: bool) -> None:
    text = "lorem ipsum dolor " * 200 + "The zebra crossing code is QX77. " + "sit amet " * 200
    ada.remembers(text)
    after_a_while(ada, caught_up=caught_up)
    hit = ada.recalls("zebra crossing code").hits[0]
    assert hit.truncated
    assert "QX77" in hit.excerpt
    assert len(hit.excerpt) <= 610


def test_a_secret_in_a_query_is_refused_and_not_repeated(ada: Agent) -> None:
    secret = "ghp_" + "0aZ9bY8cX7dW6eV5fU4gT3hS2iR1jQ0kP9lO"
    with pytest.raises(Refusal, match="secret_content_rejected") as refusal:
        ada.finds(f"what is {secret}")
    assert secret not in str(refusal.value.body())


def scopes(agent: Agent, **arguments: Any) -> Sequence[str]:
    return agent.recalls("anything", **arguments).scopes


def test_a_recall_reads_the_project_and_the_personal_layers_and_all_without_one(
    ada: Agent,
) -> None:
    ada.remembers("web facts", scope=None, project_hint="web")
    ada.remembers("api facts", scope=None, project_hint="api")
    assert [path.split(".")[0] for path in scopes(ada, project_hint="web")] == [
        "proj",
        "user",
        "user",
    ]
    assert len(scopes(ada)) == 4
    assert scopes(ada, scopes=["core"])[0].endswith(".core")
