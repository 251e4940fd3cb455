"""The units that costs are computed from are those that an emulator of DynamoDB charges."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, cast

import pytest
from botocore.config import Config

from tests.aws.emulator import emulated_dynamodb
from tests.bench.units import CountingTable
from tests.clock import ManualClock
from tests.contract.memory.people import arrives
from tests.homes import dynamo_home
from zero_memory.ports.table import Action
from zero_memory.retrieval.indexing import settle_markers
from zero_memory.tools import delete_account, erase_memory, move_memories, revise

PATIENT = Config(read_timeout=60)
WRITES = ("DeleteItem", "PutItem", "TransactWriteItems")


class ChargedTable(CountingTable):
    """Counts, and hears what is charged; `differing` has the writes of which the two differ."""

    def __init__(self, client: Any) -> None:
        super().__init__(dynamo_home(client))
        self.writes = 0
        self.differing: list[tuple[float, float, Sequence[Action]]] = []
        self._charged: float = 0.0
        for operation in WRITES:
            event = f"dynamodb.{operation}"
            client.meta.events.register(f"before-parameter-build.{event}", self._ask)
            client.meta.events.register(f"after-call.{event}", self._hear)

    def transact(self, actions: Sequence[Action]) -> None:
        counted, charged = self.units.written, self._charged
        super().transact(actions)
        found = self.units.written - counted, self._charged - charged
        self.writes += 1
        if found[0] != found[1]:
            self.differing.append((*found, actions))

    def _ask(self, params: dict[str, Any], **_: Any) -> None:
        params["ReturnConsumedCapacity"] = "TOTAL"

    def _hear(self, parsed: Mapping[str, Any], **_: Any) -> None:
        told = parsed.get("ConsumedCapacity", [])
        by_table = cast("list[dict[str, float]]", told if isinstance(told, list) else [told])
        self._charged += sum(each["CapacityUnits"] for each in by_table)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    with emulated_dynamodb(tmp_path_factory.mktemp("aws"), PATIENT) as client:
        yield client


def test_a_life_of_writes_is_counted_as_it_is_charged(client: Any) -> None:
    table = ChargedTable(client)
    ada = arrives(table, ManualClock())
    team = ada.project("atlas")
    first = ada.knows("The deploy runs at night. " * 30, entities=("deploy", "night"), key="k")
    ada.knows("The queue is short", kind="task", talk=None)
    assert ada.remembers("The queue is short", kind="task").deduplicated
    ada.forgets(first)
    ada.restores(first)
    second = ada.knows("The deploy runs at noon", supersedes=(first,), key="k2")
    third = ada.calls(revise.TOOL, memory_id=second, content="The deploy runs at one. " * 60).id
    ada.calls(move_memories.TOOL, ids=[third], scope=team.path)
    settle_markers(table, [ada.meta(third)])
    ada.calls(erase_memory.TOOL, memory_id=first, confirm=first)
    while not ada.calls(delete_account.TOOL, confirm=ada.scope.path).done:
        pass

    assert table.differing == []
    assert table.writes > 15
