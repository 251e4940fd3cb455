"""What `make build` says of what was built."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import REPOSITORY

TEMPLATE = """
Globals: {Function: {Layers: [{Ref: PackageLayer}]}}
Resources:
  PackageLayer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: PackageLayer}}
  ModelLayer: {Type: AWS::Serverless::LayerVersion, Properties: {ContentUri: ModelLayer}}
  RecallFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: RecallFunction, Layers: [{Ref: ModelLayer}]}
  ForgetFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: ForgetFunction}
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A build folder: a package of one compiled module, a model, and two functions."""
    (tmp_path / "template.yaml").write_text(TEMPLATE, encoding="utf-8")
    package = tmp_path / "PackageLayer" / "python"
    compiled = package / "__pycache__" / "module.cpython-313.pyc"
    compiled.parent.mkdir(parents=True)
    (package / "module.py").write_text("x = 1\n", encoding="utf-8")
    compiled.write_bytes(b"\xf3\r\r\n\x01\x00\x00\x00" + bytes(8))
    for name in ("ModelLayer", "RecallFunction", "ForgetFunction"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text("x", encoding="utf-8")
    return tmp_path


def judge(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, REPOSITORY / "infra" / "built.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )


def grow(folder: Path, size: int) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(size)


def test_each_function_is_shown_with_its_own_layers(built: Path) -> None:
    grow(built / "PackageLayer", 100_000_000)
    grow(built / "ModelLayer", 20_000_000)

    judged = judge(built)

    assert judged.returncode == 0, judged.stderr
    rows = dict(line.rsplit(maxsplit=2)[:2] for line in judged.stdout.splitlines() if " MB" in line)
    assert (rows["  RecallFunction"], rows["  ForgetFunction"]) == ("120.0", "100.0")


def test_a_function_over_the_ceiling_fails_and_is_named(built: Path) -> None:
    grow(built / "PackageLayer", 200_000_000)
    grow(built / "ModelLayer", 41_000_000)

    judged = judge(built)

    assert judged.returncode == 1
    assert "RecallFunction is over" in judged.stderr
    assert "ForgetFunction" not in judged.stderr


@pytest.mark.parametrize("flags", [None, b"\x00", b"\x03"])
def test_a_module_that_lambda_would_compile_fails_and_is_named(
    built: Path, flags: bytes | None
) -> None:
    compiled = next(built.rglob("*.pyc"))
    if flags is None:
        compiled.unlink()
    else:
        compiled.write_bytes(b"\xf3\r\r\n" + flags + bytes(11))

    judged = judge(built)

    assert judged.returncode == 1
    assert "module.py has no bytecode" in judged.stderr
