"""The edge's router: by headers alone, to the tool's own place, and everything else to /mcp."""

import base64
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.edge.function import (
    EdgeFunction,
    RefusedByCloudFront,
    ViewerRequest,
    edge_function,
    shipped_code,
)
from tests.samples import REPOSITORY, sample
from zero_memory.local.deployment import read_deployment, read_template
from zero_memory.mcp.revision import decoded_name
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

HOST = "d111111abcdef8.cloudfront.net"
NAMES = [tool.name for tool in TOOLS]
ROUTES = {route.path for route in read_deployment(REPOSITORY).routes}


@pytest.fixture(scope="module")
def edge() -> Iterator[EdgeFunction]:
    with edge_function(shipped_code()) as function:
        yield function


def call(*headers: tuple[str, str], method: str = "POST", uri: str = "/mcp") -> ViewerRequest:
    return ViewerRequest(method, uri, (("Host", HOST), *headers))


def tool_call(name: str) -> ViewerRequest:
    return call(("Mcp-Method", "tools/call"), ("Mcp-Name", name))


@pytest.mark.parametrize("name", NAMES)
def test_a_call_of_a_tool_goes_to_its_own_place(edge: EdgeFunction, name: str) -> None:
    routed = edge.route(tool_call(name))

    assert routed.uri == f"/mcp/tools/{name}"
    assert routed.uri in ROUTES


def test_every_tool_with_a_place_of_its_own_is_known_and_no_other() -> None:
    code = shipped_code()
    listed = code[code.index("[") + 1 : code.index("]")]

    assert [name.strip(" '\n") for name in listed.split(",")] == sorted(NAMES)
    assert {path for path in ROUTES if path.startswith("/mcp/")} == {
        f"/mcp/tools/{name}" for name in NAMES
    }


def encoded(name: str) -> str:
    return f"=?base64?{base64.b64encode(name.encode()).decode()}?="


@pytest.mark.parametrize(
    "name",
    [
        *("", "unknown", "RECALL", "recall ", "recall,recall", "recall/", "../recall"),
        *("rec%61ll", "recall?x=1", "recall\x00", "recall\uff10", encoded("recall")),
        *("__proto__", "constructor", "toString", "indexOf", "length", "0", "undefined"),
        *(tool.name for tool in PEOPLES_TOOLS),
    ],
)
def test_any_other_name_goes_to_the_whole_protocol(edge: EdgeFunction, name: str) -> None:
    assert edge.route(tool_call(name)).uri == "/mcp"


@pytest.mark.parametrize(
    "headers",
    [
        (("Mcp-Name", "recall"),),
        (("Mcp-Method", "tools/call"),),
        (("Mcp-Method", "tools/list"), ("Mcp-Name", "recall")),
        (("Mcp-Method", "Tools/Call"), ("Mcp-Name", "recall")),
        (("Mcp-Method", "tools/call"), ("Mcp-Name", "recall"), ("Mcp-Name", "forget")),
        (("Mcp-Method", "tools/call"), ("Mcp-Name", "recall"), ("Mcp-Name", "recall")),
        (("Mcp-Method", "tools/call"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "recall")),
    ],
)
def test_headers_that_do_not_name_one_call_go_to_the_whole_protocol(
    edge: EdgeFunction, headers: tuple[tuple[str, str], ...]
) -> None:
    assert edge.route(call(*headers)).uri == "/mcp"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH"])
def test_only_a_post_is_a_call(edge: EdgeFunction, method: str) -> None:
    request = ViewerRequest(method, "/mcp", tool_call("recall").headers)

    assert edge.route(request).uri == "/mcp"


@pytest.mark.parametrize(
    "uri", ["/", "/mcp/", "/MCP", "/mcp/tools/forget", "/tools/forget", "/%6dcp", "//mcp"]
)
def test_only_the_endpoint_is_routed(edge: EdgeFunction, uri: str) -> None:
    request = ViewerRequest("POST", uri, tool_call("recall").headers)

    assert edge.route(request).uri == uri


def test_functions_are_told_the_host_that_was_asked_whatever_the_viewer_says(
    edge: EdgeFunction,
) -> None:
    routed = edge.route(call(("X-Forwarded-Host", "evil.example")))

    assert dict(routed.headers)["x-forwarded-host"] == HOST


