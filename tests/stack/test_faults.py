"""What may go wrong between a write and its place in the index: nothing is lost or doubled."""

import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from tests.relay import HUNG_UP, Answer, Ask, Meddling, Relay, Request
from tests.samples import sample
from tests.stack.alarms import Watch
from tests.stack.conftest import Node
from tests.stack.faults import (
    Effects,
    caller,
    half_read,
    in_conflict,
    meddling,
    operation,
    some,
    throttled,
    unheard,
)
from tests.stack.home import POLL_S, Home, Someone
from tests.stack.stack import Stack
from zero_memory.memory.model import Meta

pytestmark = pytest.mark.timeout(300)

WAIT_S = 90
ANYTIMES = 1_000
PROJECT = "https://example.org/atlas.git"


@pytest.fixture
def stack(stack_with_domain: Stack) -> Generator[Stack]:
    yield stack_with_domain
    assert stack_with_domain.stream.given_up == []


@pytest.fixture
def home(stack: Stack) -> Home:
    return Home(stack.api_url, "domain", stack.table)


@pytest.fixture
def node(stack: Stack) -> Relay:
    assert stack.node is not None
    return stack.node


def stored(node: Relay, someone: Someone) -> list[str]:
    """The ids of all that the index holds of a person's scopes."""
    query = {"size": 100, "query": {"terms": {"visible_in": someone.scopes()}}}
    asked = f"{node.target}/memories/_search?_source=false&ignore_unavailable=true"
    answer = httpx.post(asked, json=query)
    return sorted(hit["_id"] for hit in answer.raise_for_status().json()["hits"]["hits"])


def holds(node: Relay, someone: Someone, ids: list[str]) -> bool:
    """Whether the index holds exactly these of a person's scopes."""
    return stored(node, someone) == sorted(ids)


def version(node: Relay, memory_id: str) -> int | None:
    """The revision that the index holds of a memory."""
    return (
        httpx.get(f"{node.target}/memories/_doc/{memory_id}?_source=false").json().get("_version")
    )


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(POLL_S)


# A function's process ends


def contents(someone: Someone) -> list[str]:
    """The words of all live memories of somebody."""
    listed = someone.call("list_memories", limit=100)["memories"]
    return sorted(memory["preview"] for memory in listed)


@dataclass(frozen=True)
class Deed:
    """A call of one function: what comes before it, how it is made, and what it must come to."""

    function: str
    prepare: Callable[[Someone], Any]
    do: Callable[[Someone, Any], httpx.Response]
    check: Callable[[Someone, Any, Relay], None]
    indexed_first: bool = False


def nothing(someone: Someone) -> None:
    return


def two(someone: Someone) -> list[str]:
    return [someone.remembers(f"Page {number} shows a river") for number in (1, 2)]


def remember(someone: Someone, _: None) -> httpx.Response:
    once = {"idempotency_key": "once", "scope": "personal"}
    return someone.asks("remember", content="The river runs north", **once)


def is_remembered(someone: Someone, _: None, node: Relay) -> None:
    assert contents(someone) == ["The river runs north"]


def import_two(someone: Someone, _: None) -> httpx.Response:
    items = [{"path": f"{name}.md", "text": f"{name} is a river"} for name in ("Elbe", "Oder")]
    return someone.asks("import_memory", items=items, scope="personal")


def are_imported(someone: Someone, _: None, node: Relay) -> None:
    assert contents(someone) == ["Elbe is a river", "Oder is a river"]


def move(someone: Someone, ids: list[str]) -> httpx.Response:
    return someone.asks("move_memories", ids=ids, project_hint=PROJECT)


def are_moved(someone: Someone, ids: list[str], node: Relay) -> None:
    listed = someone.call("list_memories")["memories"]
    assert sorted(memory["id"] for memory in listed) == sorted(ids)
    (scope,) = {memory["scope"] for memory in listed}
    assert scope.startswith("proj.")


def erase(someone: Someone, ids: list[str]) -> httpx.Response:
    return someone.asks("erase_memory", memory_id=ids[0], confirm=ids[0])


def is_erased(someone: Someone, ids: list[str], node: Relay) -> None:
    gone, kept = ids
    assert [memory["id"] for memory in someone.call("list_memories")["memories"]] == [kept]
    assert someone.call("recall", ids=[gone])["missing"] == [gone]
    until(lambda: holds(node, someone, [kept]), "the index keeps what is erased")


