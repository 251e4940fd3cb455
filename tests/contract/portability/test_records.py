"""Records and files that nobody's export wrote: what they may not do to this home."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import TypeAdapter, ValidationError

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, refused
from tests.contract.portability.carrying import exported, imported, statuses
from tests.contract.portability.test_round_trip import empty_home
from zero_memory.contracts.errors import Refusal
from zero_memory.contracts.model import MemoryId
from zero_memory.contracts.people import PersonId, PublicId
from zero_memory.contracts.portability import Upload
from zero_memory.memory.model import Dispute, LinkIn, LinkOut, Meta
from zero_memory.memory.sharing import share
from zero_memory.memory.state import challenge
from zero_memory.portability.jsonl import read_line
from zero_memory.ports.table import Put
from zero_memory.tools import erase_memory, export_memories, memory_history

Line = dict[str, Any]
MEMORY = "mem_01MCC5RM008A4RCTS83QW0FAYZ"
NOBODYS = "mem_01MCC5RM00ZZZZZZZZZZZZZZZZ"
PERSON = "p_01MCC5RM00ZZZZZZZZZZZZZZZZ"
START = 1_800_000_000_000


def record(**fields: Any) -> Line:
    at = "2027-01-15T08:00:00.000Z"
    return {
        "zero_memory": 1,
        "id": MEMORY,
        "kind": "fact",
        "scope": "personal",
        "state": "live",
        "created_at": at,
        "author": "me",
        "alive": [{"start": at}],
        "content": "fine",
        **fields,
    }


def dead(**fields: Any) -> Line:
    at = "2027-01-15T08:00:00.000Z"
    return record(state="invalid", alive=[{"start": at, "end": at}], **fields)


def change(before: Line | None, after: Line, **fields: Any) -> Line:
    return {
        "id": "aud_01MCC5RM008A4RCTS83QW0FAYZ",
        "action": "forget",
        "at": "2027-01-15T08:00:00.000Z",
        "by": "me",
        "revision": 1,
        "before": before,
        "after": after,
        **fields,
    }


def past(*changes: Line, **fields: Any) -> Line:
    return {"revision": 1, "changes": [*changes], **fields}


def imports(who: Someone, line: Line) -> Any:
    (result,) = imported(who, {"a.jsonl": json.dumps(line) + "\n"})
    return result


def lives(start: int | None, end: int | None = None) -> Line:
    return {"alive": [{"start": start, "end": end}]}


DOUBT: Line = {
    "id": "dsp_01MCC5RM008A4RCTS83QW0FAYZ",
    "at": "2027-01-15T08:00:00.000Z",
    "by": "me",
    "reason": "r",
}
LINK: Line = {"type": "relates_to", "target": NOBODYS, "at": "2027-01-15T08:00:00.000Z"}


@pytest.mark.parametrize(
    "line",
    [
        record(valid_from="0001-01-01T00:00:00+23:00"),
        record(valid_from="9999-12-31T23:59:59.999-23:00"),
        record(checked_at="9999-12-31T23:59:59.9999Z"),
        record(links=[LINK | {"at": "9999-12-31T23:59:59.999-23:00"}]),
        record(past=past(change(None, {"superseded_by": "x" * 3_000}))),
        record(past=past(change(None, {"invalidated_at": 10**18}))),
        record(past=past(change(None, lives(-(10**18))))),
        record(past=past(change(None, {"alive": []}))),
        record(past=past(change(None, {}, action="erase"))),
        record(past=past(change(None, {"alive": [{"start": START}]}))),
        record(past=past(change(None, {"shared_to": ["personal"] * 21}))),
        record(past=past(change(None, {"scope": "x" * 3_000}))),
        record(past=past(change(None, {"invalidated_reason": "x" * 5_000}))),
        record(past=past(change(None, {}, at="0001-01-01T00:00:00+23:00"))),
        record(past=past(change(None, {}, revision=2**63 - 1))),
        record(past=past(change(None, {})) | {"revision": 2**63 - 1}),
        record(past=past(change(None, {})) | {"revision": 2**70}),
        record(past=past(change(None, {}), disputes=[DOUBT, DOUBT])),
        record(past=past(change(None, {"dispute": DOUBT["id"]}))),
        record(links=[LINK, LINK]),
        record(id=MEMORY + "\n"),
        record(follows=[MEMORY + "\n"]),
        record(author="me\n"),
        record(past=past(change({"superseded_by": NOBODYS}, {"superseded_by": None}))),
        record(past=past(change({"invalidated_reason": "x"}, {"invalidated_reason": None}))),
        record(past=past(change({"scope": "core"}, {}))),
        record(past=past(change({"owner": PERSON}, {"owner": "me"}))),
        record(
            past=past(
                change(
                    lives(START) | {"superseded_by": NOBODYS},
                    lives(START, START) | {"superseded_by": None},
                )
            )
        ),
        record(past=past(change(lives(START), lives(START)))),
        record(
            past=past(change({"link": ["relates_to", NOBODYS]}, {"link": ["relates_to", MEMORY]}))
        ),
        record(past=past(change({"link": ["supersedes", NOBODYS]}, {"link": None}))),
        dead(superseded_by=MEMORY) | {"state": "superseded"},
    ],
)
def test_a_record_past_all_bounds_is_refused_alone(ada: Someone, line: Line):
    text = json.dumps(line) + "\n" + json.dumps(record(id=NOBODYS, content="good")) + "\n"
    bad, good = imported(ada, {"a.jsonl": text})
    assert (bad.status, bad.code, good.status) == ("refused", "validation_failed", "created")
    assert len(exported(ada, "jsonl")["memories.jsonl"].splitlines()) == 1
    assert len(exported(ada, "markdown")) == 1


@given(
    id_and_type=st.sampled_from(
        [
            (MEMORY, MemoryId),
            (PERSON, PersonId),
            ("a" * 16, PublicId),
            (f"{PERSON}/{MEMORY[4:]}", Upload),
        ]
    ),
    more=st.characters(exclude_categories=["Cs"]),
)
def test_nothing_follows_an_id(id_and_type: tuple[str, Any], more: str):
    whole, of = id_and_type
    assert TypeAdapter(of).validate_python(whole) == whole
    with pytest.raises(ValidationError):
        TypeAdapter(of).validate_python(whole + more)


@given(
    field=st.sampled_from(["id", "superseded_by", "author"]),
    more=st.just("\n") | st.characters(exclude_categories=["Cs"]),
)
def test_nothing_follows_an_id_of_a_record(field: str, more: str):
    line = record(**{field: ("me" if field == "author" else MEMORY) + more})
    with pytest.raises(Refusal):
        read_line(json.dumps(line))


@pytest.mark.parametrize(
    "field",
    [{"valid_from": "0001-01-01T00:00:00.001Z"}, {"valid_from": "9999-12-31T23:59:59.123Z"}],
)
def test_the_first_and_the_last_times_are_told_to_the_millisecond(ada: Someone, field: Line):
    assert imports(ada, record(**field)).status == "created"
    (line,) = exported(ada, "jsonl").values()
    assert json.loads(line)["valid_from"] == field["valid_from"]


@pytest.mark.parametrize(
    "value", ["!!bool z", "!!timestamp x", "!!int ''", "!!float ''", "!!bool ''", "!!binary 'a'"]
)
def test_values_that_are_none_of_their_tag_fail_no_other_file(ada: Someone, value: str):
    exported_note = f"---\nzero_memory: 1\nsource: {{a: {value}}}\n---\nText."
    tree = {"~/a.md": f"---\na: {value}\n---\nText.", "~/b.md": exported_note, "~/c.md": "Good."}
    results = imported(ada, tree, scope="personal")
    assert results[0].status == results[2].status == "created"


@pytest.mark.parametrize(
    "value", ["!!timestamp 2026-01-01", "!!binary aGk=", "!!set {a, b}", f"0x{'f' * 4_000}"]
)
def test_a_source_that_json_has_no_words_for_fails_no_other_file(clock: ManualClock, value: str):
    with empty_home(clock) as ada, empty_home(clock) as there:
        ada.knows("Mine.")
        ((path, text),) = exported(ada, "markdown").items()
        odd = text.replace("zero_memory: 1\n", f"zero_memory: 1\nsource: {{a: {value}}}\n")
        imported(there, {path: odd, "~/good.md": "Good."}, scope="personal")
        assert len(exported(there, "jsonl")["memories.jsonl"].splitlines()) in {1, 2}
        assert len(there.lists()) in {1, 2}


def test_more_than_is_stored_at_once_fails_its_own_line_and_leaves_nothing(ada: Someone):
    target = ada.knows("target")
    doubts = [
        DOUBT | {"id": f"dsp_01MCC5RM008A4RCTS83QW0F{number:03}", "evidence": "🌉" * size}
        for number, size in enumerate([1] * 200 + [32_000] * 40)
    ]
    links = [LINK | {"target": target}]
    long = record(links=links, past=past(change(None, {}), disputes=doubts))
    text = json.dumps(long) + "\n" + json.dumps(record(id=NOBODYS, content="good")) + "\n"
    bad, good = imported(ada, {"a.jsonl": text})
    assert (bad.status, bad.code, good.status) == ("refused", "validation_failed", "created")
    assert ada.table.get(Meta, MEMORY) is None
    assert ada.table.query(Dispute, MEMORY).records == ()
    assert ada.table.query(LinkIn, target).records == ()


@pytest.mark.parametrize("depth", [12, 13, 14, 15, 100, 500])
def test_a_source_comes_back_however_deep_it_nests(clock: ManualClock, depth: int):
    with empty_home(clock) as ada, empty_home(clock) as there:
        ada.knows("one", source_json=f'{{"a": {"[" * depth}1{"]" * depth}}}')
        tree = exported(ada, "markdown")
        assert statuses(imported(there, tree)) == ["created"]
        assert exported(there, "markdown") == tree


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_what_cannot_be_written_out_takes_no_other_along(ada: Someone, form: str):
    odd, whole = ada.knows("one"), ada.knows("two")
    ada.table.transact([Put(replace(ada.meta(odd), valid_from=10**18))])
    page = ada.calls(export_memories.TOOL, format=form)
    assert (page.unreadable, page.memories) == ([odd], 1)
    assert whole in page.files[0].text


def test_undoing_what_a_record_tells_writes_to_no_memory_of_others(ada: Someone, ben: Someone):
    foreign = ada.knows("Ada's own.")
    told = change(
        lives(START, START) | {"timeline": None, "invalidated_at": START, "superseded_by": foreign},
        {
            "alive": [{"start": START, "end": START}, {"start": START, "end": None}],
            "timeline": "knowledge",
            "invalidated_at": None,
            "superseded_by": None,
        },
        action="restore",
    )
    at = "2027-01-15T08:00:00.000Z"
    line = record(alive=[{"start": at, "end": at}, {"start": at}], past=past(told))
    assert imports(ben, line).status == "created"
    ben.restores(MEMORY, told["id"])
    assert not ben.meta(MEMORY).live
    assert ben.meta(MEMORY).superseded_by is None
    assert ada.table.query(LinkOut, foreign).records == ()


def test_undoing_a_move_that_a_record_tells_gives_the_memory_no_strange_owner(
    ada: Someone, ben: Someone
):
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    told = change(
        {"scope": team.path, "owner": PERSON}, {"scope": "personal", "owner": "me"}, action="move"
    )
    assert imports(ben, record(past=past(told))).status == "created"
    ben.restores(MEMORY, told["id"])
    assert (ben.meta(MEMORY).scope, ben.meta(MEMORY).owner) == (team.scope, ada.person)


@pytest.mark.parametrize("stranger", [None, PERSON, "a former member"])
def test_nobody_is_named_as_the_author_of_what_somebody_else_imports(
    ada: Someone, ben: Someone, stranger: str | None
):
    other = stranger or ada.person
    line = record(
        author=other,
        author_kind="human",
        authority=2,
        conversation="talk",
        past=past(
            change(None, {}, by=other, action="remember"),
            disputes=[DOUBT | {"by": other}],
            dispute=DOUBT["id"],
        ),
    )
    assert imports(ben, line).status == "created"
    meta = ben.meta(MEMORY)
    assert (meta.author, meta.author_kind, meta.authority) == (ben.principal, "agent", 1)
    assert meta.conversation == f"{ben.principal}#talk"
    shown = ben.calls(memory_history.TOOL, memory_id=MEMORY)
    assert {shown.dispute.raised_by, *(each.by for each in shown.audit)} == {ben.principal}


def test_what_one_wrote_oneself_keeps_its_authority(ada: Someone):
    line = record(author="me.desk", author_kind="human", authority=2)
    assert imports(ada, line).status == "created"
    meta = ada.meta(MEMORY)
    assert (meta.author, meta.author_kind, meta.authority) == (f"{ada.person}.desk", "human", 2)


def guesses(line: Line, guess: str) -> list[Line]:
    at = "2027-01-15T08:00:00.000Z"
    ended = lives(START, START) | {"superseded_by": guess}
    return [
        line | {"links": [LINK | {"target": guess}]},
        line | {"follows": [guess]},
        dead(superseded_by=guess) | {"state": "superseded"},
        line | {"past": past(change({"link": None}, {"link": ["relates_to", guess]}))},
        dead(past=past(change(lives(START) | {"superseded_by": None}, ended))) | {"created_at": at},
    ]


@pytest.mark.parametrize("which", range(5))
def test_an_export_does_not_tell_foreign_memories_from_none(
    ada: Someone, arrive: Callable[[], Someone], which: int
):
    foreign = ada.knows("Ada's own.")
    texts: list[str] = []
    for number, guess in enumerate((foreign, NOBODYS)):
        ben = arrive()
        line = guesses(record(id=f"mem_01MCC5RM008A4RCTS83QW0FAY{number}"), guess)[which]
        line["id"] = f"mem_01MCC5RM008A4RCTS83QW0FAY{number}"
        assert imports(ben, line).status == "created"
        (text,) = exported(ben, "jsonl").values()
        assert guess not in text
        texts.append(re.sub(r"aud_\w+", "", text.replace(line["id"], MEMORY)))
    assert texts[0] == texts[1]


def test_only_whose_it_was_learns_that_a_memory_was_erased(
    ada: Someone, ben: Someone, arrive: Callable[[], Someone]
):
    team, eve = ada.project("team"), arrive()
    ada.lets_in(ben, team, "writer")
    memory_id, kept = ada.knows("one"), ada.knows("two")
    share(ada.table, ada.clock, ada.actor, memory_id, scope=team.scope)
    ada.calls(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)
    for who in (ada, ben):
        assert "erased here for good" in imports(who, record(id=memory_id)).message
    answers = [imports(eve, record(id=each)) for each in (memory_id, kept)]
    assert {(each.code, each.message) for each in answers} == {
        ("conflict", "This id is taken; import the text as a new memory.")
    }


def test_a_past_of_real_steps_is_undone_after_an_import(clock: ManualClock):
    with empty_home(clock) as ada, empty_home(clock) as there:
        memory_id = ada.knows("one")
        clock.advance(seconds=1)
        challenge(ada.table, clock, ada.actor, memory_id, reason="doubt")
        clock.advance(seconds=1)
        ada.forgets(memory_id)
        imported(there, exported(ada, "jsonl"))
        there.restores(memory_id)
        assert there.meta(memory_id).live
        doubted = next(each for each in there.audits(memory_id) if each.action == "challenge")
        there.restores(memory_id, doubted.audit_id)
        assert there.meta(memory_id).dispute is None
        with pytest.raises(Refusal) as refusal:
            there.restores(memory_id, there.audits(memory_id)[0].audit_id)
        assert refused(refusal) == "validation_failed"
