"""A client of OpenSearch, and asking it within a budget of time."""

import logging
import random
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

from botocore.credentials import Credentials
from botocore.exceptions import BotoCoreError
from opensearchpy import OpenSearch, Urllib3AWSV4SignerAuth, Urllib3HttpConnection
from opensearchpy.exceptions import (
    ConnectionError,  # noqa: A004
    NotFoundError,
    OpenSearchException,
    RequestError,
    TransportError,
)

from zero_memory.adapters.aws_session import aws_session
from zero_memory.ports.search_index import IndexUnavailable

T = TypeVar("T")
Json = dict[str, Any]

ERROR = 400
"""The first status that says that something failed."""

NOT_FOUND = 404
CONFLICT = 409
PASSING = frozenset((429, 502, 503, 504))
"""What the engine answers when it is too busy; asked again, it may do it."""

_ATTEMPTS = 4
_FIRST_WAIT_S = 0.05


def domain_client(endpoint: str) -> OpenSearch:
    """A client of the domain at an https URL, by the process's own AWS credentials and region.

    Of a node on this machine, at an http one.
    """
    if urlsplit(endpoint).scheme != "https":
        return opensearch_client(endpoint)
    session: Any = aws_session()  # the stubs know no configuration by its name here
    region = session.get_config_variable("region")
    return opensearch_client(endpoint, session.get_credentials(), region)


def opensearch_client(
    endpoint: str, credentials: Credentials | None = None, region: str = ""
) -> OpenSearch:
    """A client of the engine at a URL. With credentials, each request is signed (`es`, SigV4)."""
    # At level DEBUG it would log what is asked and answered.
    logging.getLogger("opensearch").setLevel(logging.ERROR)
    url = urlsplit(endpoint)
    secure = url.scheme == "https"
    return OpenSearch(
        hosts=[{"host": url.hostname, "port": url.port or (443 if secure else 80)}],
        http_auth=credentials and Urllib3AWSV4SignerAuth(credentials, region, "es"),
        use_ssl=secure,
        verify_certs=secure,
        connection_class=Urllib3HttpConnection,
        pool_maxsize=8,
        max_retries=0,  # they are ours: with jitter, and within a budget
    )


def ask(call: Callable[[float], T], ends: float) -> T:
    """What the engine answers, `call` being told how long it may take, in seconds.

    An engine that is too busy, does not answer or hangs up is asked again, after a pause of
    random length, up to three times and until `ends`.
    """
    for attempt in range(1, _ATTEMPTS):
        left = max(ends - time.monotonic(), _FIRST_WAIT_S)
        try:
            return call(left / 2)
        except TransportError as failure:
            passing = isinstance(failure, ConnectionError) or failure.status_code in PASSING
            wait = random.uniform(0, _FIRST_WAIT_S * 2**attempt)  # noqa: S311 - jitter is no secret
            if not passing or time.monotonic() + wait > ends:
                raise
        time.sleep(wait)
    return call(max(ends - time.monotonic(), _FIRST_WAIT_S))


def search_each(client: OpenSearch, index: str, bodies: Sequence[Json], ends: float) -> list[Json]:
    """The engine's answers to these queries, each of them whole. Ends as `ask` does."""

    def search(wait: float) -> list[Json]:
        lines: list[Json] = []
        for body in bodies:
            lines += [{"allow_partial_search_results": False}, body]
            body["timeout"] = f"{int(wait * 1_000) + 1}ms"
        answered = client.msearch(index=index, body=lines, params={"request_timeout": wait})
        answers = answered["responses"]
        for answer in answers:
            if "error" in answer:
                kind = {ERROR: RequestError, NOT_FOUND: NotFoundError}
                error = kind.get(answer["status"], TransportError)
                raise error(answer["status"], answer["error"]["type"], {})
            if answer["timed_out"] or answer["_shards"]["failed"]:
                raise IndexUnavailable("The search engine answers in part only.")
        return answers

    return ask(search, ends)


def pause(ends: float) -> None:
    """Wait a moment of random length. Raises IndexUnavailable past `ends`."""
    if time.monotonic() > ends:
        raise IndexUnavailable("The search engine is too busy for writes.")
    time.sleep(random.uniform(0, 4 * _FIRST_WAIT_S))  # noqa: S311 - jitter is no secret


@contextmanager
def available() -> Generator[None]:
    """Turns what the client raises into the port's error; what the engine says stays here."""
    try:
        yield
    except TransportError as failure:
        status = failure.status_code if isinstance(failure.status_code, int) else None
        said = type(failure).__name__ if status is None else f"HTTP {status}"
        raise IndexUnavailable(f"The search engine does not answer ({said}).") from failure
    except (OpenSearchException, BotoCoreError) as failure:
        said = type(failure).__name__
        raise IndexUnavailable(f"The search engine cannot be asked ({said}).") from failure