DEEDS = {
    "remember": Deed("RememberFunction", nothing, remember, is_remembered),
    "import": Deed("ImportMemoryFunction", nothing, import_two, are_imported),
    "move": Deed("MoveMemoriesFunction", two, move, are_moved),
    "erase": Deed("EraseMemoryFunction", two, erase, is_erased, indexed_first=True),
}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_what_was_cut_off_between_two_effects_is_whole_when_it_is_sent_again(
    stack: Stack, home: Home, node: Relay, deed: Deed
) -> None:
    def prepared(times: int) -> list[tuple[Someone, Any]]:
        people = [home.someone() for _ in range(times)]
        given = [(someone, deed.prepare(someone)) for someone in people]
        if deed.indexed_first:
            for someone, ids in given:
                until(partial(holds, node, someone, ids), "the index lacks what is to be erased")
        return given

    ((someone, given),) = prepared(1)
    undisturbed = Effects(stack, deed.function)
    with stack.stream.turn, meddling(undisturbed.meddle, stack.aws, node):
        assert deed.do(someone, given).status_code == 200
    last = undisturbed.seen
    assert last > 0

    done = prepared(last + 1)
    for allowed, (someone, given) in enumerate(done):
        cut = Effects(stack, deed.function, allowed=allowed, last=last)
        with stack.stream.turn, meddling(cut.meddle, stack.aws, node):
            assert deed.do(someone, given).status_code == 502
        assert cut.killed.is_set()
        deed.do(someone, given)
    for someone, given in done:
        deed.check(someone, given, node)


def test_an_indexer_killed_in_the_middle_of_a_batch_indexes_all_of_it_once(
    stack: Stack, home: Home, node: Relay
) -> None:
    def batch(effects: Effects) -> tuple[Someone, list[str]]:
        someone = home.someone()
        with meddling(effects.meddle, stack.aws, node):
            with stack.stream.turn:
                ids = two(someone)
            someone.settle()
        return someone, sorted(ids)

    killed = 0
    while True:
        cut = Effects(stack, "IndexerFunction", allowed=killed)
        someone, ids = batch(cut)
        assert stored(node, someone) == ids
        assert sorted(someone.finds("Which page shows a river?")) == ids
        if not cut.killed.is_set():  # it had no effect more
            break
        killed += 1
    assert killed > 1


# DynamoDB refuses, or is not heard


def writes(request: Request) -> bool:
    return caller(request) == "RememberFunction" and operation(request) == "TransactWriteItems"


@pytest.mark.parametrize("fault", [throttled, in_conflict, unheard])
def test_a_write_that_fails_in_passing_happens_once(
    stack: Stack, home: Home, fault: Meddling
) -> None:
    someone = home.someone()
    with meddling(some(fault, 2, writes), stack.aws):
        someone.remembers("The river runs south")
    assert contents(someone) == ["The river runs south"]


@pytest.mark.parametrize("fault", [throttled, in_conflict, unheard])
def test_a_write_that_keeps_failing_is_refused_and_happens_once_when_it_is_sent_again(
    stack: Stack, home: Home, fault: Meddling
) -> None:
    watch, someone = Watch(stack), home.someone()
    with meddling(some(fault, ANYTIMES, writes), stack.aws):
        refused = remember(someone, None)
    assert refused.status_code == 500
    assert "with an idempotency_key" in refused.json()["error"]["message"]
    counted = [each for each in watch.logged("RememberFunction") if each.name == "Failures"]
    assert watch.raised("FailuresAlarm", 6 * counted)
    assert remember(someone, None).status_code == 200
    assert contents(someone) == ["The river runs north"]


def test_a_batch_that_is_read_by_halves_is_read_whole(stack: Stack, home: Home) -> None:
    someone = home.someone()
    ids = [someone.remembers(f"River {number} has {number} bridges") for number in range(1, 5)]

    def batches(request: Request) -> bool:
        return caller(request) == "RecallFunction" and operation(request) == "BatchGetItem"

    with meddling(some(half_read, ANYTIMES, batches), stack.aws):
        found = someone.finds("How many bridges has a river?")
        whole = someone.call("recall", ids=ids)
    assert sorted(found) == sorted(ids)
    assert [memory["id"] for memory in whole["memories"]] == ids


# The stream repeats itself


def test_records_that_come_twice_and_out_of_order_change_nothing(
    stack: Stack, home: Home, node: Relay
) -> None:
    someone = home.someone()
    memory = someone.remembers("The ferry crosses at noon")
    someone.call("forget", memory_id=memory, reason="a mistake")
    someone.call("restore_memory", memory_id=memory)
    until(lambda: version(node, memory) == 3, "the index stays behind")
    records = stack.stream.records_of(f"M#{memory}")
    assert len(records) == 3

    for batch in (records[:1], records[::-1], records):
        done = stack.invoke("IndexerFunction", {"Records": batch})
        assert done == {"batchItemFailures": []}

    assert version(node, memory) == 3
    assert stored(node, someone) == [memory]
    assert someone.finds("When does the ferry cross?") == [memory]


