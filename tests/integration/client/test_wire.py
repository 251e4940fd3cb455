"""The client's HTTP: what it sends, and every way in which an answer may come, or not."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from unittest.mock import Mock

import pytest

from zero_memory.client.wire import Answer, WireError, post


@contextmanager
def answering(*pieces: bytes) -> Generator[tuple[int, list[bytes]]]:
    """A server that reads one request, sends these pieces, and hangs up."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                request = b""
                while b"\r\n\r\n" not in request or not request.endswith(b"{}"):
                    request += connection.recv(65_536)
                received.append(request)
                for piece in pieces:
                    connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], received
        thread.join(30)


def ask(*pieces: bytes) -> Answer:
    with answering(*pieces) as (port, _):
        return post(f"http://127.0.0.1:{port}/tools/recall", {"x-one": "a"}, b"{}")


def test_a_request_names_its_host_its_length_and_its_headers() -> None:
    with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as (port, received):
        post(f"http://127.0.0.1:{port}/tools/recall", {"x-one": "a"}, b"{}")

    head, _, body = received[0].partition(b"\r\n\r\n")
    assert body == b"{}"
    assert head.decode().split("\r\n") == [
        "POST /tools/recall HTTP/1.1",
        f"host: 127.0.0.1:{port}",
        "content-length: 2",
        "connection: close",
        "x-one: a",
    ]


@pytest.mark.parametrize(
    ("pieces", "body"),
    [
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", b"lo"), b"hello"),
        ((b"HTTP/1.1 200 OK\r\n\r\nto the ", b"end"), b"to the end"),
        ((b"HTTP/1.0 200 OK\r\ncontent-length:0\r\n\r\n",), b""),
        ((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",), b"x"),
        (
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"3;note=1\r\nabc\r\n",
                b"A\r\n0123456789\r\n0\r\n\r\n",
            ),
            b"abc0123456789",
        ),
    ],
)
def test_a_body_comes_whole_however_it_is_framed(pieces: tuple[bytes, ...], body: bytes) -> None:
    answer = ask(*pieces)

    assert (answer.status, answer.body) == (200, body)


def test_header_names_are_lower_case() -> None:
    answer = ask(b"HTTP/1.1 401 Unauthorized\r\nMcp-Session-Id:  a b \r\nContent-Length: 0\r\n\r\n")

    assert (answer.status, answer.headers["mcp-session-id"]) == (401, "a b")


@pytest.mark.parametrize(
    "pieces",
    [
        (),
        (b"SSH-2.0-OpenSSH_9.6\r\n",),
        (b"HTTP/1.1 abc\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\n",),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n",),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",),
    ],
)
def test_what_is_no_whole_answer_is_an_error(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(WireError):
        ask(*pieces)


@pytest.mark.parametrize("framing", [b"", b"content-length: 1000000\r\n"])
def test_an_answer_that_comes_drop_by_drop_ends_at_the_deadline(framing: bytes) -> None:
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(ConnectionError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n")
                while not over.wait(0.01):
                    connection.sendall(b".")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(TimeoutError):
                post(f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, b"{}", timeout_s=0.3)
        finally:
            over.set()
            thread.join()


def test_a_request_that_is_taken_by_nobody_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(TimeoutError):
            post(f"http://127.0.0.1:{port}/", {}, bytes(64 * 1024 * 1024), timeout_s=0.3)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:80", "ftp://127.0.0.1/x", "http://", "http://host:port/", "http:///path",
     "http://127.0.0.1:9/a b\r\nx-injected: 1", "http://ö.example/", "http://a..b/",
     f"http://{64 * 'a'}.example/", "http://127.0.0.1:65536/", f"http://127.0.0.1:{5_000 * '9'}/"],
)  # fmt: skip
def test_what_is_no_url_goes_nowhere(url: str) -> None:
    with pytest.raises(WireError):
        post(url, {}, b"{}")


def test_a_header_cannot_bring_another() -> None:
    with pytest.raises(WireError):
        post("http://127.0.0.1:9/", {"authorization": "Bearer a\r\nx-injected: 1"}, b"{}")


def test_a_port_that_refuses_is_the_systems_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(OSError, match="refused"):
        post(f"http://127.0.0.1:{port}/", {}, b"{}")


def test_an_address_of_a_family_that_the_system_is_without_leaves_the_next_one_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        known = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", taken.getsockname())
    unknown = (1_000, *known[1:])
    monkeypatch.setattr("socket.getaddrinfo", Mock(return_value=[unknown, known]))

    with pytest.raises(OSError, match="refused"):
        post("http://localhost/", {}, b"{}")


def test_an_address_of_ipv6_is_taken_out_of_its_brackets() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(OSError, match="refused"):
        post(f"http://[::1]:{port}/", {}, b"{}")
