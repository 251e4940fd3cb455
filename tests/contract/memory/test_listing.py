"""Listing live memories, newest first, over scopes and pages."""

from collections.abc import Iterator
from typing import Any

from tests.clock import ManualClock
from tests.contract.memory.people import Someone
from zero_memory.memory.ids import first_id_at, last_id_at
from zero_memory.memory.listing import Wanted, count_live, list_live


def pages(writer: Someone, *, limit: int, **wanted: Any) -> Iterator[list[str]]:
    behind = None
    while True:
        listed = list_live(
            writer.table, writer.rights.read_set, Wanted(**wanted, behind=behind), limit=limit
        )
        yield [meta.memory_id for meta in listed.memories]
        behind = listed.behind
        if behind is None:
            return


def test_memories_of_all_scopes_are_one_list_newest_first(
    ada: Someone, ben: Someone, clock: ManualClock
):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "reader")
    places = [ada, ada.at(shared), ada.at(ada.access.core)]
    ids: list[str] = []
    for number in range(9):
        clock.advance(seconds=1)
        ids.append(places[number % 3].knows(f"note {number}"))
    ben.knows("a secret plan")
    assert ada.lists() == ids[::-1]
    assert [each for each in ben.lists() if each in ids] == ids[1::3][::-1]


def test_pages_hold_everything_once_even_while_others_write(ada: Someone, clock: ManualClock):
    places = [ada, ada.at(ada.project("api"))]
    ids: list[str] = []
    for number in range(11):
        clock.advance(seconds=number % 2)
        ids.append(places[number % 2].knows(f"note {number}"))
    read: list[str] = []
    for page in pages(ada, limit=4):
        assert 0 < len(page) <= 4
        read += page
        clock.advance(seconds=1)
        ada.knows(f"later {len(read)}")
    assert read == sorted(ids, reverse=True)


def test_the_dead_are_left_out_and_the_restored_are_back(ada: Someone, clock: ManualClock):
    ids: list[str] = []
    for number in range(6):
        clock.advance(seconds=1)
        ids.append(ada.knows(f"note {number}"))
    for memory_id in ids[:4]:
        ada.forgets(memory_id)
    assert ada.lists() == [ids[5], ids[4]]
    ada.restores(ids[1])
    assert ada.lists() == [ids[5], ids[4], ids[1]]
    assert [page for page in pages(ada, limit=1) if page] == [[ids[5]], [ids[4]], [ids[1]]]


def test_filters_by_kind_author_entity_and_time(ada: Someone, ben: Someone, clock: ManualClock):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    start = clock.now()
    fact = ada.at(shared).knows("one", entities=("Redis",))
    clock.advance(hours=1)
    task = ada.at(shared).knows("two", kind="task")
    clock.advance(hours=1)
    gotcha = ben.at(shared).knows("three", kind="gotcha", entities=("REDIS", "Postgres"))
    clock.advance(hours=1)
    episode = ben.at(shared).knows("four", kind="episode")
    assert ada.lists(kinds=frozenset(("task",))) == [task]
    assert ada.lists(kinds=frozenset(("fact", "gotcha", "episode"))) == [episode, gotcha, fact]
    assert ada.lists(author=ben.principal) == [episode, gotcha]
    assert ada.lists(entity="redis.") == [gotcha, fact]
    assert ada.lists(entity="redis", author=ada.principal) == [fact]
    assert ada.lists(since=first_id_at(start + 3_600_000)) == [episode, gotcha, task]
    assert ada.lists(until=last_id_at(start + 3_600_000)) == [task, fact]
    assert ada.lists(since=first_id_at(clock.now() + 1)) == []
    assert ada.lists(since=first_id_at(-1)) == ada.lists()
    assert ada.lists(until=last_id_at(-62_000_000_000_000)) == []


def test_a_filter_that_lets_little_through_pages_on(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    wanted = ben.at(shared).knows("the one")
    for number in range(8):
        ada.at(shared).knows(f"note {number}")
    found = [each for page in pages(ada, limit=3, author=ben.principal) for each in page]
    assert found == [wanted]


def test_counts_are_by_kind_and_capped(ada: Someone):
    for number in range(3):
        ada.knows(f"fact {number}")
    gone = ada.knows("gone")
    ada.knows("task", kind="task")
    ada.forgets(gone)
    # Five more writes bring late views up to date.
    for number in range(5):
        ada.knows(f"decision {number}", kind="decision")
    counts = count_live(ada.table, ada.scope.scope)
    assert counts["fact"] == "3"
    assert counts["task"] == "1"


def test_a_name_of_nothing_but_articles_and_blanks_is_no_entity(ada: Someone):
    ada.knows("note", entities=("Kestrel",))
    for name in ("the", "a", " "):
        assert ada.lists(entity=name) == []
