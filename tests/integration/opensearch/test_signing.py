"""What goes to a domain is signed, as AWS would check it."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.contract.search_index.documents import DIMENSIONS, MODEL, NORTH
from zero_memory.adapters.opensearch_client import opensearch_client
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.ports.search_index import IndexUnavailable, SearchFilter

CREDENTIALS = Credentials("AKIDEXAMPLE", "not-a-secret", "a-session")
REGION = "eu-central-1"


class Recorder(HTTPServer):
    """Keeps what comes, says which indexes there are, and refuses everything else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.indexes: dict[str, object] = {}
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Recorder  # pyright: ignore[reportIncompatibleVariableOverride]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers, body))
        known = json.dumps(self.server.indexes).encode()
        self.send_response(200 if self.command == "GET" else 403)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(known)))
        self.end_headers()
        self.wfile.write(known)

    do_GET = do_POST = answer  # noqa: N815 - names that the library calls

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture
def recorder() -> Generator[Recorder]:
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_each_request_carries_the_signature_of_what_arrives(recorder: Recorder) -> None:
    client = opensearch_client(f"http://127.0.0.1:{recorder.server_port}", CREDENTIALS, REGION)
    index = OpenSearchIndex(client, model=MODEL, dimensions=DIMENSIONS)
    recorder.indexes = {
        "memories-first": {
            "aliases": {"memories": {}},
            "mappings": {"_meta": {**index.made_of, "complete": True}},
            "settings": {"index": {"uuid": "x"}},
        }
    }
    with pytest.raises(IndexUnavailable, match="403"):
        index.search(SearchFilter(("scp_A",)), vector=NORTH, tokens=["cache"], limit=5)
    client.close()
    assert [method for method, *_ in recorder.requests] == ["GET", "POST"]
    for method, path, headers, body in recorder.requests:
        assert headers["authorization"] == _signature(method, path, headers, body)


def _signature(method: str, path: str, headers: dict[str, str], body: bytes) -> str:
    """What AWS's own library computes for a request, at the time that it says."""
    signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
    request = AWSRequest(
        method,
        f"http://{headers['host']}{path}",
        {name: headers[name] for name in signed if name != "host"},
        body,
    )
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(CREDENTIALS, "es", REGION)
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    scope = f"{CREDENTIALS.access_key}/{headers['x-amz-date'][:8]}/{REGION}/es/aws4_request"
    return (
        f"AWS4-HMAC-SHA256 Credential={scope}, "
        f"SignedHeaders={';'.join(signed)}, Signature={signature}"
    )
