"""An HTTP server between a client and a node, that does to answers what a test says."""

import http.client
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Fault = Literal["throttled", "slow", "hung up", "timed out", "a shard failed", "cut off"] | None
SLOW_S = 30


class FaultyNode(ThreadingHTTPServer):
    """Hands requests on to a node, and does to answers what `fault` says."""

    daemon_threads = True

    def __init__(self, node: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.node = urlsplit(node).netloc
        self.fault: Fault = None
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def faulty(node: str) -> Generator[FaultyNode]:
    with FaultyNode(node) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyNode  # pyright: ignore[reportIncompatibleVariableOverride]

    def answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = self.server.fault
        if fault == "throttled":
            self._send(429, b'{"error": {"type": "rejected_execution_exception"}, "status": 429}')
            return
        if fault == "slow":
            self.server.closing.wait(SLOW_S)
        if fault in ("hung up", "slow"):
            self.close_connection = True
            return
        node = http.client.HTTPConnection(self.server.node)
        node.request(self.command, self.path, sent, {"content-type": "application/json"})
        answer = node.getresponse()
        body = answer.read()
        node.close()
        if self.path.endswith("_msearch") and fault in ("timed out", "a shard failed"):
            document = json.loads(body)
            part = document["responses"][-1]
            part["timed_out"] = fault == "timed out"
            part["_shards"]["failed"] = int(fault == "a shard failed")
            body = json.dumps(document).encode()
        self._send(answer.status, body, cut=len(body) // 2 if fault == "cut off" else 0)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - names that the library calls

    def _send(self, status: int, body: bytes, *, cut: int = 0) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(BrokenPipeError):  # who asked has gone
            self.wfile.write(body[: len(body) - cut])
        self.close_connection = bool(cut)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""
