"""The write path: what is stored, what is absorbed, what is retired."""

from typing import Any, cast

import pytest
from msgspec.structs import replace

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, refused
from tests.hashing_embedder import HashingEmbedder
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.model import (
    AUTHORITY_AGENT,
    AUTHORITY_HUMAN,
    AUTHORITY_PROVISIONAL,
    DuplicateClaim,
    EntityName,
    IdempotentAnswer,
    LinkIn,
    LinkOut,
    Mention,
    Meta,
    Passage,
    PendingMarker,
    SearchRecord,
    StoredBody,
)
from zero_memory.memory.moving import move
from zero_memory.memory.reading import with_bodies
from zero_memory.memory.write import remember as write
from zero_memory.ports.table import Check, Put, Table
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.members import make_team, remove
from zero_memory.scopes.model import GRANTS, Grant
from zero_memory.tools import entities, remember

ANYTHING_ELSE = [
    ("The database is at 10.0.7.1", "The database is at 10.0.9.1"),
    ("X is blue", "X is green"),
    ("Retries are on", "Retries are not on"),
    ("The service is written in C", "The service is written in C++"),
]

SAME_WORDS = [
    ("The deploy runs on Friday", "  Deploy  runs\ton\nFriday!  "),
    ("Postgres (the database) is slow", "Postgres, database, is slow"),
]


def content_of(writer: Someone, memory_id: str) -> str:
    (memory,) = with_bodies(writer.table, [writer.meta(memory_id)])
    return memory.body.content


# ------------------------------------------------------------------ what is stored


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "  outer blanks and\r\nline ends stay \n",
        "e\u0301 and \u00e9 are two spellings",
        "漢字 🐘\u200d🐘 \u202eright to left\u202c",
        "long " * 6_400,
    ],
)
def test_content_is_kept_to_the_byte(ada: Someone, content: str):
    assert content_of(ada, ada.knows(content)) == content


def test_a_short_body_rides_in_the_record_and_a_long_one_has_its_own(ada: Someone):
    short, long = ada.knows("short"), ada.knows("long " * 200)
    assert ada.meta(short).body is not None
    assert ada.table.get(StoredBody, short) is None
    assert ada.meta(long).body is None
    assert ada.table.get(StoredBody, long) is not None


def test_everything_that_finds_a_memory_is_written_with_it(ada: Someone):
    memory_id = ada.knows("Redis holds the sessions", entities=("Redis", "Sessions"))
    meta, scope = ada.meta(memory_id), ada.scope.scope
    assert ada.table.get(SearchRecord, scope, memory_id) is not None
    assert ada.table.get(PendingMarker, scope, memory_id) == PendingMarker(scope, memory_id, 1)
    claim = ada.table.get(DuplicateClaim, scope, meta.digest)
    assert claim is not None
    assert claim.memory_id == memory_id
    mentions = ada.table.query(Mention, scope, "redis").records
    assert [(each.memory_id, each.others) for each in mentions] == [(memory_id, ("Sessions",))]
    assert [record.action for record in ada.audits(memory_id)] == ["remember"]
    assert meta.author == ada.principal
    assert meta.owner == ada.person


def test_a_memory_names_those_that_were_written_right_before_it_in_its_scope(ada: Someone):
    elsewhere = ada.at(ada.project("shop"))
    written: list[str] = []
    for number in range(4):
        cast("ManualClock", ada.clock).advance(seconds=1)
        written.append(ada.knows(f"Fact {number}"))
        elsewhere.knows(f"Fact {number}")
    first, second, third, _ = written
    follows = [ada.meta(each).follows for each in written]
    assert follows == [(), (first,), (second, first), (third, second)]


def test_a_memory_that_cannot_be_read_keeps_no_other_from_being_written(ada: Someone):
    odd: Any = "odd"
    memory_id, scope = ada.knows("The newest"), ada.scope.scope
    ada.table.transact(
        [
            Put(replace(ada.meta(memory_id), kind=odd)),
            Put(SearchRecord(scope, memory_id, passage=odd)),
        ]
    )
    assert ada.meta(ada.knows("The next")).follows == (memory_id,)


