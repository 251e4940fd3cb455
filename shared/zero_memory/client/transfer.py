"""What import and export share: patient calls, files behind URLs, and progress."""

import json
import os
import sys
import time
import urllib.parse
import urllib.request
from http.client import HTTPException

from zero_memory.client.api import as_object, json_object, post, result_of
from zero_memory.client.connection import Connection
from zero_memory.client.failure import REFUSED, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from zero_memory.client.wire import Answer

TIMEOUT_S = 120.0
"""A service begins nothing more after 10 s of a call; but what it has begun by then may be long,
and share its cores with the other calls."""

_INVALID, _TOO_MANY = 400, 429
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_WIDTH = 30
_LONG_S = 60


class Invalid(Failure):
    """The service refused the call for what is in it."""


def call(connection: Connection, tool: str, arguments: "Mapping[str, object]") -> "dict[str, Any]":
    """A tool's structured result; waits where the service asks for patience.

    Raises Invalid, or Failure with the service's own words.
    """
    present = {name: value for name, value in arguments.items() if value is not None}
    body = json.dumps(present, ensure_ascii=False).encode()
    while True:
        answer = post(connection, f"/tools/{tool}", body, {}, TIMEOUT_S)
        if answer.status != _TOO_MANY:
            break
        time.sleep(_patience_s(answer))
    try:
        return result_of(connection, tool, answer)
    except Failure as failure:
        if answer.status == _INVALID and failure.exit_code == REFUSED:
            raise Invalid(str(failure)) from None
        raise


def _patience_s(answer: "Answer") -> float:
    """How long a service that is asked too often wants to be left alone."""
    error = as_object((json_object(answer.body) or {}).get("error")) or {}
    asked = (as_object(error.get("details")) or {}).get("retry_after_s")
    return asked if isinstance(asked, int) and 1 <= asked <= _LONG_S else 1


def fetch(connection: Connection, url: str) -> bytes:
    """The file behind a URL of the service. Raises Failure."""
    _check(connection, url)
    return _carried(urllib.request.Request(url))  # noqa: S310 - checked


def store(connection: Connection, url: str, content: bytes) -> None:
    """Put a file behind a URL of the service. Raises Failure."""
    _check(connection, url)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        path = urllib.request.url2pathname(parts.path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return
    request = urllib.request.Request(url, content, method="PUT")  # noqa: S310 - checked
    _carried(request)


def _check(connection: Connection, url: str) -> None:
    """Only a service of this machine may name files of this machine, to be read or written."""
    here = urllib.parse.urlsplit(connection.url).hostname in _LOOPBACK
    if urllib.parse.urlsplit(url).scheme not in ({"https", "http", "file"} if here else {"https"}):
        raise Failure("The service named a place that files of this machine don't go to.")


def _carried(request: urllib.request.Request) -> bytes:
    """What is answered, whole."""
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - checked
            return answer.read()
    except (OSError, HTTPException) as error:
        raise Failure(f"The file could not be carried ({error}); run the command again.") from None


class Progress:
    """A bar on standard error, where that is a terminal; `total` is all there is to go through."""

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what = what
        self._total = total
        self._shown = sys.stderr.isatty()
        self._started = time.monotonic()

    def show(self, done: int, behind: int = 0) -> None:
        """Say how many are done, how much of the total that is, and how long the rest takes."""
        if not self._shown:
            return
        if self._total is None:
            text = f"{self._what} {done:,}"
        else:
            share = min(behind / max(self._total, 1), 1)
            bar = "#" * int(_WIDTH * share)
            text = f"{self._what} [{bar:.<{_WIDTH}}] {share:.0%}, {done:,} done{self._left(share)}"
        _draw(f"\r{text}\x1b[K")

    def _left(self, share: float) -> str:
        if not share:
            return ""
        seconds = (time.monotonic() - self._started) * (1 - share) / share
        return f", {seconds / 60:.0f} min left" if seconds >= _LONG_S else ""

    def end(self) -> None:
        """Leave the line to what comes."""
        if self._shown:
            _draw("\r\x1b[K")


def _draw(text: str) -> None:
    """Past the stream's text layer, which makes control characters visible."""
    sys.stderr.buffer.write(text.encode())
    sys.stderr.buffer.flush()
