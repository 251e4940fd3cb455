"""One HTTP/1.1 request, over the standard library's sockets.

`http.client` alone takes longer to import than everything else that `zm` does (it brings the e-mail
package, to read headers, and TLS, to reach this machine): 65 ms where a bare Python starts in 20.
This speaks what the commands need and no more: one POST on a connection of its own. TLS is
imported for https alone.
"""

import io
import socket
import time
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

    from typing_extensions import Buffer

TIMEOUT_S = 30.0
LONGEST_LINE = 65_536
LONGEST_BODY = 64 * 1024 * 1024

_PORTS = {"http": 80, "https": 443}
_NOT_ENCRYPTED = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}
"""How versions of OpenSSL name what comes in plain text."""
_LAST_PORT = 65_535


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

    `timeout_s` is how long all of it may take together; the system alone bounds how long a host's
    name is looked up.
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
    deadline = _Deadline(timeout_s)
    with _connected(host, port, deadline) as plain:
        plain.settimeout(deadline.left_s())
        connected = _encrypted(plain, host) if scheme == "https" else plain
        with connected, io.BufferedReader(_Incoming(connected, deadline)) as stream:
            _send(connected, "\r\n".join([*lines, "", ""]).encode("ascii") + body, deadline)
            return _answer(stream)


class _Deadline:
    """When a call must be over."""

    def __init__(self, timeout_s: float) -> None:
        self._at = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """The seconds until then. Raises TimeoutError when there are none."""
        left_s = self._at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


class _Incoming(io.RawIOBase):
    """What a connection brings before a deadline, however slowly it comes."""

    def __init__(self, connection: socket.socket, deadline: _Deadline) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline

    def readable(self) -> bool:
        """It is for reading alone."""
        return True

    def readinto(self, buffer: "Buffer", /) -> int:
        """As much as there is; 0 at the end."""
        self._connection.settimeout(self._deadline.left_s())
        return self._connection.recv_into(buffer)


def _send(connection: socket.socket, content: bytes, deadline: _Deadline) -> None:
    unsent = memoryview(content)
    while unsent:
        connection.settimeout(deadline.left_s())
        try:
            unsent = unsent[connection.send(unsent) :]
        except ConnectionError:  # it takes no more, and may have said why
            return


def _host_and_port(scheme: str, authority: str) -> tuple[str, int]:
    host, colon, digits = authority.rpartition(":")
    if not colon or digits.endswith("]"):
        host, digits = authority, ""
    host = host.removeprefix("[").removesuffix("]")
    port = _port(digits) if digits else _PORTS.get(scheme)
    if scheme not in _PORTS or not host or port is None:
        raise WireError("this is no http or https URL")
    return host, port


def _port(digits: str) -> int | None:
    if digits.isdecimal() and len(digits) <= len(str(_LAST_PORT)) and int(digits) <= _LAST_PORT:
        return int(digits)
    return None


def _connected(host: str, port: int, deadline: _Deadline) -> socket.socket:
    """A connection to the first of the host's addresses that takes one, before the deadline."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a name with empty parts, or parts that are too long
        raise WireError("the URL names no host that there could be") from None
    failed = OSError("the host's name has no address")
    for tried, (family, kind, protocol, _, address) in enumerate(addresses):
        connection: socket.socket | None = None
        try:
            # The system may be without this family of addresses.
            connection = socket.socket(family, kind, protocol)
            # One that is silent leaves the others their share.
            connection.settimeout(deadline.left_s() / (len(addresses) - tried))
            connection.connect(address)
        except OSError as error:
            if connection is not None:
                connection.close()
            failed = error
        else:
            return connection
    raise failed


def _encrypted(plain: socket.socket, host: str) -> socket.socket:
    import ssl

    try:
        return ssl.create_default_context().wrap_socket(plain, server_hostname=host)
    except ssl.SSLError as error:
        if error.reason in _NOT_ENCRYPTED:
            raise WireError("what answers there speaks no https; is it http?") from None
        raise


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