def test_the_sample_is_a_call_that_goes_to_its_own_place(edge: EdgeFunction) -> None:
    request = sample("edge_viewer_request")["request"]
    headers = tuple((name, header["value"]) for name, header in request["headers"].items())
    viewed = ViewerRequest(request["method"], request["uri"], headers)

    assert viewed.event() == sample("edge_viewer_request")
    assert edge.route(viewed).uri == "/mcp/tools/recall"


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
TOKEN = st.text("abcdefghijklmnopqrstuvwxyz-ABCDEFGH0123456789_", min_size=1, max_size=20)
HEADER = st.one_of(
    st.tuples(st.sampled_from(["Mcp-Name", "mcp-name"]), st.sampled_from(NAMES) | TEXT),
    st.tuples(st.sampled_from(["Mcp-Method", "MCP-METHOD"]), st.just("tools/call") | TEXT),
    st.tuples(TOKEN, TEXT),
)


@given(
    headers=st.lists(HEADER, max_size=6),
    method=st.sampled_from(["POST", "POST", "GET", "DELETE"]),
    uri=st.just("/mcp") | TEXT.map(lambda path: f"/{path}"),
)
@example(headers=[("constructor", ""), ("__proto__", "x")], method="POST", uri="/mcp")
def test_whatever_comes_is_left_alone_or_a_call_that_its_headers_name(
    edge: EdgeFunction, headers: list[tuple[str, str]], method: str, uri: str
) -> None:
    request = ViewerRequest(method, uri, (("host", HOST), *headers))
    routed = edge.route(request)

    told = [header for header in routed.headers if header[0] != "x-forwarded-host"]
    sent = [(name.lower(), value) for name, value in request.headers]
    assert sorted(told) == sorted(header for header in sent if header[0] != "x-forwarded-host")
    if routed.uri == uri:
        return
    (name,) = (value for header, value in sent if header == "mcp-name")
    assert (method, uri, routed.uri) == ("POST", "/mcp", f"/mcp/tools/{name}")
    assert [value for header, value in sent if header == "mcp-method"] == ["tools/call"]
    assert decoded_name(name) == name  # what the tool's own function will read
    assert name in NAMES


@pytest.mark.parametrize(
    "code",
    [
        "const handler = (event) => event.request;",
        "function handler(event) { return event; }",
        "function handler(event) { return require('fs'); }",
        "function handler(event) { return eval('event.request'); }",
        "function handler(event) { return process.env; }",
        "function handler(event) { event.request.method = 'GET'; return event.request; }",
        "function handler(e) { e.request.headers.via = e.request.headers.host; return e.request; }",
        "function handler(event) { event.request.headers['x'] = 'x'; return event.request; }",
    ],
)
def test_what_cloudfront_would_not_run_is_refused_here(code: str) -> None:
    with edge_function(code) as function, pytest.raises(RefusedByCloudFront):
        function.route(tool_call("recall"))


def test_a_function_that_is_too_long_for_cloudfront_is_refused_here() -> None:
    with pytest.raises(RefusedByCloudFront):
        EdgeFunction(shipped_code() + "/" * 10_240)


class TestDistribution:
    EDGE = read_template(REPOSITORY / "infra", "edge.yaml")["Resources"]
    CONFIG = EDGE["Distribution"]["Properties"]["DistributionConfig"]
    BEHAVIOUR = CONFIG["DefaultCacheBehavior"]

    def test_nothing_is_cached_and_all_but_host_is_passed_on(self) -> None:
        """The ids are those of AWS's managed policies."""
        assert self.BEHAVIOUR["CachePolicyId"] == "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
        assert self.BEHAVIOUR["OriginRequestPolicyId"] == "b689b0a8-53d0-40ab-baf2-68738e2966ac"
        kept = {each["ErrorCachingMinTTL"] for each in self.CONFIG["CustomErrorResponses"]}
        assert kept == {0}

    def test_every_method_of_a_route_passes_over_tls_alone(self) -> None:
        assert {"GET", "HEAD", "POST", "DELETE"} <= set(self.BEHAVIOUR["AllowedMethods"])
        assert self.BEHAVIOUR["ViewerProtocolPolicy"] == "https-only"
        (origin,) = self.CONFIG["Origins"]
        assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"

    def test_the_router_sees_every_request(self) -> None:
        (association,) = self.BEHAVIOUR["FunctionAssociations"]
        assert association["EventType"] == "viewer-request"
        assert self.EDGE["Router"]["Properties"]["FunctionConfig"]["Runtime"] == "cloudfront-js-2.0"
        assert "CacheBehaviors" not in self.CONFIG

    def test_it_is_made_by_parameter_and_then_clients_are_told_of_it(self) -> None:
        template = read_template(REPOSITORY)
        assert template["Parameters"]["Edge"]["Default"] == "none"
        assert template["Resources"]["EdgeStack"]["Condition"] == "HasEdge"
        condition, edge, api = template["Outputs"]["McpUrl"]["Value"]["If"]
        assert condition == "HasEdge"
        assert edge == {"Sub": "${EdgeStack.Outputs.Url}/mcp"}
        assert api == {"Sub": "${Api.ApiEndpoint}/mcp"}
