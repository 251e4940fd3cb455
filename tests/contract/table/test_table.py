"""The contract of the table's port, against both homes."""

from typing import Any

import pytest

from tests.records import meta
from zero_memory.memory.model import (
    AuditRecord,
    Body,
    ConversationEntry,
    IdempotentAnswer,
    LinkOut,
    LinkType,
    Meta,
    Passage,
    PendingMarker,
    SearchRecord,
    StoredBody,
    StoredWindow,
    TimelineEntry,
)
from zero_memory.ports.table import (
    Absent,
    Action,
    AttributeIs,
    Check,
    Condition,
    ConditionFailed,
    DamagedRecord,
    Delete,
    LimitExceeded,
    Page,
    Present,
    Put,
    Ref,
    RevisionIs,
    Table,
    ref,
)
from zero_memory.scopes.model import Person, Scope


def markers(number: int) -> list[PendingMarker]:
    return [PendingMarker("scp_1", f"mem_{each:03}", each) for each in range(number)]


def put(table: Table, *records: object) -> None:
    for start in range(0, len(records), 100):
        table.transact([Put(record) for record in records[start : start + 100]])


def read_all(table: Table, record: type[Any], *parts: str, **options: Any) -> list[Any]:
    """All pages of a query, in their order."""
    found: list[Any] = []
    after: str | None = None
    while True:
        page: Page[Any] = table.query(record, *parts, after=after, **options)
        assert len(page.records) <= options.get("limit", 100)
        found += page.records
        after = page.next
        if after is None:
            return found


# ------------------------------------------------------------------ records


def test_what_is_put_is_read_at_once_and_whole(table: Table):
    windows = (StoredWindow(0, 3, b"\x00\xff" * 192), StoredWindow(2, 5, b""))
    record = SearchRecord("scp_1", "mem_1", Passage("model", windows, {"ünïcode": 1, "🐘": 2}))
    body = StoredBody("mem_1", Body('line\n\ttab 🐘 \U0010ffff \\ "', language="de", original=""))
    person = Person("p_1", 1, bytes(range(256)), disabled=True)
    put(table, record, body, person)
    assert table.get(SearchRecord, "scp_1", "mem_1") == record
    assert table.get(StoredBody, "mem_1") == body
    assert table.get(Person, "p_1") == person


def test_nothing_is_read_where_nothing_was_put(table: Table):
    put(table, meta("mem_1"))
    assert table.get(Meta, "mem_2") is None
    assert table.get(StoredBody, "mem_1") is None
    assert table.query(PendingMarker, "scp_1") == Page((), None)


def test_a_put_replaces_the_whole_record(table: Table):
    put(table, meta(checked_at=5, body=Body("words")))
    put(table, meta(revision=2))
    assert table.get(Meta, "mem_1") == meta(revision=2)


WRONG: Any = ["of another type"]


@pytest.mark.parametrize(
    "damaged", [PendingMarker("scp_1", "mem_1", WRONG), SearchRecord("scp_1", "mem_1", WRONG)]
)
def test_a_damaged_record_is_told_from_a_missing_one_and_still_listed_and_removed(
    table: Table, damaged: PendingMarker | SearchRecord
):
    record, at = type(damaged), ref(type(damaged), "scp_1", "mem_1")
    put(table, damaged)
    with pytest.raises(DamagedRecord):
        table.get(record, "scp_1", "mem_1")
    with pytest.raises(DamagedRecord):
        table.get_many([at])
    with pytest.raises(DamagedRecord):
        table.query(record, "scp_1")
    assert table.keys(record, "scp_1") == Page(("mem_1",), None)
    table.transact([Delete(at)])
    assert table.get(record, "scp_1", "mem_1") is None


def test_a_delete_removes_and_may_be_repeated(table: Table):
    put(table, meta())
    for _ in range(2):
        table.transact([Delete(ref(Meta, "mem_1"))])
        assert table.get(Meta, "mem_1") is None


def test_key_parts_that_hold_the_keys_own_separators_stay_apart(table: Table):
    one = AuditRecord("mem#1", "a", "forget", 1, "p", 1, "{}", "{}")
    other = AuditRecord("mem", "1#a", "forget", 2, "p", 1, "{}", "{}")
    put(table, one, other)
    assert table.get(AuditRecord, "mem#1", "a") == one
    assert read_all(table, AuditRecord, "mem") == [other]


def test_many_are_read_in_the_order_asked_with_gaps_and_repeats(table: Table):
    put(table, *markers(120))
    asked = [*range(119, -1, -1), 500, 3, 3]
    refs = [ref(PendingMarker, "scp_1", f"mem_{each:03}") for each in asked]
    known = dict(enumerate(markers(120)))
    assert table.get_many(refs) == [known.get(each) for each in asked]
    assert table.get_many([]) == []