def test_a_text_of_many_windows_says_how_many(ada: Someone):
    written = ada.remembers("word " * 1_000)
    assert written.windows > 1
    record = ada.table.get(SearchRecord, ada.scope.scope, written.memory_id)
    assert record is not None
    assert len(record.passage.windows) == written.windows
    assert record.passage.windows[-1].end == len(("word " * 1_000).strip())


def test_the_largest_write_that_the_contract_allows_fits_into_one_transaction(ada: Someone):
    targets = tuple(ada.knows(f"target {number}") for number in range(10))
    linked = tuple(ada.knows(f"linked {number}") for number in range(5))
    restated = ada.knows("The summary")
    written = ada.remembers(
        "the summary.",
        supersedes=targets,
        links=tuple(("relates_to", each) for each in linked),
        entities=tuple(f"entity {number}" for number in range(32)),
        original="x" * 32_000,
        source_json="y" * 4_096,
        key="once",
    )
    assert set(written.superseded) == {*targets, restated}
    everything = "".join(f"{number:07} " for number in range(4_000))
    assert ada.remembers(everything[:32_000]).windows > 1


def test_links_that_supersede_count_among_the_superseded(ada: Someone):
    targets = [ada.knows(f"target {number}") for number in range(11)]
    how: dict[str, Any] = {
        "content": "the summary.",
        "scope": "personal",
        "entities": [f"entity {number}" for number in range(32)],
        "links": [{"type": "supersedes", "target": target} for target in targets[6:]],
        "idempotency_key": "k",
    }
    with pytest.raises(Refusal) as refusal:
        ada.calls(remember.TOOL, supersedes=targets[:6], **how)
    assert refused(refusal) == "validation_failed"
    assert set(ada.lists()) == set(targets)
    written = ada.calls(remember.TOOL, supersedes=targets[1:7], **how)
    assert set(written.superseded) == set(targets[1:])


# ------------------------------------------------------------------ what is the same


def test_an_exact_duplicate_is_absorbed_by_the_memory_that_says_it(ada: Someone):
    first = ada.remembers("Deploys run on Friday")
    again = ada.remembers("  Deploys run on Friday\r\n", talk="another talk")
    assert again == type(again)(first.memory_id, deduplicated=True, windows=1)
    assert ada.lists() == [first.memory_id]


def test_an_exact_duplicate_is_absorbed_whatever_its_authority(ada: Someone):
    first = ada.remembers("Deploys run on Friday", authority=AUTHORITY_PROVISIONAL)
    again = ada.remembers("Deploys run on Friday", authority=AUTHORITY_HUMAN)
    assert again.memory_id == first.memory_id


def test_the_same_words_as_another_kind_or_in_another_scope_are_another_memory(ada: Someone):
    first = ada.knows("Deploys run on Friday")
    ada.knows("Deploys run on Friday", kind="convention")
    ada.at(ada.project("api")).knows("Deploys run on Friday")
    assert len(ada.lists()) == 3
    assert first in ada.lists()


def test_what_a_duplicate_supersedes_is_retired_by_the_memory_that_absorbs_it(ada: Someone):
    target, absorber = ada.knows("Deploys run on Monday"), ada.knows("Deploys run on Friday")
    again = ada.remembers("Deploys run on Friday", supersedes=(target,))
    assert again.deduplicated
    assert again.superseded == (target,)
    assert ada.meta(target).superseded_by == absorber
    assert ada.table.get(LinkOut, absorber, "supersedes", target) is not None


def test_a_forgotten_memory_absorbs_nothing(ada: Someone):
    first = ada.knows("Deploys run on Friday")
    ada.forgets(first)
    assert ada.knows("Deploys run on Friday") != first


def test_a_restatement_in_its_conversation_retires_the_earlier(ada: Someone):
    for number, (earlier, later) in enumerate(SAME_WORDS):
        talk = f"talk {number}"
        first = ada.knows(earlier, talk=talk)
        written = ada.remembers(later, talk=talk)
        assert written.superseded == (first,)
        assert ada.meta(first).superseded_by == written.memory_id
        assert ada.audits(first)[-1].action == "restate"
        assert ada.table.get(LinkOut, written.memory_id, "supersedes", first) is not None
        ada.forgets(written.memory_id)
    assert ada.lists() == []


