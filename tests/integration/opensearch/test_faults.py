"""An engine that is down, slow, throttled or answers in part, and one that comes back."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, closing

import pytest
from opensearchpy import OpenSearch

from tests.contract.retrieval.conftest import arrives
from tests.contract.search_index.documents import DIMENSIONS, MODEL, NORTH, document
from tests.hashing_embedder import HashingEmbedder
from tests.opensearch.faults import Fault, FaultyNode, faulty
from tests.opensearch.homes import built, left_behind
from tests.ports import Ports
from tests.relay import HUNG_UP, Answer, Ask, Request
from zero_memory.adapters.fallback_index import FallbackIndex
from zero_memory.adapters.opensearch_client import opensearch_client
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.ports.search_index import IndexUnavailable, SearchAnswer, SearchFilter

BUDGET_S = 2.0


@pytest.fixture
def node(opensearch_url: str, opensearch: OpenSearch) -> Generator[FaultyNode]:
    with faulty(opensearch_url) as server:
        yield server


@pytest.fixture
def patient(node: FaultyNode) -> Generator[OpenSearchIndex]:
    """Holds one memory."""
    client = opensearch_client(node.url)
    name = f"at{node.server_port}"
    index = built(OpenSearchIndex(client, model=MODEL, dimensions=DIMENSIONS, name=name))
    index.apply([document()])
    search(index)  # a node's first searches load its classes
    yield index
    node.fault = None
    client.indices.delete(index=f"{name}-*")
    client.close()


@pytest.fixture
def index(node: FaultyNode, patient: OpenSearchIndex) -> Generator[OpenSearchIndex]:
    """The same, less patient than it is by default."""
    with closing(opensearch_client(node.url)) as client:
        yield OpenSearchIndex(
            client,
            model=MODEL,
            dimensions=DIMENSIONS,
            name=patient.name,
            search_s=BUDGET_S,
            write_s=BUDGET_S,
        )


def search(index: OpenSearchIndex) -> SearchAnswer:
    return index.search(SearchFilter(("scp_A",)), vector=NORTH, tokens=["cache"], limit=5)


@pytest.mark.parametrize(
    "fault", ["throttled", "slow", "hung up", "timed out", "a shard failed", "cut off"]
)
def test_a_search_says_that_the_engine_failed_and_works_again_when_it_does(
    index: OpenSearchIndex, node: FaultyNode, fault: Fault
) -> None:
    node.fault = fault
    with pytest.raises(IndexUnavailable):
        search(index)
    node.fault = None
    assert [match.memory_id for match in search(index).semantic] == ["mem_1"]


@pytest.mark.parametrize("fault", ["throttled", "slow", "hung up", "cut off"])
def test_a_write_says_that_the_engine_failed_and_can_be_repeated(
    index: OpenSearchIndex, node: FaultyNode, fault: Fault
) -> None:
    node.fault = fault
    with pytest.raises(IndexUnavailable):
        index.apply([document("mem_2")])
    node.fault = None
    index.apply([document("mem_2")])
    assert [match.memory_id for match in search(index).semantic] == ["mem_1", "mem_2"]


@pytest.mark.parametrize("fault", ["throttled at first", "done, but hung up at first"])
def test_a_build_outlasts_an_engine_that_fails_at_every_step_once(
    patient: OpenSearchIndex, node: FaultyNode, opensearch: OpenSearch, fault: Fault
) -> None:
    left_behind(opensearch, patient)
    node.fault = fault
    with patient.replacing() as anew:
        anew.apply([document("mem_2"), document("mem_3")])
        anew.erase(["mem_3"])
    node.fault = None
    assert [match.memory_id for match in search(patient).semantic] == ["mem_2"]
    assert len(opensearch.indices.get(index=f"{patient.name}-*")) == 1


@pytest.mark.parametrize("step", ["_settings", "_refresh", "_mapping", "_aliases"])
def test_a_build_that_fails_in_its_last_steps_leaves_nothing_behind(
    index: OpenSearchIndex, node: FaultyNode, opensearch: OpenSearch, step: str
) -> None:
    def meddle(request: Request, ask: Ask) -> Answer | None:
        path = request.path.partition("?")[0]
        if path.endswith(step) and not is_abandoning(request):
            return HUNG_UP
        return ask(request)

    with pytest.raises(IndexUnavailable):
        build(index, lambda: setattr(node, "meddle", meddle))
    assert len(opensearch.indices.get(index=f"{index.name}-*")) == 1
    assert [match.memory_id for match in search(index).semantic] == ["mem_1"]


@pytest.mark.parametrize("swapped", ["before it is abandoned", "after it was"])
def test_a_swap_that_comes_late_takes_place_whole_or_not_at_all(
    index: OpenSearchIndex, node: FaultyNode, opensearch: OpenSearch, swapped: str
) -> None:
    on_the_way: list[Request] = []

    def meddle(request: Request, ask: Ask) -> Answer | None:
        if is_abandoning(request):
            answer = ask(request) if swapped == "after it was" else None
            for each in on_the_way:
                ask(each)
            return answer or ask(request)
        if request.path.startswith("/_aliases"):
            on_the_way.append(request)
            return HUNG_UP
        return ask(request)

    with pytest.raises(IndexUnavailable):
        build(index, lambda: setattr(node, "meddle", meddle))
    assert on_the_way
    assert len(opensearch.indices.get(index=f"{index.name}-*")) == 1
    live = "mem_1" if swapped == "after it was" else "mem_2"
    assert [match.memory_id for match in search(index).semantic] == [live]


def build(index: OpenSearchIndex, before_the_last_steps: Callable[[], None]) -> None:
    with index.replacing() as anew:
        anew.apply([document("mem_2")])
        before_the_last_steps()


def is_abandoning(request: Request) -> bool:
    """Whether it takes the alias from an index that is being built, and no more."""
    return request.path.startswith("/_aliases") and b'"add"' not in request.body


@pytest.mark.parametrize("overtaken", ["_mget", "_forcemerge"])
def test_a_write_that_a_new_index_overtakes_goes_on_with_it(
    patient: OpenSearchIndex, node: FaultyNode, opensearch: OpenSearch, overtaken: str
) -> None:
    """What it wrote to under the name of the one being built is the live one by now."""
    building = ExitStack()
    other = OpenSearchIndex(opensearch, model=MODEL, dimensions=DIMENSIONS, name=patient.name)
    anew = building.enter_context(other.replacing())
    anew.apply([document("mem_1"), document("mem_2")])

    def meddle(request: Request, ask: Ask) -> Answer:
        if request.path.startswith(f"/{patient.name}-building/{overtaken}"):
            building.close()
        return ask(request)

    node.meddle = meddle
    if overtaken == "_mget":
        patient.apply([document("mem_2"), document("mem_3")])
        assert patient.stored(after="", limit=9) == ["mem_1", "mem_2", "mem_3"]
    else:
        patient.erase(["mem_1"])
        assert patient.stored(after="", limit=9) == ["mem_2"]


def test_a_port_where_nobody_listens_is_said_too() -> None:
    client = opensearch_client("http://127.0.0.1:9")
    index = OpenSearchIndex(client, model=MODEL, dimensions=DIMENSIONS)
    with pytest.raises(IndexUnavailable, match="does not answer"):
        search(index)
    client.close()


def test_recall_falls_back_on_the_table_and_says_so(
    sqlite_table: SqliteTable, node: FaultyNode
) -> None:
    client = opensearch_client(node.url)
    engine = OpenSearchIndex(
        client,
        model=HashingEmbedder.model,
        dimensions=HashingEmbedder.dimensions,
        name=f"at{node.server_port}",
        search_s=BUDGET_S,
    )
    index = FallbackIndex(built(engine), TableIndex(sqlite_table, limit=500))
    ada = arrives(Ports(sqlite_table, index))
    kept = ada.remembers("The staging database is rebuilt on Mondays")
    ada.indexed()
    assert ada.finds("staging database") == [kept]
    assert not ada.recalls("staging database").degraded
    node.fault = "throttled"
    found = ada.recalls("staging database")
    assert [hit.id for hit in found.hits] == [kept]
    assert found.degraded
    assert "429" in (found.degraded_reason or "")
    node.fault = None
    assert not ada.recalls("staging database").degraded
    client.indices.delete(index=f"at{node.server_port}-*")
    client.close()


def test_an_index_that_is_not_filled_yet_is_no_failure_while_the_table_gives_all_there_is(
    sqlite_table: SqliteTable, opensearch: OpenSearch
) -> None:
    engine = OpenSearchIndex(
        opensearch,
        model=HashingEmbedder.model,
        dimensions=HashingEmbedder.dimensions,
        name="unfilled",
    )
    ada = arrives(Ports(sqlite_table, FallbackIndex(engine, TableIndex(sqlite_table, limit=2))))
    asked = "staging database"
    first = ada.remembers("The staging database is rebuilt on Mondays")
    assert not ada.recalls(asked).degraded  # there is no index at all
    ada.indexed()
    second = ada.remembers("The staging database is small")
    ada.indexed()
    assert not ada.recalls(asked).degraded
    assert sorted(ada.finds(asked)) == sorted([first, second])

    ada.remembers("The staging database has a copy")
    ada.indexed()
    found = ada.recalls(asked)
    assert "not filled yet" in (found.degraded_reason or "")
    assert "of which so many were searched" in (found.degraded_reason or "")
    opensearch.indices.delete(index="unfilled-*")
