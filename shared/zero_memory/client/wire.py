"""One HTTP/1.1 request, over the standard library's sockets.

`http.client` alone takes longer to import than everything else that `zm` does (it brings the e-mail
package, to read headers, and TLS, to reach this machine): 65 ms where a bare Python starts in 20.
This speaks what the commands need and no more: one POST on a connection of its own. TLS is
imported for https alone.
"""

import socket
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

TIMEOUT_S = 30.0
LONGEST_LINE = 65_536
LONGEST_BODY = 64 * 1024 * 1024

_PORTS = {"http": 80, "https": 443}


class WireError(Exception):
    """What answered does not speak HTTP, or the URL is none; the message says which."""


class Answer:
    """An HTTP answer; header names are lower case."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def post(url: str, headers: Mapping[str, str], body: bytes, timeout_s: float = TIMEOUT_S) -> Answer:
    """POST `body` to `url`, of http or https. Raises OSError or WireError.

    `timeout_s` is how long the other side may be silent.
    """
    scheme, _, rest = url.partition("://")
    authority, _, path = rest.partition("/")
    host, port = _host_and_port(scheme, authority)
    lines = [
        f"POST /{path} HTTP/1.1",
        f"host: {authority}",
        f"content-length: {len(body)}",
        "connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if any(not line.isascii() or not line.isprintable() for line in lines):
        raise WireError("the URL or a header holds characters that HTTP cannot carry")
    with _connected(host, port) as plain:
        plain.settimeout(timeout_s)
        connected = _encrypted(plain, host) if scheme == "https" else plain
        with connected, connected.makefile("rb") as stream:
            connected.sendall("\r\n".join([*lines, "", ""]).encode("ascii") + body)
            return _answer(stream)


def _host_and_port(scheme: str, authority: str) -> tuple[str, int]:
    host, colon, digits = authority.rpartition(":")
    if not colon or digits.endswith("]"):
        host, digits = authority, ""
    host = host.removeprefix("[").removesuffix("]")
    if scheme not in _PORTS or not host or not (digits == "" or digits.isdecimal()):
        raise WireError("this is no http or https URL")
    return host, int(digits) if digits else _PORTS[scheme]


def _connected(host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=TIMEOUT_S)
    except UnicodeError:  # a name with empty parts, or parts that are too long
        raise WireError("the URL names no host that there could be") from None


def _encrypted(plain: socket.socket, host: str) -> socket.socket:
    import ssl

    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _answer(stream: "IO[bytes]") -> Answer:
    while True:  # an interim answer (1xx) comes before the one that counts
        version, _, rest = _line(stream).partition(" ")
        status = rest[:3]
        if not version.startswith("HTTP/1.") or not status.isdecimal():
            raise WireError("what answers there does not speak HTTP/1.1")
        headers: dict[str, str] = {}
        while line := _line(stream):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if not status.startswith("1"):
            return Answer(int(status), headers, _body(stream, headers, int(status)))


def _body(stream: "IO[bytes]", headers: Mapping[str, str], status: int) -> bytes:
    if status in {204, 304}:
        return b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := _number(_line(stream).partition(";")[0], 16):
            body += _exactly(stream, size)
            _line(stream)
            if len(body) > LONGEST_BODY:
                raise WireError("the answer is too long")
        return body
    if "content-length" in headers:
        return _exactly(stream, _number(headers["content-length"], 10))
    return stream.read(LONGEST_BODY)


def _line(stream: "IO[bytes]") -> str:
    line = stream.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise WireError("the answer broke off")
    return line.decode("latin-1").rstrip("\r\n")


def _number(digits: str, base: int) -> int:
    try:
        return int(digits, base)
    except ValueError:
        raise WireError("the answer is not HTTP/1.1") from None


def _exactly(stream: "IO[bytes]", size: int) -> bytes:
    if not 0 <= size <= LONGEST_BODY:
        raise WireError("the answer is too long")
    body = stream.read(size)
    if len(body) < size:
        raise WireError("the answer broke off")
    return body