def test_a_restatement_of_lower_authority_is_absorbed(ada: Someone):
    for number, (earlier, later) in enumerate(SAME_WORDS):
        talk = f"talk {number}"
        first = ada.knows(earlier, authority=AUTHORITY_HUMAN, talk=talk)
        again = ada.remembers(later, authority=AUTHORITY_AGENT, talk=talk)
        assert again.deduplicated
        assert again.memory_id == first
        ada.forgets(first)
    assert ada.lists() == []


def test_a_restatement_of_higher_authority_retires_the_earlier(ada: Someone):
    first = ada.knows("The deploy runs on Friday", authority=AUTHORITY_AGENT)
    written = ada.remembers("the deploy runs on friday.", authority=AUTHORITY_HUMAN)
    assert written.superseded == (first,)


@pytest.mark.parametrize("talk", ["another talk", None])
def test_the_same_words_in_another_conversation_are_another_memory(ada: Someone, talk: str | None):
    ada.knows("The deploy runs on Friday")
    ada.knows("the deploy runs on friday.", talk=talk)
    assert len(ada.lists()) == 2


def test_two_writes_without_a_conversation_restate_nothing(ada: Someone):
    ada.knows("The deploy runs on Friday", talk=None)
    ada.knows("the deploy runs on friday.", talk=None)
    assert len(ada.lists()) == 2


def test_what_says_anything_else_is_stored_beside_it(ada: Someone):
    for earlier, later in ANYTHING_ELSE:
        first, second = ada.knows(earlier), ada.knows(later)
        assert set(ada.lists()) == {first, second}, later
        ada.forgets(first)
        provisional = ada.knows(earlier + " ", authority=AUTHORITY_PROVISIONAL)
        assert set(ada.lists()) == {second, provisional}, later
        ada.forgets(second)
        ada.forgets(provisional)


def test_a_provisional_write_yields_to_an_authoritative_one_of_any_conversation(ada: Someone):
    first = ada.at(ada.project("api")).knows("The deploy runs on Friday")
    again = ada.remembers(
        "the deploy runs on friday.", talk="another", authority=AUTHORITY_PROVISIONAL
    )
    assert again.deduplicated
    assert again.memory_id == first


def test_a_provisional_write_does_not_yield_to_another_provisional_one(ada: Someone):
    ada.knows("The deploy runs on Friday", authority=AUTHORITY_PROVISIONAL)
    ada.knows("the deploy runs on friday.", talk="another", authority=AUTHORITY_PROVISIONAL)


def test_a_provisional_write_never_yields_to_what_its_writer_may_not_see(
    ada: Someone, ben: Someone
):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    ada.knows("The deploy runs on Friday")
    written = ben.at(shared).remembers(
        "the deploy runs on friday.", authority=AUTHORITY_PROVISIONAL
    )
    assert not written.deduplicated


def test_a_provisional_write_supersedes_nothing(ada: Someone):
    target = ada.knows("Deploys run on Monday")
    with pytest.raises(Refusal) as refusal:
        ada.remembers(
            "Deploys run on Friday", supersedes=(target,), authority=AUTHORITY_PROVISIONAL
        )
    assert refused(refusal) == "forbidden"
    assert ada.lists() == [target]


# ------------------------------------------------------------------ superseding


def test_a_superseded_memory_names_its_successor_and_keeps_its_life(
    ada: Someone, clock: ManualClock
):
    target = ada.knows("Deploys run on Monday")
    clock.advance(hours=1)
    written = ada.remembers("Deploys run on Friday", supersedes=(target,))
    meta = ada.meta(target)
    assert (meta.live, meta.superseded_by, meta.invalidated_at) == (
        False,
        written.memory_id,
        clock.now(),
    )
    assert [(each.start, each.end) for each in meta.alive] == [(meta.created_at, clock.now())]
    assert ada.audits(target)[-1].action == "supersede"
    assert ada.lists() == [written.memory_id]


