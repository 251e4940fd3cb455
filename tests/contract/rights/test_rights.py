"""Each function does all that it can do, in an AWS that allows what its policy names alone."""

import json
from collections.abc import Callable, Generator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from tests.clock import ManualClock
from tests.contract.isolation import edge
from tests.contract.isolation.edge import Edge, Person, arrives, send
from tests.contract.rights.guard import Guard
from tests.contract.rights.policy import Request, Right, domain_request, requests, roles
from tests.hashing_embedder import HashingEmbedder
from tests.homes import dynamo_home, dynamodb
from tests.samples import sample
from zero_memory.adapters.bundled_model import CARD
from zero_memory.adapters.fallback_index import FallbackIndex
from zero_memory.adapters.opensearch_client import opensearch_client
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.adapters.s3 import S3Artifacts, s3_client
from zero_memory.adapters.sqs import SqsParking, sqs_client
from zero_memory.adapters.table_index import TableIndex
from zero_memory.ports.artifacts import Artifacts
from zero_memory.ports.parking import Parking
from zero_memory.ports.table import Table
from zero_memory.runtime import bootstrap
from zero_memory.runtime.schedule import tick
from zero_memory.runtime.stream import index_changes
from zero_memory.tools.catalogue import PEOPLES_TOOLS

BUCKET = "artifacts"
LONG = "Releases are cut from main on Mondays by whoever is on call that week. " * 40
NOTES = "# Deploying\n\nWe deploy from main.\n\n# Caching\n\nThe cache is flushed at night.\n"
FOR_PEOPLE = {tool.name for tool in PEOPLES_TOOLS}

Call = Callable[..., Any]


class CardEmbedder(HashingEmbedder):
    """Of the model that the composition expects."""

    model = CARD.model


class Cloud(Edge):
    """The cloud's ports, in this process: DynamoDB, S3, SQS; searched by a domain or the table."""

    def __init__(
        self,
        table: Table,
        folder: Path,
        artifacts: Artifacts,
        parking: Parking,
        domain: OpenSearchIndex | None,
    ) -> None:
        index = TableIndex(table, limit=500, model=CARD.model)
        searched = index if domain is None else FallbackIndex(domain, index)
        super().__init__(table, searched, ManualClock(), folder)
        self._given_artifacts = artifacts
        self._given_parking = parking
        self.domain = domain
        self.embeds_otherwise = False

    @property
    def embedder(self) -> HashingEmbedder:
        return HashingEmbedder() if self.embeds_otherwise else CardEmbedder()

    @property
    def artifacts(self) -> Artifacts:
        return self._given_artifacts

    @property
    def parking(self) -> Parking:
        return self._given_parking

    @property
    def derived_index(self) -> OpenSearchIndex | None:
        return self.domain


