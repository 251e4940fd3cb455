"""How long `zm` takes to start, beside a bare Python. Goal: at most 100 ms more.

Judged by processor time, which a busy machine distorts less; the time by the clock stands beside
it. Each command runs its whole way without a service: imports, settings, and the refusal of a
connection. `python tests/bench/client_start.py [ROUNDS]`.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ZM = Path(sys.executable).with_name("zm")
GOAL_MS = 100.0

COMMANDS: dict[str, Sequence[str | Path]] = {
    "zm --help": [ZM, "--help"],
    'zm "fact"': [ZM, "a fact", "--scope", "personal"],
    'zm "fact" in a project': [ZM, "a fact"],
    "zm recall": [ZM, "recall", "a query"],
    "zm status": [ZM, "status"],
    "zm mcp": [ZM, "mcp"],
}


@dataclass(frozen=True)
class Taken:
    """Milliseconds of one start: of the processor, its children's too, and by the clock."""

    processor: float
    clock: float


def spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1_000


def start(command: Sequence[str | Path], environment: dict[str, str]) -> Taken:
    before, started = spent(), time.perf_counter()
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return Taken(spent() - before, (time.perf_counter() - started) * 1_000)


def median(taken: Sequence[Taken]) -> Taken:
    return Taken(
        statistics.median(each.processor for each in taken),
        statistics.median(each.clock for each in taken),
    )


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    commands = {"python -c pass": [sys.executable, "-c", "pass"], **COMMANDS}
    taken: dict[str, list[Taken]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as nowhere:
        # A port that refuses: nothing listens on the port of the discard service.
        environment = {**os.environ, "ZM_URL": "http://127.0.0.1:9", "ZM_TOKEN": "zmt_x"}
        environment["XDG_CONFIG_HOME"] = nowhere
        for _ in range(rounds):  # in turns, so that a busy moment hits all alike
            for name, command in commands.items():
                taken[name].append(start(command, environment))
    bare = median(taken.pop("python -c pass"))
    print(f"median of {rounds} starts, in ms     processor   clock")
    print(f"{'python -c pass':30} {bare.processor:7.1f} {bare.clock:8.1f}")
    worst = 0.0
    for name, each in taken.items():
        whole = median(each)
        over = Taken(whole.processor - bare.processor, whole.clock - bare.clock)
        worst = max(worst, over.processor)
        print(f"{name:30} {over.processor:+7.1f} {over.clock:+8.1f}")
    print(f"goal: at most {GOAL_MS:+.0f}; worst: {worst:+.1f}")
    return int(worst > GOAL_MS)


if __name__ == "__main__":
    sys.exit(main())