def test_many_may_be_of_several_types(table: Table):
    put(table, meta(), *markers(1))
    refs: list[Ref[Any]] = [ref(PendingMarker, "scp_1", "mem_000"), ref(Meta, "mem_1")]
    assert table.get_many(refs) == [markers(1)[0], meta()]


# ------------------------------------------------------------------ transactions


CONDITIONS: tuple[tuple[Condition, bool, bool], ...] = (
    (Absent(), True, False),
    (Present(), False, True),
    (RevisionIs(1), False, True),
    (RevisionIs(2), False, False),
    (AttributeIs("author", "p_1"), False, True),
    (AttributeIs("author", "p_2"), False, False),
    (AttributeIs("superseded_by", "mem_2"), False, False),
    (AttributeIs("windows", 1), False, True),
)
"""Conditions, whether they hold where nothing is, and whether on `meta()`."""


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("verb", ["put", "delete", "check", "put among others"])
def test_a_condition_decides_whether_a_write_happens(table: Table, verb: str, there: bool):
    for condition, holds_on_none, holds_on_one in CONDITIONS:
        table.transact([Put(meta()) if there else Delete(ref(Meta, "mem_1"))])
        before, after = table.get(Meta, "mem_1"), meta(revision=7)
        action: Action = {
            "put": Put(after, condition),
            "put among others": Put(after, condition),
            "delete": Delete(ref(Meta, "mem_1"), condition),
            "check": Check(ref(Meta, "mem_1"), condition),
        }[verb]
        actions = [action, Put(meta("mem_2"))] if verb == "put among others" else [action]
        if holds_on_one if there else holds_on_none:
            table.transact(actions)
            expected = {"delete": None, "check": before}.get(verb, after)
        else:
            with pytest.raises(ConditionFailed) as failure:
                table.transact(actions)
            assert failure.value.failed == (0,)
            expected = before
        assert table.get(Meta, "mem_1") == expected


def test_a_failed_transaction_names_every_failed_position_and_changes_nothing(table: Table):
    put(table, meta("mem_1"), meta("mem_2"))
    with pytest.raises(ConditionFailed) as failure:
        table.transact(
            [
                Put(meta("mem_0"), Absent()),
                Put(meta("mem_1", revision=2), RevisionIs(5)),
                Put(meta("mem_2", revision=2), RevisionIs(1)),
                Check(ref(Meta, "mem_9"), Present()),
                Put(meta("mem_3")),
                Delete(ref(Meta, "mem_4"), Present()),
            ]
        )
    assert failure.value.failed == (1, 3, 5)
    found = table.get_many([ref(Meta, f"mem_{each}") for each in range(4)])
    assert found == [None, meta("mem_1"), meta("mem_2"), None]


def test_a_transaction_of_a_hundred_actions_happens_whole(table: Table):
    put(table, *markers(100))
    assert read_all(table, PendingMarker, "scp_1") == markers(100)


@pytest.mark.parametrize("number", [0, 101])
def test_a_transaction_has_one_to_a_hundred_actions(table: Table, number: int):
    with pytest.raises(LimitExceeded):
        table.transact([Put(marker) for marker in markers(number)])


def test_a_transaction_names_each_address_once(table: Table):
    with pytest.raises(LimitExceeded):
        table.transact([Put(meta()), Check(ref(Meta, "mem_1"), Present())])
    assert table.get(Meta, "mem_1") is None


def test_a_record_has_at_most_400_kilobytes(table: Table):
    large = StoredBody("mem_1", Body("x" * 400_000))
    put(table, large)
    assert table.get(StoredBody, "mem_1") == large
    with pytest.raises(LimitExceeded):
        put(table, StoredBody("mem_1", Body("x" * 410_000)))
    assert table.get(StoredBody, "mem_1") == large


def test_a_transaction_has_at_most_4_megabytes(table: Table):
    bodies = [StoredBody(f"mem_{each:02}", Body("x" * 390_000)) for each in range(11)]
    put(table, *bodies[:10])
    with pytest.raises(LimitExceeded):
        table.transact([Put(body) for body in bodies])
    assert table.get(StoredBody, "mem_10") is None


def test_a_key_too_long_is_refused_wherever_it_is_used(table: Table):
    long = "x" * 2_048
    with pytest.raises(LimitExceeded):
        put(table, meta(long))
    with pytest.raises(LimitExceeded):
        table.get(Meta, long)
    with pytest.raises(LimitExceeded):
        table.get_many([ref(Meta, long)])
    with pytest.raises(LimitExceeded):
        put(table, meta(scope=long, timeline="knowledge"))