def test_an_old_record_brings_nothing_back_that_is_erased(
    stack: Stack, home: Home, node: Relay
) -> None:
    someone = home.someone()
    memory = someone.remembers("The ferry is called Aurora")
    until(lambda: holds(node, someone, [memory]), "the index stays behind")
    someone.call("erase_memory", memory_id=memory, confirm=memory)
    until(lambda: holds(node, someone, []), "the index keeps what is erased")
    records = stack.stream.records_of(f"M#{memory}")
    assert [record["eventName"] for record in records] == ["INSERT", "REMOVE"]

    assert stack.invoke("IndexerFunction", {"Records": records[:1]}) == {"batchItemFailures": []}

    assert stored(node, someone) == []
    assert someone.finds("What is the ferry called?") == []


def test_what_an_indexer_wrote_late_is_taken_out_when_it_was_erased_meanwhile(
    stack: Stack, home: Home, node: Relay
) -> None:
    someone = home.someone()
    arrived, go_on, written = threading.Event(), threading.Event(), threading.Event()

    def hold(request: Request, ask: Ask) -> Answer | None:
        late = "_bulk" in request.path and b'"index"' in request.body and not arrived.is_set()
        if late:
            arrived.set()
            go_on.wait(WAIT_S)
        answer = ask(request)
        if late:
            written.set()
        return answer

    with meddling(hold, node):
        memory = someone.remembers("The ferry was sold")
        assert arrived.wait(WAIT_S)
        someone.call("erase_memory", memory_id=memory, confirm=memory)
        go_on.set()
        assert written.wait(WAIT_S)
        assert someone.finds("What became of the ferry?") == []
    until(lambda: holds(node, someone, []), "the index keeps what is erased")


# A record that can't be indexed, and an engine that is away


def poison(stack: Stack, memory: str) -> Callable[[], object]:
    """Make a memory's record one that nobody can read; answers what makes it whole again."""
    put = partial(stack.emulator.client("dynamodb").put_item, TableName=stack.outputs["TableName"])
    at = {"pk": {"S": f"M#{memory}"}, "sk": {"S": "META"}}
    whole = stack.emulator.client("dynamodb").get_item(
        TableName=stack.outputs["TableName"], Key=at
    )["Item"]
    put(Item={**whole, "kind": {"N": "7"}})
    return partial(put, Item=whole)


def test_a_poisoned_record_is_parked_alone_and_looked_at_again_until_it_is_mended(
    stack: Stack, home: Home, node: Relay
) -> None:
    bad, good = home.someone(), home.someone()
    with stack.stream.turn:
        poisoned = bad.remembers("The bridge is closed")
        mend = poison(stack, poisoned)
        healthy = good.remembers("The bridge is open")
    until(lambda: holds(node, good, [healthy]), "a poisoned record holds another up")
    assert good.finds("What about the bridge?") == [healthy]
    until(lambda: parked(stack) > 0, "it was not parked")

    with stack.stream.turn:  # what mends it is the queue, not the stream
        mend()
        until(lambda: holds(node, bad, [poisoned]), "nobody looks at what is parked")
    until(lambda: parked(stack) == 0, "it is looked at for ever")
    assert bad.finds("What about the bridge?") == [poisoned]


def test_a_parked_memory_is_given_up_where_an_alarm_watches_and_indexed_when_it_is_moved_back(
    stack: Stack, home: Home, node: Relay
) -> None:
    watch, someone = Watch(stack), home.someone()

    def alarmed() -> bool:
        return watch.raised("IndexerFailuresAlarm", watch.depth("IndexerFailures"))

    assert not alarmed()
    with given_up_soon(stack):
        with stack.stream.turn:
            memory = someone.remembers("The pier is wet")
            mend = poison(stack, memory)
        until(alarmed, "nobody is told of what is given up")
    assert not watch.raised("StreamFailuresAlarm", watch.depth("StreamFailures"))

    with stack.stream.turn:
        mend()
        move_back(stack)
        until(lambda: holds(node, someone, [memory]), "nobody looks at what was moved back")
    assert not alarmed()
    assert someone.finds("What is wet?") == [memory]


@contextmanager
def given_up_soon(stack: Stack) -> Generator[None]:
    """Have parked memories looked at every second, and given up after two looks."""
    queues, url = stack.emulator.client("sqs"), stack.physical["IndexerParked"]
    hurried = ["VisibilityTimeout", "RedrivePolicy"]
    usual = queues.get_queue_attributes(QueueUrl=url, AttributeNames=hurried)["Attributes"]
    redrive = {**json.loads(usual["RedrivePolicy"]), "maxReceiveCount": 2}
    soon = {"VisibilityTimeout": "1", "RedrivePolicy": json.dumps(redrive)}
    queues.set_queue_attributes(QueueUrl=url, Attributes=soon)
    try:
        yield
    finally:
        queues.set_queue_attributes(QueueUrl=url, Attributes=usual)


