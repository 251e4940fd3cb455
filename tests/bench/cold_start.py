"""How long each function's cold start takes, beside a boto3 client alone.

A fresh interpreter imports the handler and makes every client that the function's tools need, as
in AWS: a DynamoDB table, search `none`, the bundled embedder. No call leaves the machine. It is
timed from the interpreter's first line, so that starting Python counts on neither side. Goals: at
most 1.5 times boto3 alone without the embedder, 3 times with it.

`python -m tests.bench.cold_start [ROUNDS]`; `--imports FUNCTION` lists what its imports cost.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zero_memory.local.deployment import deployment_folder, read_deployment, read_template

GOAL_PLAIN, GOAL_EMBEDDER = 1.5, 3.0
SHOWN = 25

BOTO3_ALONE = """
import time
started = time.CLOCK()
import boto3
boto3.client("dynamodb")
print(time.CLOCK() - started)
"""

FUNCTION = """
import time
started = time.CLOCK()
import importlib.util, sys
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
from zero_memory.runtime.bootstrap import services
composed = services()
for port in sys.argv[2:]:
    getattr(composed, port)
print(time.CLOCK() - started)
"""


def environment() -> dict[str, str]:
    """What AWS would set: the template's variables, and credentials that open nothing."""
    template = read_template(deployment_folder())
    defaults = {name: str(each["Default"]) for name, each in template["Parameters"].items()}
    variables: dict[str, Any] = template["Globals"]["Function"]["Environment"]["Variables"]
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "of-nobody",
        "AWS_SECRET_ACCESS_KEY": "of-nobody",
        **{
            name: value if isinstance(value, str) else defaults.get(value.get("Ref"), "of-nobody")
            for name, value in variables.items()
        },
    }


def needs() -> dict[str, tuple[Path, Sequence[str]]]:
    """Each function's handler file and the ports that a call of it uses."""
    from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

    of_tool = {tool.name: sorted(tool.needs) for tool in (*TOOLS, *PEOPLES_TOOLS)}
    every = sorted({port for ports in of_tool.values() for port in ports})
    # What the stream and the schedule call keeps the index.
    ports = of_tool | {"mcp": every, "oauth": ["oauth_clients"]}
    return {
        function.name: (function.file, ports.get(function.name, ["index", "table"]))
        for function in read_deployment(deployment_folder()).functions
    }


def seconds(clock: str, program: str, *arguments: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", program.replace("CLOCK", clock), *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout)


def imports(name: str) -> None:
    """Print the imports of a function that cost most themselves, and with all that they import."""
    file, ports = needs()[name]
    program = FUNCTION.replace("CLOCK", "perf_counter")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program, str(file), *ports],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"^import time:\s+(\d+) \|\s+(\d+) \| ( *\S+)$", done.stderr, re.MULTILINE)
    costs = [(int(own), int(whole), module.strip()) for own, whole, module in found]
    for order, title in ((1, "with what they import"), (0, "themselves")):
        print(f"{name}: ms of imports, {title}")
        for cost in sorted(costs, key=lambda each: -each[order])[:SHOWN]:
            print(f"  {cost[order] / 1_000:7.1f}  {cost[2]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=15)
    parser.add_argument("--imports", metavar="FUNCTION")
    parser.add_argument(
        "--cpu", action="store_true", help="processor time, for a machine that does other work too"
    )
    chosen = parser.parse_args()
    clock = "process_time" if chosen.cpu else "perf_counter"
    if chosen.imports:
        imports(chosen.imports)
        return 0
    functions = needs()
    taken: dict[str, list[float]] = {name: [] for name in ("boto3 alone", *functions)}
    for turn in range(chosen.rounds + 1):  # in turns, so that a busy moment hits all alike
        found = {"boto3 alone": seconds(clock, BOTO3_ALONE)}
        found |= {
            name: seconds(clock, FUNCTION, str(file), *ports)
            for name, (file, ports) in functions.items()
        }
        if turn:  # the first writes what was not compiled yet
            for name, each in found.items():
                taken[name].append(each * 1_000)
    medians = {name: statistics.median(each) for name, each in taken.items()}
    boto3 = medians["boto3 alone"]
    ratios = {name: medians[name] / boto3 for name in functions}
    goals = {
        name: GOAL_EMBEDDER if "embedder" in ports else GOAL_PLAIN
        for name, (_, ports) in functions.items()
    }
    print(f"{'boto3 alone':16} {boto3:6.0f} ms  (medians of {chosen.rounds})")
    for name in functions:
        goal = f"goal {goals[name]:.1f}{'' if ratios[name] <= goals[name] else '  missed'}"
        print(f"{name:16} {medians[name]:6.0f} ms  {ratios[name]:4.2f} x  {goal}")
    return int(any(ratios[name] > goals[name] for name in functions))


if __name__ == "__main__":
    sys.exit(main())
