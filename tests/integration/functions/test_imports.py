"""Each handler under Lambda's Python, with what its layers hold, and boto3, which none imports.

What a function imports is its cold start, so it is pinned: by names, since times would waver. What
the names cost is measured by `python -m tests.bench.cold_start`.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.bench.cold_start import environment, lay, needs
from tests.samples import REPOSITORY

PYTHON = REPOSITORY / ".work" / "venv-functions" / "bin" / "python"

START = """
import importlib.util, os, sys
bare = set(sys.modules)
spec = importlib.util.spec_from_file_location("app", sys.argv[1])
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
assert callable(app.handler)
from zero_memory.runtime.bootstrap import services
composed = services()
for port in sys.argv[2:]:
    getattr(composed, port)
files = " ".join(str(getattr(module, "__file__", None)) for module in sys.modules.values())
unused = [part for part in os.environ["UNUSED"].split() if f"/{part}/" in files]
assert not unused, unused
imported = {name.partition(".")[0] for name in sys.modules.keys() - bare}
heavy = {"asyncio", "multiprocessing", "sqlite3", "unittest"}
print(*{name for name in imported - (sys.stdlib_module_names - heavy) if name[0] != "_"})
"""

TABLE = {
    *("botocore", "certifi", "dateutil", "jmespath", "six", "urllib3"),
    *("msgspec", "typing_extensions", "zero_memory"),
}
ANSWERS = {
    *("annotated_types", "pydantic", "pydantic_core", "typing_inspection"),
    *("aws_lambda_powertools", "ulid"),
}
EMBEDS = {"Stemmer", "numpy", "onnxruntime", "tokenizers", "cython_runtime"}
READS_NOTES = {"yaml", "cython_runtime"}
ASKS_A_DOMAIN = {
    *("opensearchpy", "events", "requests", "charset_normalizer", "idna"),
    *("asyncio", "numpy", "cython_runtime"),
}
"""With search `domain`, which imports all that `none` does."""

IMPORTS = {
    "remember": TABLE | ANSWERS | EMBEDS | ASKS_A_DOMAIN,
    "recall": TABLE | ANSWERS | EMBEDS | ASKS_A_DOMAIN,
    "revise": TABLE | ANSWERS | EMBEDS,
    "close_loop": TABLE | ANSWERS | EMBEDS,
    "erase_memory": TABLE | ANSWERS | ASKS_A_DOMAIN,
    "delete_account": TABLE | ANSWERS | ASKS_A_DOMAIN,
    "import_memory": TABLE | ANSWERS | EMBEDS | READS_NOTES,
    "export_memories": TABLE | ANSWERS | READS_NOTES,
    "mcp": TABLE | ANSWERS | EMBEDS | ASKS_A_DOMAIN | READS_NOTES,
    "indexer": TABLE | ASKS_A_DOMAIN,
    "tick": TABLE | ASKS_A_DOMAIN | {"aws_lambda_powertools"},
}
"""What each function imports; those that are not named: `TABLE` and `ANSWERS`."""


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as its layer has it, beside the embedding model."""
    if not PYTHON.exists():
        missing = "what functions find in their layer is not installed: make tools"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return lay(tmp_path_factory.mktemp("layers"), PYTHON)


def unused() -> list[str]:
    """The parts of dependencies that the layer leaves out."""
    recipe = (REPOSITORY / "layers" / "package" / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^UNUSED := \$\(addprefix onnxruntime/,(.+)\) (.+)$", recipe, re.MULTILINE)
    assert listed is not None
    packages, more = listed.groups()
    return [*(f"onnxruntime/{name}" for name in packages.split()), *more.split()]


def start(name: str, layers: Path, search: str) -> set[str]:
    """What a cold start of a function imports, of other packages and of the heavy own ones."""
    file, ports = needs()[name]
    variables = {
        **environment(),
        "ZM_SEARCH": search,
        "ZM_SEARCH_ENDPOINT": "https://domain.example" if search == "domain" else "",
        "PYTHONPATH": str(layers),
        "UNUSED": " ".join(unused()),
    }
    done = subprocess.run(
        [PYTHON, "-c", START, file, *ports],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("name", sorted(needs()))
def test_a_function_starts_with_its_own_layers_and_imports_what_it_needs_alone(
    name: str, layers: Path
) -> None:
    assert start(name, layers, "domain") == IMPORTS.get(name, TABLE | ANSWERS)


def test_without_a_domain_nobody_imports_its_client(layers: Path) -> None:
    assert start("mcp", layers, "none") == IMPORTS["mcp"] - (ASKS_A_DOMAIN - EMBEDS - READS_NOTES)


def test_the_layer_leaves_out_what_a_function_has_no_use_for() -> None:
    recipe = (REPOSITORY / "layers" / "package" / "Makefile").read_text(encoding="utf-8")

    assert '"$(TARGET)/zero_memory/client" "$(TARGET)/zero_memory/local"' in recipe
