"""What calls and idle months cost: `python -m tests.bench.costs [SIZE …]`.

Fills a home to each size, calls each tool through its own code over a table that counts DynamoDB's
units, and multiplies by prices of one region at one date. Prints the tables of docs/costs.md.
"""

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.bench.latency import Gathered, Phrases, ready_passages
from tests.bench.units import CountingTable, Units
from tests.samples import REPOSITORY
from zero_memory.adapters.table_index import TableIndex
from zero_memory.contracts.memory import (
    DescribeScopeArguments,
    RecallArguments,
    RememberArguments,
)
from zero_memory.local.deployment import read_template
from zero_memory.memory import write
from zero_memory.memory.model import PendingMarker
from zero_memory.memory.write import Destination, Draft, Submission
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import authenticate, make_person, make_token
from zero_memory.scopes.model import GRANTS
from zero_memory.tools import describe_scope, recall, remember
from zero_memory.tools.standing import stand

SIZES = (100, 6_000, 100_000)
CALLS = 20

REGION, DATE = "us-east-1", "2025-06"
MILLION = 1_000_000
READ_UNIT = 0.125 / MILLION
WRITE_UNIT = 0.625 / MILLION
HTTP_REQUEST = 1.00 / MILLION
INVOCATION = 0.20 / MILLION
GB_SECOND = 0.0000133334  # arm64
TRACE = 5.00 / MILLION
LOGGED_BYTE = 0.50 / 1_000_000_000
KEY_REQUEST = 0.03 / 10_000
QUEUE_REQUEST = 0.40 / MILLION
ALARM = 0.10
HOURS = 730

LOG_BYTES = 1_000
"""What a call leaves in logs, about: a line of ours, the API's, and Lambda's three."""

RUNS = HOURS * 4
POLLS = HOURS * 3_600 // 20 * 5
"""Lambda waits at its queue with five requests of 20 s, whether anything comes or not."""


def alarms(template: str) -> int:
    """How many alarms a template declares."""
    declared = read_template(REPOSITORY, template)["Resources"].values()
    return sum(resource["Type"] == "AWS::CloudWatch::Alarm" for resource in declared)


ALARMS = alarms("template.yaml")
ALARMS_WITH_DOMAIN = ALARMS + alarms("infra/search.yaml")
# 0.2 s at 512 MB; a run is more than five minutes after the last, so that the table asks for its
# key anew.
SCHEDULED = RUNS * (0.1 * GB_SECOND + INVOCATION + TRACE + LOG_BYTES * LOGGED_BYTE + KEY_REQUEST)
ALWAYS = {
    f"{POLLS:,} polls of the queue of parked memories": POLLS * QUEUE_REQUEST,
    f"{RUNS:,} runs of the schedule, traced": SCHEDULED,
}
MONTHLY = {
    "none": {f"{ALARMS} alarms": ALARMS * ALARM, **ALWAYS},
    "domain": {
        "one t3.small.search": HOURS * 0.036,
        "its 10 GB": 10 * 0.122,
        f"{ALARMS_WITH_DOMAIN} alarms": ALARMS_WITH_DOMAIN * ALARM,
        **ALWAYS,
    },
}
SECONDS = {"remember": 0.197, "recall": 0.136, "describe_scope": 0.020}
"""A warm call's time, p50 of docs/benchmarks.md; describe_scope's is an estimate."""

GIGABYTES = {"remember": 1_769 / 1_024, "recall": 1_769 / 1_024, "describe_scope": 0.5}


def rest(tool: str) -> float:
    """What 1,000 calls cost beside the table, each of them traced."""
    seconds = SECONDS[tool] * GIGABYTES[tool]
    each = seconds * GB_SECOND + INVOCATION + HTTP_REQUEST + TRACE + LOG_BYTES * LOGGED_BYTE
    return 1_000 * each