def test_dead_and_missing_targets_are_skipped_and_named(ada: Someone):
    dead, live, missing = ada.knows("one"), ada.knows("two"), "mem_00000000000000000000000000"
    ada.forgets(dead)
    written = ada.remembers("three", supersedes=(dead, live, missing))
    assert written.superseded == (live,)
    assert set(written.skipped) == {(dead, "dead"), (missing, "missing")}


def test_a_memory_never_supersedes_itself(ada: Someone):
    first = ada.knows("one")
    again = ada.remembers("one", supersedes=(first,))
    assert again.skipped == ((first, "self"),)
    assert ada.meta(first).live


def test_a_target_that_the_caller_may_not_see_fails_the_whole_write(ada: Someone, ben: Someone):
    foreign, own = ben.knows("a secret plan"), ada.knows("one")
    with pytest.raises(Refusal) as refusal:
        ada.remembers("two", supersedes=(own, foreign))
    assert refused(refusal) == "not_found"
    assert ada.lists() == [own]
    assert ben.meta(foreign).live


def test_a_target_that_the_caller_may_only_read_fails_the_whole_write(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "reader")
    target = ada.at(shared).knows("one")
    with pytest.raises(Refusal) as refusal:
        ben.remembers("two", supersedes=(target,))
    assert refused(refusal) == "forbidden"
    assert ben.lists() == [target]


def test_a_writer_of_its_scope_may_supersede_what_another_wrote(ada: Someone, ben: Someone):
    shared = ada.project("api")
    ada.lets_in(ben, shared, "writer")
    target = ada.at(shared).knows("one")
    assert ben.at(shared).remembers("two", supersedes=(target,)).superseded == (target,)
    assert ada.audits(target)[-1].principal == ben.principal


def test_superseding_an_open_loop_closes_it(ada: Someone):
    loop = ada.knows("Port the tests", kind="task")
    ada.knows("The tests are ported", supersedes=(loop,))
    assert not ada.meta(loop).live
    assert loop not in ada.lists(kinds=frozenset(("task",)))


# ------------------------------------------------------------------ links and entities


def test_links_stand_at_both_ends(ada: Someone):
    target = ada.knows("one")
    source = ada.knows("two", links=(("relates_to", target), ("relates_to", target)))
    assert [each.source for each in ada.table.query(LinkIn, target).records] == [source]
    assert [each.target for each in ada.table.query(LinkOut, source).records] == [target]


def test_a_link_into_the_dark_fails_the_whole_write(ada: Someone, ben: Someone):
    foreign = ben.knows("a secret plan")
    for target in (foreign, "mem_00000000000000000000000000"):
        with pytest.raises(Refusal) as refusal:
            ada.remembers("two", links=(("relates_to", target),))
        assert refused(refusal) == "not_found"
    assert ada.lists() == []


def test_spellings_of_an_entity_meet(ada: Someone):
    first = ada.knows("one", entities=("Postgres",))
    second = ada.knows("two", entities=("POSTGRES", "postgres."))
    third = ada.knows("three", entities=("\uff30ostgres",))
    mentions = ada.table.query(Mention, ada.scope.scope, "postgres").records
    assert {each.memory_id for each in mentions} == {first, second, third}
    assert {each.name for each in mentions} == {"Postgres", "POSTGRES", "\uff30ostgres"}


def test_a_write_that_names_no_entity_is_anchored_to_those_that_its_text_speaks(ada: Someone):
    ada.knows("one", entities=("Redis", "event bus", "C++"))
    memory_id = ada.knows("The Event  Bus, written in C++, outlives redis-py.")
    (memory,) = with_bodies(ada.table, [ada.meta(memory_id)])
    assert set(memory.body.entities) == {"event bus", "C++"}