def test_a_condition_on_a_key_is_an_error_of_the_caller(table: Table):
    for name in ("memory_id", "no_such_field"):
        with pytest.raises(ValueError, match="condition"):
            table.transact([Put(meta(), AttributeIs(name, "x"))])
    with pytest.raises(ValueError, match="condition"):
        table.transact([Put(Scope("scp_1", "a", "team", "p_1", 1), AttributeIs("scope", "x"))])


def test_an_answer_is_claimed_once_for_principal_tool_and_key(table: Table):
    answer = IdempotentAnswer("p_1", "remember", "my key #1 🔑", "hash", '["mem_1"]', 4_000_000_000)
    table.transact([Put(answer, Absent()), Put(meta())])
    with pytest.raises(ConditionFailed) as failure:
        table.transact([Put(answer, Absent()), Put(meta(revision=2))])
    assert failure.value.failed == (0,)
    assert table.get(IdempotentAnswer, "p_1", "remember", "my key #1 🔑") == answer
    assert table.get(IdempotentAnswer, "p_1", "forget", "my key #1 🔑") is None
    assert table.get(Meta, "mem_1") == meta()


# ------------------------------------------------------------------ queries


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 10, 11])
def test_pages_follow_each_other_in_order_without_gap_or_repeat(
    table: Table, limit: int, newest_first: bool
):
    put(table, *markers(10))
    found = read_all(table, PendingMarker, "scp_1", limit=limit, newest_first=newest_first)
    assert found == (markers(10)[::-1] if newest_first else markers(10))


@pytest.mark.parametrize("newest_first", [False, True])
def test_keys_are_paged_as_the_records_are(table: Table, newest_first: bool):
    put(table, *markers(10))
    found: list[str] = []
    page = table.keys(PendingMarker, "scp_1", limit=3, newest_first=newest_first)
    while page.next is not None:
        found += page.records
        page = table.keys(
            PendingMarker, "scp_1", after=page.next, limit=3, newest_first=newest_first
        )
    found += page.records
    names = [each.memory_id for each in markers(10)]
    assert found == (names[::-1] if newest_first else names)
    assert table.keys(PendingMarker, "scp_2").records == ()
    since = table.keys(PendingMarker, "scp_1", since=names[6], newest_first=newest_first).records
    assert set(since) == set(names[6:])


def test_the_keys_of_a_directory_are_listed_over_all_its_parts(table: Table):
    scopes = [f"scp_{number}" for number in range(20)]
    put(table, *(Scope(scope, f"proj.{scope}", "project", "p_1", 1) for scope in scopes))
    found: list[str] = []
    page = table.keys(Scope, limit=7)
    while page.next is not None:
        found += page.records
        page = table.keys(Scope, after=page.next, limit=7)
    assert sorted([*found, *page.records]) == sorted(scopes)


def test_the_key_of_what_cannot_be_read_is_listed_too(table: Table):
    odd: Any = "odd"
    put(
        table, SearchRecord("scp_1", "mem_1", odd), SearchRecord("scp_1", "mem_2", Passage("m", ()))
    )
    assert table.keys(SearchRecord, "scp_1").records == ("mem_1", "mem_2")


def test_a_page_continues_where_it_was_left_though_that_record_is_gone(table: Table):
    put(table, *markers(10))
    for newest_first, expected in ((False, markers(10)[4:]), (True, markers(10)[5::-1])):
        page = table.query(PendingMarker, "scp_1", limit=4, newest_first=newest_first)
        last = page.records[-1]
        table.transact([Delete(ref(PendingMarker, last.scope, last.memory_id))])
        rest = table.query(
            PendingMarker, "scp_1", after=page.next, limit=100, newest_first=newest_first
        )
        assert list(rest.records) == expected
        put(table, last)


@pytest.mark.parametrize("newest_first", [False, True])
def test_since_and_until_bound_the_next_key_part_inclusively(table: Table, newest_first: bool):
    put(table, *markers(10))

    def numbers(**bounds: str) -> list[int]:
        options: dict[str, Any] = {"limit": 2, "newest_first": newest_first, **bounds}
        return sorted(each.revision for each in read_all(table, PendingMarker, "scp_1", **options))

    assert numbers(since="mem_003", until="mem_005") == [3, 4, 5]
    assert numbers(since="mem_008") == [8, 9]
    assert numbers(until="mem_001") == [0, 1]
    assert numbers(since="mem_0035", until="mem_0055") == [4, 5]
    assert numbers(since="mem_006", until="mem_004") == []
    assert numbers(until="mem_00") == []


