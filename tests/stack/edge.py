"""The edge before a stack: its function as it ships, in Node, and requests as it leaves them."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

from tests.edge.function import ViewerRequest, edge_function, shipped_code
from tests.relay import Answer, Ask, Relay, Request, serving


class Edge(Relay):
    """Stands before the API at `api_url`; `routed` has the paths that requests were sent on to."""

    def __init__(self, api_url: str) -> None:
        super().__init__(api_url)
        self.routed: list[str] = []


@contextmanager
def edge_before(api_url: str) -> Generator[Edge]:
    """Serve an edge until the block ends."""
    api = urlsplit(api_url)
    with edge_function(shipped_code()) as function, serving(Edge(api_url)) as edge:

        def route(request: Request, ask: Ask) -> Answer | None:
            routed = function.route(ViewerRequest(request.method, request.path, request.headers))
            edge.routed.append(routed.uri)
            others = [each for each in routed.headers if each[0].lower() != "host"]
            headers = [("Host", api.netloc), *others]
            return ask(replace(request, path=f"{api.path}{routed.uri}", headers=headers))

        edge.meddle = route
        yield edge
