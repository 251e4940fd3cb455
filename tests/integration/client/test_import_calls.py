"""How `zm import` cuts up what it sends, against a service that puts some of it off."""

import json
import os
import pty
import signal
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

from tests.service import ZM


@dataclass
class Calls:
    """A service that takes items, but puts off the second half of every other call."""

    url: str = ""
    seen: list[list[int]] = field(default_factory=list[list[int]])
    taken: list[int] = field(default_factory=list[int])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, numbers: list[int]) -> list[str]:
        with self.lock:
            self.seen.append(numbers)
            late = len(numbers) // 2 if len(self.seen) % 2 else len(numbers)
            self.taken += numbers[:late]
        return ["created" if at < late else "deferred" for at, _ in enumerate(numbers)]


@contextmanager
def taking_calls() -> Generator[Calls]:
    calls = Calls()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            paths = [each["path"] for each in sent["items"]]
            statuses = calls.answer([int(path.rpartition("#")[2]) for path in paths])
            items = [
                {"path": path, "status": status}
                for path, status in zip(paths, statuses, strict=True)
            ]
            body = json.dumps({"items": items}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        calls.url = f"http://127.0.0.1:{server.server_port}"
        yield calls
        server.shutdown()
        thread.join()


def test_every_call_brings_what_stands_next_to_each_other_and_all_is_taken_once(
    tmp_path: Path,
) -> None:
    lines = [f'{{"number": {number}}}\n' for number in range(1, 701)]
    (tmp_path / "many.jsonl").write_text("".join(lines), encoding="utf-8")
    with taking_calls() as calls:
        told, shown = imported(tmp_path / "many.jsonl", calls.url)
    assert told == "Lines: 700 created. Memories: 0.\n"
    assert sorted(calls.taken) == list(range(1, 701))
    for numbers in calls.seen:
        assert all(after == before + 1 for before, after in pairwise(numbers))
    assert "importing [" in shown
    assert "%, " in shown


def test_of_a_file_of_lines_the_one_that_is_no_text_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "many.jsonl").write_bytes(b'{"number": 1}\n\xff\xfe\n\n{"number": 4}\n')
    with taking_calls() as calls:
        _, shown = imported(tmp_path / "many.jsonl", calls.url)
    assert sorted(set(calls.taken)) == [1, 4]
    assert "many.jsonl#2: not valid UTF-8" in shown


def test_an_interrupted_import_waits_for_no_answer(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("A note.", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [ZM, "import", tmp_path / "note.md", "--scope", "personal"]
        environment = {**os.environ, "ZM_URL": url, "ZM_TOKEN": "zmt_x"}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as importing:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                importing.send_signal(signal.SIGINT)
                _, shown = importing.communicate(timeout=60)

    assert (importing.returncode, shown) == (130, b"")


def imported(file: Path, url: str) -> tuple[str, str]:
    """What `zm import` prints, and what it shows to a person at a terminal."""
    shown: list[bytes] = []
    terminal, end = pty.openpty()

    def read() -> None:
        while True:
            try:
                chunk = os.read(terminal, 4_096)
            except OSError:  # nobody holds the other end any more
                return
            if not chunk:
                return
            shown.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(
            [ZM, "import", file, "--scope", "personal"],
            env={**os.environ, "ZM_URL": url, "ZM_TOKEN": "zmt_x"},
            stdout=subprocess.PIPE,
            stderr=end,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(end)
        reader.join()
        os.close(terminal)
    return done.stdout, b"".join(shown).decode()