def test_a_bound_on_a_part_in_the_middle_of_a_key_takes_in_all_behind_it(table: Table):
    types: tuple[LinkType, ...] = ("contradicts", "relates_to", "supersedes")
    links = [LinkOut("mem_1", each, f"mem_{target}", 1) for each in types for target in (2, 3)]
    put(table, *links)
    assert read_all(table, LinkOut, "mem_1", since="relates_to", until="relates_to") == links[2:4]
    assert read_all(table, LinkOut, "mem_1", "relates_to", since="mem_3") == [links[3]]


def test_a_query_reads_its_own_scope_and_type_only(table: Table):
    passage = Passage("model", ())
    records = [SearchRecord(scope, "mem_1", passage) for scope in ("scp_1", "scp_10", "scp_2")]
    put(table, *records, *markers(3))
    assert read_all(table, SearchRecord, "scp_1") == [records[0]]


def test_a_query_may_go_on_into_the_sort_key(table: Table):
    put(table, *markers(3))
    assert read_all(table, PendingMarker, "scp_1", "mem_001") == [markers(3)[1]]


def test_the_directory_of_scopes_is_paged_through_whole(table: Table):
    scopes = [Scope(f"scp_{each}", f"team.{each}", "team", "p_1", 1) for each in range(20)]
    put(table, *scopes)
    assert table.get(Scope, "scp_7") == scopes[7]
    for limit in (2, 100):
        found = read_all(table, Scope, limit=limit)
        assert sorted(found, key=repr) == sorted(scopes, key=repr)


@pytest.mark.parametrize("limit", [0, 1_001])
def test_a_page_has_one_to_a_thousand_records(table: Table, limit: int):
    with pytest.raises(ValueError, match="page"):
        table.query(PendingMarker, "scp_1", limit=limit)


@pytest.mark.parametrize(
    "after",
    ["", "x", "P#", "R#mem_001", "P#mem_000", "P#mem_003", "P#mem_001#x", "P#mem_001\udcff"],
)
def test_a_page_goes_on_only_behind_another_one_of_its_query(table: Table, after: str):
    put(table, *markers(4))
    with pytest.raises(ValueError, match=r"query|key|surrogates"):
        table.query(PendingMarker, "scp_1", after=after, since="mem_001", until="mem_002")


@pytest.mark.parametrize(
    "after", ["x", "8:", "-1:", "0:x", "0:P#p_1", "0:S#" + 2_000 * "x", "9" * 5_000]
)
def test_a_page_of_a_directory_goes_on_only_in_one_of_its_parts(table: Table, after: str):
    with pytest.raises(ValueError, match=r"query|key|shards|int"):
        table.query(Scope, after=after)


# ------------------------------------------------------------------ views


def test_a_view_shows_the_fields_it_declares_of_the_items_that_stand_in_it(table: Table):
    listed = meta("mem_1", timeline="knowledge", conversation="p_1#thread ünï")
    put(table, listed, meta("mem_2"), meta("mem_3", timeline="loops", kind="task"))
    assert read_all(table, TimelineEntry, "scp_1", "knowledge") == [
        TimelineEntry("scp_1", "knowledge", "mem_1", "fact", "p_1")
    ]
    assert read_all(table, TimelineEntry, "scp_1", "loops") == [
        TimelineEntry("scp_1", "loops", "mem_3", "task", "p_1")
    ]
    assert read_all(table, ConversationEntry, "p_1#thread ünï") == [
        ConversationEntry("p_1#thread ünï", "mem_1", "scp_1", "fact")
    ]


def test_an_item_moves_within_its_view_and_leaves_it(table: Table):
    def shown(scope: str) -> list[str]:
        return [each.memory_id for each in read_all(table, TimelineEntry, scope, "knowledge")]

    put(table, meta("mem_1", timeline="knowledge"), meta("mem_2", timeline="knowledge"))
    assert shown("scp_1") == ["mem_1", "mem_2"]
    put(table, meta("mem_1", timeline="knowledge", scope="scp_2", revision=2))
    assert (shown("scp_1"), shown("scp_2")) == (["mem_2"], ["mem_1"])
    put(table, meta("mem_1", scope="scp_2", revision=3))
    assert shown("scp_2") == []
    table.transact([Delete(ref(Meta, "mem_2"))])
    assert shown("scp_1") == []


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_view_is_paged_like_a_collection(table: Table, newest_first: bool):
    ids = [f"mem_{each:03}" for each in range(9)]
    put(table, *(meta(each, timeline="knowledge") for each in ids))
    options: dict[str, Any] = {"since": ids[1], "until": ids[7], "newest_first": newest_first}
    found = read_all(table, TimelineEntry, "scp_1", "knowledge", limit=2, **options)
    expected = ids[1:8]
    assert [each.memory_id for each in found] == (expected[::-1] if newest_first else expected)