def move_back(stack: Stack) -> None:
    """As AWS's move of messages does, which the emulator lacks: each as it is, to its queue."""
    queues, failures = stack.emulator.client("sqs"), stack.physical["IndexerFailures"]
    for message in queues.receive_message(QueueUrl=failures, MaxNumberOfMessages=10)["Messages"]:
        queues.send_message(QueueUrl=stack.physical["IndexerParked"], MessageBody=message["Body"])
        queues.delete_message(QueueUrl=failures, ReceiptHandle=message["ReceiptHandle"])


def parked(stack: Stack) -> int:
    """How many memories wait to be looked at again, or are just being looked at."""
    counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = stack.emulator.client("sqs").get_queue_attributes(
        QueueUrl=stack.physical["IndexerParked"], AttributeNames=counts
    )["Attributes"]
    return sum(int(attributes[each]) for each in counts)


def test_a_batch_that_ends_the_function_each_time_is_noted_apart_and_mended_by_the_schedule(
    stack_with_domain: Stack, home: Home, node: Relay
) -> None:
    stack, watch, someone = stack_with_domain, Watch(stack_with_domain), home.someone()

    def dies(request: Request, ask: Ask) -> Answer | None:
        if caller(request) != "IndexerFunction":
            return ask(request)
        stack.kill("IndexerFunction")
        return HUNG_UP

    with stack.stream.trying(1), meddling(dies, stack.aws):
        with stack.stream.turn:
            ids = two(someone)
        until(lambda: given_up(stack) >= {*ids}, "they are tried for ever")
    stack.stream.given_up.clear()
    assert watch.raised("IndexerAlarm", watch.errors("IndexerFunction"))
    assert watch.raised("StreamFailuresAlarm", watch.depth("StreamFailures"))
    assert not watch.raised("IndexerFailuresAlarm", watch.depth("IndexerFailures"))
    assert sorted(someone.finds("What does a page show?")) == sorted(ids)
    assert stored(node, someone) == []

    until(lambda: ticked(stack, node, someone, ids), "the schedule does not find it")
    someone.settle()
    assert sorted(someone.finds("What does a page show?")) == sorted(ids)
    stack.emulator.client("sqs").purge_queue(QueueUrl=stack.outputs["StreamFailuresUrl"])
    assert not watch.raised("StreamFailuresAlarm", watch.depth("StreamFailures"))


def test_what_the_engine_lost_is_put_back_by_the_schedule_which_raises_an_alarm(
    stack: Stack, home: Home, node: Relay
) -> None:
    watch, someone = Watch(stack), home.someone()
    memory = someone.remembers("The buoy is green")
    until(lambda: holds(node, someone, [memory]), "the index stays behind")
    someone.settle()
    assert not watch.raised("IndexDriftAlarm", watch.logged("TickFunction"))
    httpx.delete(f"{node.target}/memories/_doc/{memory}?refresh=true").raise_for_status()

    until(lambda: ticked(stack, node, someone, [memory]), "the schedule does not find it")
    assert watch.raised("IndexDriftAlarm", watch.logged("TickFunction"))
    assert someone.finds("Which colour has the buoy?") == [memory]


def given_up(stack: Stack) -> set[str]:
    """The memories of which the stream gave up a change; an earlier test's may be among them."""
    keys = [each["dynamodb"]["Keys"]["pk"]["S"] for each in stack.stream.given_up]
    return {key.removeprefix("M#") for key in keys}


def ticked(stack: Stack, node: Relay, someone: Someone, ids: list[str]) -> bool:
    """Whether the index holds exactly these of a person's when the schedule ran once."""
    stack.invoke("TickFunction", sample("schedule"))
    httpx.post(f"{node.target}/memories/_refresh").raise_for_status()
    return holds(node, someone, ids)


def test_what_is_written_while_the_engine_is_away_is_found_and_indexed_when_it_is_back(
    stack: Stack, home: Home, node: Relay, engine: Node
) -> None:
    someone = home.someone()
    before = someone.remembers("The lighthouse is white")
    until(lambda: holds(node, someone, [before]), "the index stays behind")
    engine.stop()
    meanwhile = someone.remembers("The lighthouse keeper is called Ida")
    found = someone.call("recall", query="Who keeps the lighthouse?")
    assert found["degraded"]
    assert sorted(hit["id"] for hit in found["hits"]) == sorted([before, meanwhile])
    someone.call("forget", memory_id=before, reason="it was painted")
    engine.start()
    node.target = engine.url
    someone.settle()
    assert someone.finds("Who keeps the lighthouse?") == [meanwhile]
    meta = stack.table.get(Meta, before)
    assert meta is not None
    assert version(node, before) == meta.revision
    assert stored(node, someone) == sorted([before, meanwhile])
