"""AWS that refuses what the calling function's policy does not name."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError

from tests.contract.rights.policy import Request, Right, requests

Handler = Callable[[Any, Any], Any]


class Guard:
    """Knows which function runs, and what it asked for. Without one, everything is allowed."""

    def __init__(self, rights: Mapping[str, tuple[Right, ...]]) -> None:
        self._rights = rights
        self._function: str | None = None
        self.refused: set[tuple[str, Request]] = set()

    def watch(self, client: Any) -> None:
        """Ask the policy before each call of this client; signing a link for somebody is one."""
        client.meta.events.register("before-parameter-build.*.*", self._check)

    @contextmanager
    def acting(self, function: str) -> Generator[None]:
        """Run as a function."""
        self._function = function
        try:
            yield
        finally:
            self._function = None

    def handler(self, function: str, handler: Handler) -> Handler:
        """A handler that runs as a function."""

        def call(event: Any, context: Any) -> Any:
            with self.acting(function):
                return handler(event, context)

        return call

    def _check(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        if self._function is None:
            return
        service = model.service_model.service_name
        for request in requests(service, model.name, params):
            if not any(right.covers(request) for right in self._rights[self._function]):
                self.refused.add((self._function, request))
                denied: Any = {"Code": "AccessDeniedException", "Message": request.action}
                raise ClientError({"Error": denied}, model.name)