class Counted(Composition):
    """A home of this machine whose table is counted as DynamoDB's."""

    def __init__(self, base: Composition, *, domain: bool) -> None:
        super().__init__(base.settings)
        self.counting = CountingTable(base.table)
        searched = base.table if domain else self.counting
        self._searched = TableIndex(searched, limit=base.settings.search_none_limit)
        self._base = base

    @property
    def table(self) -> Table:
        return self.counting

    @property
    def index(self) -> SearchIndex:
        return self._searched

    @property
    def embedder(self):
        return self._base.embedder


@dataclass(frozen=True)
class Row:
    """What 1,000 calls of a tool take."""

    tool: str
    size: int
    search: str
    units: Units

    @property
    def table(self) -> float:
        return 1_000 * (self.units.read * READ_UNIT + self.units.written * WRITE_UNIT) / CALLS

    def __str__(self) -> str:
        units = self.units
        return (
            f"| {self.tool} | {self.size:,} | {self.search} | {units.requests / CALLS:.1f} "
            f"| {units.read / CALLS:.1f} | {units.written / CALLS:.1f} | {self.table:.4f} "
            f"| {rest(self.tool):.4f} | {self.table + rest(self.tool):.4f} |"
        )


def fill(base: Composition, token: str, count: int, phrases: Phrases, seed: int) -> None:
    """Write `count` more memories, under vectors of random direction; not counted."""
    caller = authenticate(base.table, base.clock, token)
    standing = stand(base, caller, write=True)
    personal = standing.access.personal
    gathered = Gathered(base.table)
    read = ready_passages(base.embedder, np.random.default_rng(seed))
    for _ in range(count):
        submission = Submission(
            actor=standing.actor(caller),
            draft=Draft(phrases.one(25)),
            to=Destination(personal.scope, personal.owner),
        )
        write.remember(gathered, base.clock, submission, read)
    gathered.flush()
    settle(base, caller)


def settle(base: Composition, caller: Caller) -> None:
    """Let the indexer see what was written, as it does within seconds; not counted."""
    for membership in access_of(base.table, caller.person).memberships:
        while pending := base.table.query(PendingMarker, membership.scope).records:
            ids = [marker.memory_id for marker in pending]
            settle_markers(base.table, index_memories(base.table, base.index, ids))


def measure(base: Composition, token: str, size: int, phrases: Phrases) -> None:
    caller = authenticate(base.table, base.clock, token)
    for domain in (False, True):
        counted = Counted(base, domain=domain)
        calls: dict[str, Callable[[], object]] = {
            "remember": lambda home=counted: remember.run(
                home, caller, RememberArguments(content=phrases.one(40), scope="personal")
            ),
            "recall": lambda home=counted: recall.run(
                home, caller, RecallArguments(query=phrases.one(8))
            ),
            "describe_scope": lambda home=counted: describe_scope.run(
                home, caller, DescribeScopeArguments()
            ),
        }
        for tool, call in calls.items():
            counted.counting.units = Units()
            for _ in range(CALLS):
                call()
                settle(base, caller)
            search = "domain" if domain else "none"
            print(Row(tool, size, search, counted.counting.units), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sizes", nargs="*", type=int, default=SIZES)
    sizes = options.parse_args().sizes
    print(f"Prices of {REGION}, {DATE}, in USD.\n")
    print("| tool | memories | search | requests | read units | write units | table | rest | sum |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        base = Composition(Settings(data_dir=Path(folder), search="none"))
        person = make_person(base.table, base.clock)
        token = make_token(base.table, base.clock, person, label="bench", grants=GRANTS)
        phrases, filled = Phrases(), 0
        for size in sorted(sizes):
            fill(base, token, size - filled, phrases, size)
            filled = size
            measure(base, token, size, phrases)
    print("\n| search | a month, idle | of it |\n|---|---|---|")
    for search, parts in MONTHLY.items():
        of_it = "; ".join(f"{name} {price:.2f}" for name, price in parts.items())
        print(f"| {search} | {sum(parts.values()):.2f} | {of_it} |")


if __name__ == "__main__":
    main()
