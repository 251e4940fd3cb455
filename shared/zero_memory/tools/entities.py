"""The tool `entities`."""

from zero_memory.contracts.lifecycle import (
    EntitiesArguments,
    EntitiesResult,
    EntityEdge,
    EntityNode,
)
from zero_memory.memory.graph import Node, entities_about, newest_entities
from zero_memory.memory.guard import refuse_secrets
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.hints import strip_credentials
from zero_memory.tools.services import Services
from zero_memory.tools.standing import stand
from zero_memory.tools.tool import Annotations, Tool

_IDS_SHOWN = 20


def run(services: Services, caller: Caller, arguments: EntitiesArguments) -> EntitiesResult:
    """The entities that a query names, or the newest, and what they are mentioned with."""
    hint = arguments.project_hint and strip_credentials(arguments.project_hint)
    named = (("query", arguments.query), ("project_hint", hint), ("thread", arguments.thread))
    refuse_secrets((name, text) for name, text in named if text is not None)
    standing = stand(services, caller, project_hint=arguments.project_hint, thread=arguments.thread)
    read_set = standing.reads(arguments.scopes)
    if arguments.query is None:
        graph = newest_entities(services.table, read_set)
    else:
        graph = entities_about(services.table, read_set, arguments.query)
    return EntitiesResult(
        nodes=[_node(node) for node in graph.nodes],
        edges=[
            EntityEdge(one=edge.one, other=edge.other, weight=edge.weight) for edge in graph.edges
        ],
        scopes=sorted(read_set.paths.values()),
        session=standing.state(searched=read_set),
    )


def _node(node: Node) -> EntityNode:
    return EntityNode(
        name=node.name,
        memories=f"{len(node.memory_ids)}{'+' if node.more else ''}",
        memory_ids=list(node.memory_ids[:_IDS_SHOWN]),
    )


TOOL = Tool(
    name="entities",
    title="Entities",
    description=(
        "Show what memories are about: the entities that a query names, the live memories that "
        "mention each, and which are mentioned together and how often. Without a query, those of "
        "the newest memories. Read the memories with recall and ids."
    ),
    input=EntitiesArguments,
    output=EntitiesResult,
    annotations=Annotations(read_only=True, destructive=False, idempotent=True),
    grant="memory:read",
    needs=frozenset(("table",)),
    run=run,
)
