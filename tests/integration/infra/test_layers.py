"""What the layers leave out."""

import ast
import re
from collections.abc import Iterator

from tests.samples import REPOSITORY


def _services_called() -> Iterator[str]:
    for path in (REPOSITORY / "shared").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "create_client"
            ):
                yield ast.literal_eval(node.args[0])


def test_the_package_layer_describes_the_services_that_the_package_calls() -> None:
    makefile = (REPOSITORY / "layers/package/Makefile").read_text(encoding="utf-8")
    described = re.search(r"^SERVICES := (.+)$", makefile, re.MULTILINE)
    assert described is not None
    assert described[1].split() == sorted(set(_services_called()))
