"""Every command of `zm`, at a URL behind which another service answers, or none that is well."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from socket import SHUT_WR, create_server, socket
from threading import Event, Thread
from typing import Any

import pytest
from pydantic import BaseModel

from tests.integration.client.test_commands import zm
from zero_memory.client.api import ANSWERS
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

MEMORY = f"mem_{'0' * 26}"
COMMANDS = [
    ["recall", "x"],
    ["recall", "x", "--json"],
    ["A fact.", "--scope", "core"],
    ["A fact.", "--scope", "core", "--json"],
    ["list"],
    ["forget", MEMORY],
    ["forget", MEMORY, "--json"],
    ["revise", MEMORY, "x"],
    ["close", MEMORY],
    ["restore", MEMORY],
    ["history", MEMORY],
    ["erase", MEMORY, "--confirm", MEMORY],
    ["import", "notes.md"],
    ["export", "out"],
    ["login", "URL"],
    ["status"],
    ["scope", "team", "x"],
    ["token", "list"],
]
HTML = b"content-type: text/html\r\n\r\n<title>Router</title>"
NOT_OURS = "is no zero-memory (HTTP {}). Is the URL right?"
OTHERS = {
    "HTML": (b"200 OK\r\n" + HTML, NOT_OURS.format(200)),
    "an object": (b"200 OK\r\ncontent-type: application/json\r\n\r\n{}", NOT_OURS.format(200)),
    "a list": (b"200 OK\r\ncontent-type: application/json\r\n\r\n[1]", NOT_OURS.format(200)),
    "words": (b'200 OK\r\ncontent-type: text/plain\r\n\r\n"ok"', NOT_OURS.format(200)),
    "nothing": (b"200 OK\r\ncontent-length: 0\r\n\r\n", NOT_OURS.format(200)),
    "no content": (b"204 No Content\r\n\r\n", NOT_OURS.format(204)),
    "a page that is not there": (b"404 Not Found\r\n" + HTML, NOT_OURS.format(404)),
    "a page that asks who it is": (b"401 Unauthorized\r\n" + HTML, NOT_OURS.format(401)),
    "no such call": (b"400 Bad Request\r\n" + HTML, NOT_OURS.format(400)),
    "a redirect to itself": (b"302 Found\r\nlocation: /login\r\n\r\n", NOT_OURS.format(302)),
    "a redirect": (
        b"301 Moved\r\nlocation: https://u:p@memory.example.com/tools?t=1\r\n\r\n",
        "sends callers on to https://memory.example.com. If you know that one, use its URL.",
    ),
    "half an answer": (b"200 OK\r\ncontent-length: 99\r\n\r\n{", "the answer broke off"),
}


@contextmanager
def answering(answer: bytes) -> Generator[str]:
    """A service that answers every request so, and then closes its half of the connection."""
    over = Event()
    with create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    if over.is_set():
                        return
                    drain(connection)
                    connection.sendall(b"HTTP/1.1 " + answer)
                    connection.shutdown(SHUT_WR)
                    connection.recv(1)

        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            over.set()
            with socket() as last:
                last.connect(listener.getsockname())
            thread.join()


def drain(connection: socket) -> None:
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(65_536)
    head, _, body = request.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)


def run(url: str, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "notes.md").write_text("A note.", encoding="utf-8")
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "ZM_URL": url,
        "ZM_TOKEN": "zmt_x",
    }
    words = [url if word == "URL" else word for word in command]
    return zm(*words, environment=environment, cwd=folder, stdin="zmt_x\n")


def test_no_command_takes_another_services_answer_for_its_own(tmp_path: Path) -> None:
    answer, says = OTHERS["an object"]
    with answering(answer) as url:
        done = {" ".join(each): run(url, each, tmp_path) for each in COMMANDS}

    for command, each in done.items():
        told = each.stdout + each.stderr
        assert (command, each.returncode, says in told) == (command, 3, True), told
        assert url in told
    assert not (tmp_path / ".config").exists()


@pytest.mark.parametrize(
    ("command", "what"),
    [*((["recall", "x"], what) for what in OTHERS), (["import", "notes.md"], "no such call")],
)
def test_an_answer_of_another_service_is_told_with_what_to_do(
    tmp_path: Path, command: list[str], what: str
) -> None:
    answer, says = OTHERS[what]
    with answering(answer) as url:
        failed = run(url, command, tmp_path)

    assert (failed.returncode, failed.stdout) == (3, "")
    assert says in failed.stderr
    assert url in failed.stderr
    assert "Traceback" not in failed.stderr
    assert "u:p" not in failed.stderr


def test_over_stdio_a_client_is_told_so_too(tmp_path: Path) -> None:
    answer, says = OTHERS["an object"]
    environment = {"PATH": "/usr/bin:/bin", "ZM_TOKEN": "zmt_x"}
    with answering(answer) as url:
        done = zm(
            "mcp",
            environment={**environment, "ZM_URL": url},
            stdin='{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}\n',
            cwd=tmp_path,
        )

    assert (done.returncode, '"id":7' in done.stdout) == (0, True)
    assert says in done.stdout
    assert "Traceback" not in done.stderr


def test_a_service_that_is_away_for_now_is_no_wrong_url(tmp_path: Path) -> None:
    with answering(b"503 Service Unavailable\r\n" + HTML) as url:
        failed = run(url, ["recall", "x"], tmp_path)

    told = f"zm: The service at {url} answered HTTP 503. Try again later.\n"
    assert (failed.returncode, failed.stderr) == (1, told)


def test_what_is_too_long_for_a_gateway_is_not_to_be_sent_again(tmp_path: Path) -> None:
    with answering(b"413 Content Too Large\r\n" + HTML) as url:
        failed = run(url, ["recall", "x"], tmp_path)

    told = f"zm: This is too long for one call to {url}. Send less at once.\n"
    assert (failed.returncode, failed.stderr) == (1, told)


def test_what_tells_an_answer_stands_in_every_answer_of_its_tool() -> None:
    tools = {tool.name: tool.output for tool in (*TOOLS, *PEOPLES_TOOLS)}

    for name, told_by in ANSWERS.items():
        assert told_by <= always(tools[name]), name


def always(output: type[BaseModel]) -> set[str]:
    fields: dict[str, Any] = dict(output.model_fields)
    return {
        name for name, field in fields.items() if field.is_required() or field.default is not None
    }


def test_an_mcp_url_does_where_the_services_own_is_asked_for(tmp_path: Path) -> None:
    with answering(b"404 Not Found\r\n" + HTML) as url:
        failed = run(f"{url}/mcp/", ["recall", "x"], tmp_path)

    assert f"What answers at {url} is no" in failed.stderr
