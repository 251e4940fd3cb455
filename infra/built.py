"""Judge what `sam build` made: the size of each function with its layers, and its bytecode.

Prints a row a function, the largest first. Ends with 1 when one is over the ceiling, or when a
module comes without bytecode that Lambda uses: nothing can be written there, so each cold start
would compile it.

`python infra/built.py [FOLDER]`
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from zero_memory.local.deployment import read_template

LAMBDAS_LIMIT = 250 * 1024 * 1024
"""Bytes that Lambda takes of a function and its layers, unzipped."""

CEILING = 240_000_000
"""Bytes that we allow ourselves: what is left has room for a new release of a large dependency."""

BYTECODE = "cpython-313"
UNCHECKED = 0b01
"""The flags of a .pyc that is used without a look at its source."""


def main(folder: Path) -> int:
    """Print the sizes; returns the exit code."""
    template = read_template(folder)
    resources: dict[str, Any] = template["Resources"]
    shared: list[dict[str, str]] = template["Globals"]["Function"]["Layers"]
    layers = {
        name: folder / resource["Properties"]["ContentUri"]
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Serverless::LayerVersion"
    }
    layer_sizes = {name: _size(path) for name, path in layers.items()}
    sizes: dict[str, int] = {}
    for name, resource in resources.items():
        if resource["Type"] == "AWS::Serverless::Function":
            properties = resource["Properties"]
            used = {each["Ref"] for each in (*shared, *properties.get("Layers", ()))}
            own = _size(folder / properties["CodeUri"])
            sizes[name] = own + sum(layer_sizes[layer] for layer in used)
    _print_sizes("layer", layer_sizes)
    _print_sizes("function with its layers", sizes)
    print(f"\n{_megabytes(CEILING)} at most; Lambda takes {_megabytes(LAMBDAS_LIMIT)}")

    faults = [f"{name} is over the ceiling" for name, size in sizes.items() if size > CEILING]
    faults += [f"{path} has no bytecode for Lambda" for path in _uncompiled(layers.values())]
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return int(bool(faults))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _print_sizes(title: str, sizes: dict[str, int]) -> None:
    print(f"\n{title}")
    for name, size in sorted(sizes.items(), key=lambda each: (-round(each[1], -5), each[0])):
        print(f"  {name:24} {_megabytes(size):>9}")


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _uncompiled(layers: Iterable[Path]) -> Iterator[Path]:
    for layer in layers:
        for source in layer.rglob("*.py"):
            compiled = source.parent / "__pycache__" / f"{source.stem}.{BYTECODE}.pyc"
            if not compiled.exists() or compiled.read_bytes()[4:8] != bytes([UNCHECKED, 0, 0, 0]):
                yield source


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".aws-sam/build")))
