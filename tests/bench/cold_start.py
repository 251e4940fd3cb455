"""How long each function's cold start takes, beside a boto3 client alone.

A fresh interpreter imports the handler and makes every client that the function's tools need, as
in AWS: the package compiled as its layer has it, a DynamoDB table, search `none`, the bundled
embedder. No call leaves the machine. It is timed from the interpreter's first line, so that
starting Python counts on neither side. Goals: at most 1.5 times boto3 alone without the embedder, 3
times with it.

`python -m tests.bench.cold_start [ROUNDS]`; `--imports FUNCTION` lists what its imports cost.
Lambda's own Python, with what its layers hold, is what `make tools` installs:
`--python .work/venv-functions/bin/python`.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.samples import REPOSITORY
from zero_memory.local.deployment import deployment_folder, read_deployment, read_template

GOAL_PLAIN, GOAL_EMBEDDER = 1.5, 3.0
SHOWN = 25
ALONE = "boto3 alone"

BOTO3_ALONE = """
import time
clock, cpu = time.perf_counter(), time.process_time()
import boto3
boto3.client("dynamodb")
print(time.perf_counter() - clock, time.process_time() - cpu)
"""

FUNCTION = """
import time
clock, cpu = time.perf_counter(), time.process_time()
import importlib.util, sys
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
from zero_memory.runtime.bootstrap import services
composed = services()
for port in sys.argv[2:]:
    getattr(composed, port)
print(time.perf_counter() - clock, time.process_time() - cpu)
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


def lay(folder: Path, python: str | Path) -> Path:
    """Put the package into a folder as its layer has it, compiled for this interpreter.

    The embedding model lies where the package looks for it. Answers what to have on the path.
    """
    layer = folder / "package" / "python"
    shutil.copytree(
        REPOSITORY / "shared" / "zero_memory",
        layer / "zero_memory",
        ignore=shutil.ignore_patterns("__pycache__", "client", "local"),
    )
    embedding = layer.parent / "layers" / "embedding"
    embedding.mkdir(parents=True)
    (embedding / "model").symlink_to(REPOSITORY / "layers" / "embedding" / "model")
    compiling = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", layer]
    subprocess.run([python, *compiling], check=True)
    return layer


class Taken(NamedTuple):
    """What a start took, in seconds."""

    clock: float
    cpu: float


class Starter(NamedTuple):
    """Starts programs as Lambda would: an interpreter with its layers."""

    python: str
    layer: Path

    def run(self, program: str, *arguments: str, options: Sequence[str] = ()) -> tuple[Taken, str]:
        """What the program says that it took, and its standard error."""
        done = subprocess.run(
            [self.python, *options, "-c", program, *arguments],
            env={**environment(), "PYTHONPATH": str(self.layer)},
            capture_output=True,
            text=True,
            check=True,
        )
        clock, cpu = map(float, done.stdout.split())
        return Taken(clock, cpu), done.stderr


@contextmanager
def starter(python: str) -> Generator[Starter]:
    with tempfile.TemporaryDirectory() as folder:
        yield Starter(python, lay(Path(folder), python))


def imports(name: str, start: Starter) -> None:
    """Print the imports of a function that cost most themselves, and with all that they import."""
    file, ports = needs()[name]
    _, told = start.run(FUNCTION, str(file), *ports, options=("-X", "importtime"))
    found = re.findall(r"^import time:\s+(\d+) \|\s+(\d+) \| ( *\S+)$", told, re.MULTILINE)
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
    parser.add_argument(
        "--python", default=sys.executable, help="an interpreter with boto3 and requirements/lambda"
    )
    chosen = parser.parse_args()
    with starter(chosen.python) as start:
        if chosen.imports:
            imports(chosen.imports, start)
            return 0
        return measure(start, chosen.rounds, cpu=chosen.cpu)


def measure(start: Starter, rounds: int, *, cpu: bool) -> int:
    """Print every function's times; 1 when one misses its goal by the clock that was chosen."""
    functions = needs()
    taken: dict[str, list[Taken]] = {name: [] for name in (ALONE, *functions)}
    for turn in range(rounds + 1):  # in turns, so that a busy moment hits all alike
        found = {ALONE: start.run(BOTO3_ALONE)[0]}
        found |= {
            name: start.run(FUNCTION, str(file), *ports)[0]
            for name, (file, ports) in functions.items()
        }
        if turn:  # the first reads files that nobody read lately
            for name, each in found.items():
                taken[name].append(each)
    medians = {
        name: Taken(*(1_000 * statistics.median(times) for times in zip(*each, strict=True)))
        for name, each in taken.items()
    }
    missed = False
    print(f"medians of {rounds}; {'cpu' if cpu else 'clock'} judged")
    for name, (clock_ms, cpu_ms) in medians.items():
        by_clock, by_cpu = clock_ms / medians[ALONE].clock, cpu_ms / medians[ALONE].cpu
        said = ""
        if name in functions:
            goal = GOAL_EMBEDDER if "embedder" in functions[name][1] else GOAL_PLAIN
            misses = (by_cpu if cpu else by_clock) > goal
            missed |= misses
            said = f"goal {goal:.1f}{'  missed' if misses else ''}"
        print(
            f"{name:16} clock {clock_ms:6.0f} ms {by_clock:5.2f} x"
            f"  cpu {cpu_ms:6.0f} ms {by_cpu:5.2f} x  {said}"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
