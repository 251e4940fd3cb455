"""AWS that refuses what the calling function's policy does not name."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError
from opensearchpy import OpenSearch
from opensearchpy.exceptions import AuthorizationException

from tests.contract.rights.policy import Request, Role, domain_request, requests

Handler = Callable[[Any, Any], Any]


class Guard:
    """Knows which function runs, and what it asked for. Without one, everything is allowed."""

    def __init__(self, roles: Mapping[str, Role]) -> None:
        self._roles = roles
        self._function: str | None = None
        self.refused: set[tuple[str, Request]] = set()

    def watch(self, client: Any) -> None:
        """Ask the policy before each call of this client; signing a link for somebody is one."""
        client.meta.events.register("before-parameter-build.*.*", self._check)

    def watch_domain(self, client: OpenSearch) -> None:
        """Ask the policy before each request of this client."""
        perform = client.transport.perform_request

        def check(method: str, url: str, *more: Any, **named: Any) -> Any:
            if self._refuses(domain_request(method, url)):
                raise AuthorizationException(403, "AccessDenied", {})
            return perform(method, url, *more, **named)

        client.transport.perform_request = check

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
        for request in requests(model.service_model.service_name, model.name, params):
            if self._refuses(request):
                denied: Any = {"Code": "AccessDeniedException", "Message": request.action}
                raise ClientError({"Error": denied}, model.name)

    def _refuses(self, request: Request) -> bool:
        if self._function is None:
            return False
        covered = any(right.covers(request) for right in self._roles[self._function].rights)
        if not covered:
            self.refused.add((self._function, request))
        return not covered