def test_a_name_is_known_however_many_a_scope_has(ada: Someone, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("zero_memory.memory.entities._NAMES_READ", 1)
    names = ["Postgres", "Release Train", "billing-api"]
    ada.knows("one", entities=tuple(names))
    anchored = ada.calls(
        remember.TOOL,
        content="The release train stops \uff30ostgres and billing-api.",
        scope="personal",
    )
    assert set(anchored.anchors) == set(names)
    for name in names:
        nodes = ada.calls(entities.TOOL, query=name).nodes
        assert [node.name for node in nodes] == [name]


def test_anchoring_never_invents_an_entity_nor_takes_one_of_another_scope(ada: Someone):
    ada.at(ada.project("api")).knows("one", entities=("Redis",))
    memory_id = ada.knows("Redis holds the sessions")
    (memory,) = with_bodies(ada.table, [ada.meta(memory_id)])
    assert memory.body.entities == ()
    assert ada.table.query(EntityName, ada.scope.scope).records == ()


# ------------------------------------------------------------------ idempotency


def test_a_repeated_key_happens_once_and_answers_the_same(ada: Someone, clock: ManualClock):
    target = ada.knows("old")
    first = ada.remembers("new", supersedes=(target,), key="k")
    clock.advance(hours=24)
    assert ada.remembers("new", supersedes=(target,), key="k") == first
    ada.forgets(first.memory_id)
    assert ada.remembers("new", supersedes=(target,), key="k") == first
    assert ada.lists() == []


def test_another_request_under_a_used_key_is_refused(ada: Someone):
    first = ada.knows("one", key="k", request="a")
    with pytest.raises(Refusal) as refusal:
        ada.remembers("two", key="k", request="b")
    assert refused(refusal) == "conflict"
    assert ada.lists() == [first]


def test_another_principal_may_use_the_same_key(ada: Someone, ben: Someone):
    assert len({each.knows("one", key="k") for each in (ada, ben)}) == 2
    assert not ada.as_another().remembers("two", key="k", request="b").deduplicated


def test_an_absorbed_write_with_a_key_answers_the_same_again(ada: Someone):
    first = ada.knows("one")
    again = ada.remembers("one", key="k")
    ada.forgets(first)
    assert ada.remembers("one", key="k") == again


def test_a_refused_write_does_not_use_up_its_key(ada: Someone):
    with pytest.raises(Refusal):
        ada.remembers("one", key="k", links=(("relates_to", "mem_00000000000000000000000000"),))
    assert not ada.remembers("one", key="k").deduplicated


def test_answers_expire_after_seven_days(ada: Someone, clock: ManualClock):
    ada.knows("one", key="k")
    kept = ada.table.get(IdempotentAnswer, ada.principal, "remember", "k")
    assert kept is not None
    assert kept.expires_at == clock.now() // 1_000 + 7 * 24 * 3_600


# ------------------------------------------------------------------ all or nothing


class Crash(Exception):
    """The process is no more."""


class Dying:
    """A table whose process dies before or after its n-th transaction."""

    def __init__(self, table: Table, transaction: int, *, after: bool) -> None:
        self._table = table
        self._left = transaction
        self._after = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def transact(self, actions: Any) -> None:
        if self._left == 0 and not self._after:
            raise Crash
        self._table.transact(actions)
        if self._left == 0:
            raise Crash
        self._left -= 1


@pytest.mark.parametrize(("transaction", "after"), [(0, False), (0, True), (1, False), (1, True)])
def test_a_crash_between_any_two_steps_leaves_all_or_nothing(
    ada: Someone, transaction: int, after: bool
):
    target = ada.knows("old")
    dying = Dying(ada.table, transaction, after=after)
    crashing = Someone(dying, ada.clock, ada.person, ada.principal, ada.scope)  # pyright: ignore[reportArgumentType]
    how: dict[str, Any] = {"supersedes": (target,), "entities": ("Redis",), "key": "k"}
    with pytest.raises(Crash):
        crashing.remembers("new", **how)
    happened = (transaction, after) == (1, True)
    assert ada.meta(target).live is not happened
    assert len(ada.lists()) == 1
    # An entity that no memory speaks of is seen by nobody.
    assert len(ada.table.query(Mention, ada.scope.scope, "redis").records) == happened
    written = ada.remembers("new", **how)
    assert ada.lists() == [written.memory_id]
    assert written.superseded == (target,)
    assert len(ada.table.query(Mention, ada.scope.scope, "redis").records) == 1


def test_entity_names_are_known_before_the_one_transaction_of_everything_else(ada: Someone):
    transactions: list[list[type]] = []

    class Watching(Dying):
        def transact(self, actions: Any) -> None:
            transactions.append(
                [type(each.record) for each in actions if isinstance(each, Put)]
                + [Check for each in actions if isinstance(each, Check)]
            )
            self._table.transact(actions)

    watched = Watching(ada.table, 0, after=False)
    Someone(watched, ada.clock, ada.person, ada.principal, ada.scope).remembers(  # pyright: ignore[reportArgumentType]
        "new", entities=("Redis",), key="k"
    )
    names, everything = transactions
    assert names == [EntityName]
    assert {Meta, SearchRecord, Mention, DuplicateClaim, IdempotentAnswer} <= set(everything)


def test_nothing_is_embedded_for_a_duplicate(ada: Someone):
    ada.knows("one")

    def fail(text: str) -> Any:
        raise AssertionError(text)

    assert write(ada.table, ada.clock, ada.submission("one"), fail).deduplicated


def test_words_that_were_being_read_while_their_writer_was_removed_are_refused(
    ada: Someone, ben: Someone
):
    team = make_team(ada.table, ada.clock, ada.access, "ops")
    ada.lets_in(ben, team, "writer")

    def slowly(text: str) -> Passage:
        remove(ada.table, ada.access, team.path, ben.person)
        return read_passage(HashingEmbedder(), text)

    with pytest.raises(Refusal) as refusal:
        write(ben.table, ben.clock, ben.at(team).submission("too late"), slowly)
    assert refused(refusal) == "forbidden"
    assert ada.lists() == []


def test_who_only_reads_a_scope_writes_nothing_there(ada: Someone, ben: Someone):
    team = make_team(ada.table, ada.clock, ada.access, "ops")
    ada.lets_in(ben, team, "reader")
    for place in (team, ada.scope):
        with pytest.raises(Refusal) as refusal:
            ben.at(place).remembers("not for me to say")
        assert refused(refusal) == "forbidden"
    assert ada.lists() == []


def test_a_refused_write_leaves_no_name_behind(ada: Someone, ben: Someone):
    team = make_team(ada.table, ada.clock, ada.access, "ops")
    ada.lets_in(ben, team, "reader")
    kept = ada.at(team).knows("The ferry leaves at six")
    with pytest.raises(Refusal):
        ben.remembers("It leaves at nine", entities=("Ghost Quay",), supersedes=(kept,))
    written = ben.calls(remember.TOOL, content="ghost quay is far", scope="personal")
    assert written.anchors == []


def test_a_refused_move_tells_the_scope_no_name(ada: Someone):
    project = ada.project("api")
    private = ada.knows("The ferry leaves at six", entities=("Ghost Quay",))
    ada.at(project).knows("The ferry leaves at six")
    with pytest.raises(Refusal) as refusal:
        move(ada.table, ada.clock, ada.actor, private, scope=project.scope, owner=project.owner)
    assert refused(refusal) == "conflict"
    written = ada.calls(remember.TOOL, content="ghost quay is far", scope=project.path)
    assert written.anchors == []


def test_a_dead_target_may_be_linked_to_by_the_same_call(ada: Someone):
    dead = ada.knows("one")
    ada.forgets(dead)
    arguments: dict[str, Any] = {
        "supersedes": [dead],
        "links": [{"type": "relates_to", "target": dead}],
        "idempotency_key": "once",
    }
    first = ada.calls(remember.TOOL, content="two", scope="personal", **arguments)
    again = ada.calls(remember.TOOL, content="two", scope="personal", **arguments)
    assert first.id == again.id


def test_who_may_not_read_is_shown_nothing_similar(ada: Someone):
    ada.knows("Confidential: the merger with Initech closes on 4 March")
    asked = remember.TOOL.input(content="The merger with Initech", scope="personal")
    cases: list[tuple[tuple[Grant, ...], int]] = [(GRANTS, 1), (("memory:write",), 0)]
    for grants, shown in cases:
        caller = Caller(ada.person, ada.principal, frozenset(grants))
        answer = remember.TOOL.run(ada.ports, caller, asked)
        assert len(answer.similar_existing) == shown
        ada.forgets(answer.id)
