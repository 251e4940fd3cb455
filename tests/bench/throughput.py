"""How many memories a second a service takes, and how far its index is behind.

`python -m tests.bench.throughput [SECONDS]`, each measured for so long (default 10):

- `remember`, over the whole HTTP path, by one and by eight callers at a time
- `zm import` of notes, the command as people run it: embedding by all cores
- index lag: the domain writes memories whose vectors are ready, 200 a second, into the table of a
  home whose stream feeds the index as in the service. A write's lag ends when its pending marker is
  gone, which is looked for every 20 ms.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import cast

import httpx
import numpy as np

from tests.bench.latency import Home, Phrases, Times, ready_passages
from tests.service import ZM, Service
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.local.deployment import deployment_folder, read_deployment
from zero_memory.local.failures import FailureQueue
from zero_memory.local.functions import invoker
from zero_memory.local.home import FAILURES_FILE
from zero_memory.local.stream import Pump
from zero_memory.memory.model import PendingMarker
from zero_memory.memory.write import Draft, Submission, remember
from zero_memory.runtime.bootstrap import Composition
from zero_memory.tools.standing import stand

WRITES_A_SECOND = 200
POLL_S = 0.02
CALLERS = (1, 8)
NOTES = 500
MOST_PENDING = 1_000


def remembered(service: Service, phrases: Phrases, callers: int, seconds: float) -> float:
    """Memories a second, by so many callers at a time."""
    ends = time.perf_counter() + seconds
    url = f"{service.ready['api_url']}/tools/remember"
    headers = {"authorization": f"Bearer {service.token}"}

    def call_on() -> int:
        done = 0
        with httpx.Client(headers=headers, timeout=60) as client:
            while time.perf_counter() < ends:
                said = {"content": phrases.one(25), "scope": "personal"}
                client.post(url, json=said).raise_for_status()
                done += 1
        return done

    started = time.perf_counter()
    with ThreadPoolExecutor(callers) as pool:
        calls = [pool.submit(call_on) for _ in range(callers)]
        return sum(call.result() for call in calls) / (time.perf_counter() - started)


def imported(service: Service, phrases: Phrases, folder: Path) -> float:
    """Notes a second that `zm import` takes."""
    folder.mkdir()
    for number in range(NOTES):
        (folder / f"{number}.md").write_text(phrases.one(25), encoding="utf-8")
    started = time.perf_counter()
    command = [ZM, "import", folder, "--scope", "personal"]
    subprocess.run(command, env=service.environment, stdout=subprocess.DEVNULL, check=True)
    return NOTES / (time.perf_counter() - started)


@contextmanager
def streaming(composed: Composition, home: Home) -> Generator[None]:
    """The stream of the table feeds the index, as in the service."""
    table = cast("SqliteTable", composed.table)
    deployment = read_deployment(deployment_folder())
    consumers = tuple(source.function for source in deployment.streams)
    failures = FailureQueue(home.folder / FAILURES_FILE)
    pump = Pump(table, deployment.streams, invoker(consumers), failures)
    table.committed = pump.wake
    pump.start()
    try:
        yield
    finally:
        pump.stop()


def lag(home: Home, phrases: Phrases, seconds: float) -> tuple[Times, float]:
    """Milliseconds from a write's commit to its place in the index, and the writes a second."""
    with home.opened() as composed, streaming(composed, home):
        caller = home.caller(composed)
        actor = stand(composed, caller, write=True).actor(caller)
        (place,) = home.destinations(composed)
        read = ready_passages(composed.embedder, np.random.default_rng(1))
        waiting: dict[str, float] = {}
        lags: list[float] = []
        written = threading.Event()

        def watch() -> None:
            while not written.is_set() or waiting:
                known = dict(waiting)
                page = composed.table.query(PendingMarker, place.scope, limit=MOST_PENDING)
                pending = {marker.memory_id for marker in page.records}
                now = time.perf_counter()
                indexed = known.keys() - pending
                lags.extend((now - waiting.pop(memory_id)) * 1_000 for memory_id in indexed)
                time.sleep(POLL_S)

        watcher = threading.Thread(target=watch)
        watcher.start()
        started = time.perf_counter()
        for number in count():
            due = started + number / WRITES_A_SECOND
            if due - started > seconds:
                break
            time.sleep(max(0.0, due - time.perf_counter()))
            submission = Submission(actor, Draft(phrases.one(25)), place)
            memory_id = remember(composed.table, composed.clock, submission, read).memory_id
            waiting[memory_id] = time.perf_counter()
        took = time.perf_counter() - started
        written.set()
        watcher.join()
        return Times(lags, 0.0), len(lags) / took


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=10.0)
    seconds = parser.parse_args(arguments).seconds
    phrases = Phrases()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        with home.serving() as service:
            for callers in CALLERS:
                rate = remembered(service, phrases, callers, seconds)
                print(f"remember, {callers} at a time: {rate:.1f} memories a second", flush=True)
            rate = imported(service, phrases, Path(folder) / "notes")
            print(f"zm import of {NOTES:,} notes: {rate:.1f} notes a second", flush=True)
        lags, rate = lag(home, phrases, seconds)
        print(f"index lag in ms at {rate:.0f} writes a second: p50 and p95 {lags}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
