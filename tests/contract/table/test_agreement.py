"""Both homes, driven with the same calls, give the same answers."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from typing_extensions import override

from tests.homes import dynamo_home
from tests.records import meta
from zero_memory.adapters.schema import pattern_of
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import (
    AuditRecord,
    ConversationEntry,
    Mention,
    Meta,
    PendingMarker,
    TimelineEntry,
)
from zero_memory.ports.table import (
    Absent,
    Action,
    AttributeIs,
    Check,
    Condition,
    ConditionFailed,
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
from zero_memory.scopes.model import Scope

IDS = st.sampled_from(["mem_1", "mem_10", "mem_2", "mem_#", "mem_ü"])
SCOPES = st.sampled_from(["scp_1", "scp_10", "scp_1#knowledge"])

RECORDS: st.SearchStrategy[Any] = st.one_of(
    st.builds(
        meta,
        IDS,
        scope=SCOPES,
        revision=st.integers(1, 2),
        timeline=st.sampled_from([None, "knowledge", "loops"]),
        conversation=st.sampled_from([None, "talk"]),
        superseded_by=st.none() | IDS,
    ),
    st.builds(PendingMarker, SCOPES, IDS, st.integers(1, 2)),
    st.builds(Mention, SCOPES, st.sampled_from(["a", "a#b"]), IDS, st.just("A"), st.tuples(IDS)),
    st.builds(
        AuditRecord,
        IDS,
        IDS,
        st.just("forget"),
        st.integers(),
        st.just("p"),
        st.integers(1, 2),
        st.just("{}"),
        st.just("{}"),
    ),
    st.builds(Scope, SCOPES, st.just("a.b"), st.just("team"), IDS, st.just(1)),
)


def _address(record: Any) -> Ref[Any]:
    kind = cast("type[Any]", type(record))
    return ref(kind, *(getattr(record, part) for part in pattern_of(kind).parts))


REFS = RECORDS.map(_address)


def _conditions(record: type[Any]) -> st.SearchStrategy[Condition]:
    conditions: list[st.SearchStrategy[Condition]] = [
        st.builds(Absent),
        st.builds(Present),
    ]
    if "revision" in pattern_of(record).attributes:
        conditions.append(st.builds(RevisionIs, st.integers(1, 2)))
    if record is Meta:
        conditions.append(st.builds(AttributeIs, st.just("superseded_by"), IDS))
    return st.one_of(conditions)


def _puts(record: Any) -> st.SearchStrategy[Action]:
    kind = cast("type[Any]", type(record))
    return st.builds(Put, st.just(record), st.none() | _conditions(kind))


def _others(at: Ref[Any]) -> st.SearchStrategy[Action]:
    conditions = _conditions(at.record)
    return st.builds(Delete, st.just(at), st.none() | conditions) | st.builds(
        Check, st.just(at), conditions
    )


ACTIONS: st.SearchStrategy[Action] = RECORDS.flatmap(_puts) | REFS.flatmap(_others)

QUERIES: st.SearchStrategy[tuple[type[Any], tuple[str, ...]]] = st.one_of(
    st.tuples(st.just(PendingMarker), st.tuples(SCOPES)),
    st.tuples(st.just(AuditRecord), st.tuples(IDS)),
    st.tuples(st.just(Mention), st.tuples(SCOPES, st.sampled_from(["a", "a#b"]))),
    st.tuples(st.just(TimelineEntry), st.tuples(SCOPES, st.sampled_from(["knowledge", "loops"]))),
    st.tuples(st.just(ConversationEntry), st.just(("talk",))),
)


class Homes(RuleBasedStateMachine):
    """One table in each home."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._sqlite = SqliteTable(Path(self._folder.name) / "home" / "table.sqlite3")
        self._homes: tuple[Table, Table] = (self._sqlite, dynamo_home(client))

    @override
    def teardown(self) -> None:
        self._sqlite.close()
        self._folder.cleanup()

    def _both(self, call: Callable[[Table], Any]) -> Any:
        answers: list[Any] = []
        for home in self._homes:
            try:
                answers.append(call(home))
            except ConditionFailed as failure:
                answers.append(failure.failed)
            except LimitExceeded as failure:
                answers.append(str(failure))
        assert answers[0] == answers[1]
        return answers[0]

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=5))
    def transact(self, actions: list[Action]) -> None:
        self._both(lambda home: home.transact(actions))

    @rule(refs=st.lists(REFS, max_size=4))
    def read(self, refs: list[Ref[Any]]) -> None:
        many = self._both(lambda home: home.get_many(refs))
        assert many == [self._homes[0].get(at.record, *at.parts) for at in refs]

    @rule(
        query=QUERIES,
        bounds=st.fixed_dictionaries({}, optional={"since": IDS, "until": IDS}),
        limit=st.integers(1, 3),
        newest_first=st.booleans(),
    )
    def page_through(
        self,
        query: tuple[type[Any], tuple[str, ...]],
        bounds: dict[str, str],
        limit: int,
        newest_first: bool,
    ) -> None:
        record, parts = query

        def pages(home: Table) -> list[Any]:
            found: list[Any] = []
            after: str | None = None
            while True:
                page: Page[Any] = home.query(
                    record, *parts, after=after, limit=limit, newest_first=newest_first, **bounds
                )
                found += page.records
                after = page.next
                if after is None:
                    return found

        self._both(pages)

    @rule(scope=SCOPES, limit=st.integers(1, 3), newest_first=st.booleans())
    def list_keys(self, scope: str, limit: int, newest_first: bool) -> None:
        def keys(home: Table) -> list[str]:
            found: list[str] = []
            after: str | None = None
            while True:
                page = home.keys(
                    PendingMarker, scope, after=after, limit=limit, newest_first=newest_first
                )
                found += page.records
                after = page.next
                if after is None:
                    return found

        self._both(keys)

    @rule()
    def list_scopes(self) -> None:
        self._both(lambda home: home.query(Scope).records)


def test_both_homes_answer_every_call_alike(dynamodb_client: Any):
    new_homes: Any = partial(Homes, dynamodb_client)
    run_state_machine_as_test(
        new_homes,
        settings=settings(max_examples=20, stateful_step_count=15, deadline=None),
    )