@pytest.fixture(scope="module", params=["none", "domain"])
def searched(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def guard(searched: str) -> Guard:
    return Guard(roles("HasDomain") if searched == "domain" else roles())


@pytest.fixture(scope="module")
def domain(
    searched: str, guard: Guard, request: pytest.FixtureRequest
) -> Generator[OpenSearchIndex | None]:
    """An empty domain, in a real engine."""
    if searched == "none":
        yield None
        return
    administrator: OpenSearch = request.getfixturevalue("opensearch")
    administrator.indices.delete(index="memories-*")
    client = opensearch_client(request.getfixturevalue("opensearch_url"))
    guard.watch_domain(client)
    yield OpenSearchIndex(client, model=CARD.model, dimensions=CardEmbedder.dimensions)
    client.close()
    administrator.indices.delete(index="memories-*")


@pytest.fixture(scope="module")
def objects(guard: Guard) -> Generator[Any]:
    """A client of the bucket, for whoever holds a link."""
    with pytest.MonkeyPatch.context() as environment, dynamodb():
        environment.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        client = s3_client()
        client.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        guard.watch(client)
        yield client


@pytest.fixture(scope="module")
def cloud(
    guard: Guard,
    domain: OpenSearchIndex | None,
    objects: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[Cloud]:
    folder = Path(tmp_path_factory.mktemp("cloud"))
    with ExitStack() as stack:
        client = stack.enter_context(dynamodb())
        table = dynamo_home(client)
        guard.watch(client)
        queues = sqs_client()
        url = queues.create_queue(QueueName="parked")["QueueUrl"]
        guard.watch(queues)
        made = Cloud(table, folder, S3Artifacts(objects, BUCKET), SqsParking(queues, url), domain)
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(bootstrap, "_composition", made)
        for name, handler in edge.HANDLERS.items():
            patch.setitem(edge.HANDLERS, name, guard.handler(name, handler))
        patch.setattr(edge, "PROTOCOL", guard.handler("mcp", edge.PROTOCOL))
        yield made


def own_functions(person: Person) -> Call:
    """Calls each tool in its own function."""
    return person.does


def one_function(person: Person) -> Call:
    """Calls every tool that MCP offers in the function of the whole protocol."""

    def call(tool: str, **arguments: Any) -> Any:
        if tool in FOR_PEOPLE:
            return person.does(tool, **arguments)
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": tool,
        }
        result = send(edge.PROTOCOL, "/mcp", person.token, body, headers).json["result"]
        assert not result.get("isError"), (tool, arguments, result)
        return json.loads(result["content"][0]["text"])

    return call


def writes_and_reads(does: Call) -> None:
    first = does(
        "remember",
        content="The deploy runs at night",
        entities=["deploy", "night"],
        project_hint="web",
        idempotency_key="k1",
    )
    thread = first["session"]["thread"]
    again = does(
        "remember",
        content="The deploy runs at night",
        entities=["deploy", "night"],
        project_hint="web",
        idempotency_key="k1",
    )
    assert again["id"] == first["id"]
    other = does("remember", content=LONG, scope="core", entities=["main"])
    does(
        "remember",
        content="The deploy runs at noon",
        supersedes=[first["id"]],
        links=[{"type": "relates_to", "target": other["id"]}],
        thread=thread,
    )
    task = does("remember", content="Move the queue", kind="task", scope="core")
    for tool, arguments in (
        ("recall", {"query": "deploy"}),
        ("list_memories", {}),
        ("describe_scope", {}),
        ("entities", {"query": "deploy"}),
    ):
        does(tool, **arguments)
        does(tool, **arguments, project_hint="web", thread=thread)
    does("recall", ids=[other["id"]])
    does("list_memories", entity="main")
    revised = does("revise", memory_id=other["id"], content=LONG + "Or on Tuesdays.")
    does("restore_memory", memory_id=other["id"])
    does("forget", memory_id=revised["id"], reason="It changed.")
    does("restore_memory", memory_id=revised["id"])
    does("close_loop", memory_id=task["id"], outcome="The queue was moved")
    does("challenge", memory_id=revised["id"], reason="Seen otherwise.", evidence="The log")
    does("link", src=revised["id"], dst=task["id"], type="relates_to", reason="Same work")
    does("move_memories", ids=[revised["id"]], scope="personal")
    does("memory_history", memory_id=revised["id"])
    does("erase_memory", memory_id=revised["id"], confirm=revised["id"])


def lives_together(ada: Person, ada_does: Call, ben: Person) -> None:
    team = ada_does("manage_scope", action="make_team", name="ops")["scope"]
    code = ada_does("manage_scope", action="invite", scope=team, role="writer")["code"]
    ben.does("manage_scope", action="accept", code=code)
    ada_does("manage_scope", action="set_role", scope=team, person=ben.id, role="admin")
    ada_does("manage_scope", action="rename", scope=team, name="operations")
    shared = ada_does("remember", content="The pager rings at night", scope="core")["id"]
    ada_does("share", memory_id=shared, scope=team)
    ben.does("recall", query="pager")
    undo = ada_does("unshare", memory_id=shared)["audit_id"]
    ada_does("restore_memory", memory_id=shared, audit_id=undo)
    ada_does("remember", content="The rota is in the wiki", scope=team, entities=["wiki"])
    ada_does("manage_scope", action="hand_over", scope=team, person=ben.id)
    ben.does("manage_scope", action="remove", scope=team, person=ada.id)
    code = ben.does("manage_scope", action="invite", scope=team, role="reader")["code"]
    ada_does("manage_scope", action="accept", code=code)
    ada_does("manage_scope", action="leave", scope=team)
    ada_does("manage_tokens", action="make", grants=["memory:read"], label="reads")
    (made,) = (
        token
        for token in ada_does("manage_tokens", action="list")["tokens"]
        if token["label"] == "reads"
    )
    ada_does("manage_tokens", action="revoke", public_id=made["public_id"])


def carries_in_and_out(does: Call, objects: Any) -> None:
    does("import_memory", items=[{"path": "notes.md", "text": NOTES}], scope="core")
    changed = NOTES.replace("night", "noon")
    does("import_memory", items=[{"path": "notes.md", "text": changed}], scope="core")
    slot = does("import_memory", open_upload=True)["slot"]
    objects.put_object(Bucket=BUCKET, Key=slot["upload"], Body=NOTES.encode())
    does("import_memory", items=[{"path": "more.md", "upload": slot["upload"]}], scope="core")
    does("export_memories", limit=1)
    does("export_memories", deliver="file", format="jsonl")
    lines = does("export_memories", format="jsonl")["files"]
    does("import_memory", items=[{"path": each["path"], "text": each["text"]} for each in lines])


def is_indexed(cloud: Cloud, guard: Guard, *memory_ids: str) -> None:
    """The stream tells the indexer to look at these."""
    event = sample("table_stream")
    (record,) = event["Records"]
    event["Records"] = [
        {**record, "dynamodb": {**record["dynamodb"], "Keys": {"pk": {"S": f"M#{each}"}}}}
        for each in memory_ids
    ]
    guard.handler("indexer", index_changes)(event, None)


def is_searched_in_a_domain(
    cloud: Cloud, domain: OpenSearchIndex, guard: Guard, does: Call
) -> None:
    """The indexer makes an index, the schedule fills it, and it is built again; one is refused."""
    kept, erased = (
        does("remember", content=f"The cache {does_it}", scope="core")["id"]
        for does_it in ("is flushed at night", "is small")
    )
    is_indexed(cloud, guard, kept)
    is_indexed(cloud, guard, kept, kept)
    guard.handler("tick", tick)(sample("schedule"), None)
    assert not does("recall", query="What is flushed?")["degraded"]
    with domain.replacing():
        is_indexed(cloud, guard, kept, erased)
        is_indexed(cloud, guard, kept, erased)
        does("erase_memory", memory_id=erased, confirm=erased)
        guard.handler("tick", tick)(sample("schedule"), None)
    cloud.embeds_otherwise = True
    odd = does("remember", content="The cache is warm", scope="core")["id"]
    cloud.embeds_otherwise = False
    is_indexed(cloud, guard, odd)
    does("erase_memory", memory_id=odd, confirm=odd)


def lives_long(cloud: Cloud, guard: Guard, objects: Any, ada: Person, does: Call) -> None:
    """Everything that is done with a table, a bucket and a queue."""
    writes_and_reads(does)
    carries_in_and_out(does, objects)
    lives_together(ada, does, arrives(cloud))
    kept = does("remember", content="The cache is flushed at night", scope="core")["id"]
    is_indexed(cloud, guard, kept)
    does("remember", content="The disk is full", scope="core")


@pytest.fixture(scope="module")
def lived(cloud: Cloud, objects: Any, guard: Guard) -> Guard:
    """Everything that the functions do, once each way."""
    for calling in (own_functions, one_function):
        ada = arrives(cloud)
        does = calling(ada)
        if cloud.domain is None:
            lives_long(cloud, guard, objects, ada, does)
        else:
            is_searched_in_a_domain(cloud, cloud.domain, guard, does)
        guard.handler("tick", tick)(sample("schedule"), None)
        guard.handler("tick", tick)(sample("schedule"), None)
        with nullcontext() if cloud.domain is None else cloud.domain.replacing():
            while not does("delete_account", confirm=ada.personal)["done"]:
                pass
    return guard


@pytest.mark.timeout(
    600
)  # a life of hundreds of transactions, each of which moto copies tables for
def test_no_function_lacks_a_right(lived: Guard) -> None:
    assert lived.refused == set()


def test_what_a_policy_does_not_name_is_refused() -> None:
    right = Right("dynamodb:PutItem", "Table", ("TH#*", "Q#*"))
    put = {"TransactItems": [{"Put": {"Item": {"pk": {"S": "M#mem_1"}}}}]}

    assert [right.covers(each) for each in requests("dynamodb", "TransactWriteItems", put)] == [
        False
    ]
    assert right.covers(Request("dynamodb:PutItem", "Table", ("Q#p_1",)))
    assert not right.covers(Request("dynamodb:PutItem", "Table/index/gsi1", ("Q#p_1",)))
    assert not right.covers(Request("dynamodb:DeleteItem", "Table", ("Q#p_1",)))


def test_a_domains_policy_names_methods_and_paths() -> None:
    right = Right("es:ESHttpPost", "SearchStack/memories/_bulk")

    assert right.covers(domain_request("POST", "/memories/_bulk"))
    assert not right.covers(domain_request("PUT", "/memories/_bulk"))
    assert not right.covers(domain_request("POST", "/memories-building/_bulk"))
    assert not right.covers(domain_request("POST", "/memories/_bulk/more"))
