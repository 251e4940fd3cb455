"""Every refusal that the package's source can raise, by code and wording."""

import ast
import re
from collections.abc import Generator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import zero_memory
from zero_memory.contracts.errors import ErrorCode

_PACKAGE = Path(zero_memory.__file__).parent
_CODES = {code.value: code for code in ErrorCode}
_DEFINED_IN = _PACKAGE / "contracts" / "errors.py"
_BODY = "UnreadableBodyError"
"""What reading a body raises; the entry point refuses it in the same words."""

FILLED_IN = "{}"


@dataclass(frozen=True)
class Wording:
    """A message as the source spells it, with `{}` for what is filled in."""

    code: ErrorCode
    text: str

    def says(self, code: str, message: str) -> bool:
        pattern = ".+".join(map(re.escape, self.text.split(FILLED_IN)))
        return code == self.code and re.fullmatch(pattern, message, re.DOTALL) is not None


def wordings() -> set[Wording]:
    """All of them, of every module."""
    return {
        wording
        for path in sorted(_PACKAGE.rglob("*.py"))
        if path != _DEFINED_IN
        for wording in _in_module(path)
    }


def _in_module(path: Path) -> Generator[Wording]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            raised = _raised(node, node.func.id)
            if raised is not None:
                code, message = raised
                yield Wording(code, _text(message, path))


def _raised(call: ast.Call, name: str) -> tuple[ErrorCode, ast.expr] | None:
    if name in _CODES:
        message = call.args[0]
        # What is handed on has its words elsewhere.
        return None if isinstance(message, ast.Call) else (_CODES[name], message)
    if name == _BODY:
        return ErrorCode.VALIDATION_FAILED, call.args[0]
    if name == "Refusal":
        code, message, *_ = call.args
        assert isinstance(code, ast.Attribute)
        return ErrorCode[code.attr], message
    return None


def _text(message: ast.expr, path: Path) -> str:
    if isinstance(message, ast.Constant):
        return str(message.value)
    if isinstance(message, ast.JoinedStr):
        return "".join(_text(part, path) for part in message.values)
    if isinstance(message, ast.FormattedValue):
        return _constant(message.value, path) or FILLED_IN
    words = _constant(message, path)
    assert words is not None, f"{path}:{message.lineno} is worded where this test can't read it"
    return words


def _constant(name: ast.expr, path: Path) -> str | None:
    """The words of a module's constant."""
    if not isinstance(name, ast.Name):
        return None
    parts = (zero_memory.__name__, *path.relative_to(_PACKAGE).with_suffix("").parts)
    value = getattr(import_module(".".join(parts)), name.id, None)
    return value if isinstance(value, str) else None
