"""How long `zm` takes to start, beside a bare Python. Goal: at most 100 ms more.

Each command runs its whole way without a service: imports, settings, and the refusal of a
connection. `python tests/bench/client_start.py [ROUNDS]`.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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


def milliseconds(command: Sequence[str | Path], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return (time.perf_counter() - started) * 1_000


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    commands = {"python -c pass": [sys.executable, "-c", "pass"], **COMMANDS}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as nowhere:
        # A port that refuses: nothing listens on the port of the discard service.
        environment = {**os.environ, "ZM_URL": "http://127.0.0.1:9", "ZM_TOKEN": "zmt_x"}
        environment["XDG_CONFIG_HOME"] = nowhere
        for _ in range(rounds):  # in turns, so that a busy moment hits all alike
            for name, command in commands.items():
                taken[name].append(milliseconds(command, environment))
    bare = statistics.median(taken.pop("python -c pass"))
    print(f"{'python -c pass':24} {bare:6.1f} ms (median of {rounds})")
    worst = 0.0
    for name, each in taken.items():
        over = statistics.median(each) - bare
        worst = max(worst, over)
        print(f"{name:24} +{over:5.1f} ms")
    print(f"goal: at most +{GOAL_MS:.0f} ms, worst: +{worst:.1f} ms")
    return int(worst > GOAL_MS)


if __name__ == "__main__":
    sys.exit(main())
