"""An HTTP server between a client and a server, that does to requests what a test says."""

import http.client
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Request:
    """One request; headers as they were sent, a signature among them."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """A header's value, "" when there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), "")


@dataclass(frozen=True)
class Answer:
    """One answer. Of `cut` bytes at its end the client gets nothing, but for the hanging up."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes
    cut: int = 0


HUNG_UP = None
"""In place of an answer: the connection closes."""

Ask = Callable[[Request], Answer]
"""What the server says."""

Meddling = Callable[[Request, Ask], Answer | None]
"""What becomes of a request: an answer, the server's or another, or `HUNG_UP`."""


class Relay(ThreadingHTTPServer):
    """Hands requests on to the server at `target`, through `meddle` while there is one."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.meddle: Meddling | None = None

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self.server_port}"

    def ask(self, request: Request) -> Answer:
        """The server's answer to a request, which it gets as it is."""
        server = http.client.HTTPConnection(urlsplit(self.target).netloc)
        try:
            server.putrequest(
                request.method, request.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in request.headers:
                server.putheader(name, value)
            server.endheaders(request.body)
            answer = server.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            server.close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients are killed in the middle of what they ask."""


R = TypeVar("R", bound=Relay)


@contextmanager
def serving(relay: R) -> Generator[R]:
    """Serve until the block ends."""
    with relay:
        thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Relay  # pyright: ignore[reportIncompatibleVariableOverride]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Request(self.command, self.path, self.headers.items(), body)
        meddle = self.server.meddle
        try:
            answer = meddle(request, self.server.ask) if meddle else self.server.ask(request)
        except OSError:  # the server is away
            answer = HUNG_UP
        if answer is None:
            self.close_connection = True
            return
        with suppress(OSError):  # who asked has gone
            self._send(answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815 - the library's names

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() not in {"connection", "content-length", "transfer-encoding"}:
                self.send_header(name, value)
        self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) - answer.cut])
        self.close_connection = bool(answer.cut)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""
