"""What memories are about: entities as nodes, and as edges those that memories mention together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from msgspec import Struct

from zero_memory.memory.apart import readable_page
from zero_memory.memory.canonical import fold_name, speaks_of
from zero_memory.memory.entities import distinct_names, known_names
from zero_memory.memory.listing import Wanted, list_live
from zero_memory.memory.model import Mention, SharedMemory
from zero_memory.memory.reading import load_readable, readable_memories
from zero_memory.ports.table import Table
from zero_memory.scopes.visibility import ReadSet, scope_filter

_NODES = 20
_EDGES = 100
_MEMORIES_READ = 100
_SHARED_READ = 500


class Node(Struct, frozen=True):
    """An entity and the live memories that mention it, newest first; of more than 100, the newest.

    `more` says that there may be more.
    """

    name: str
    memory_ids: tuple[str, ...]
    more: bool = False


class Edge(Struct, frozen=True):
    """Two entities that `weight` live memories mention together."""

    one: str
    other: str
    weight: int


class Graph(Struct, frozen=True):
    """Entities, those with most memories first, and edges, the heaviest first."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


class _Mentions(Struct):
    """Which memories mention which entities, by folded names."""

    entities: dict[str, dict[str, str]]
    names: dict[str, str]
    more: set[str]


def entities_about(table: Table, read_set: ReadSet, query: str) -> Graph:
    """At most 20 entities whose names a query speaks or is a part of, and what they go with."""
    found = _Mentions({}, {}, set())
    shared = _live(table, read_set, _shared(table, read_set))
    for folded, scopes in _matching(table, read_set, query, shared).items():
        for scope in scopes:
            page = readable_page(
                table, Mention, scope, folded, limit=_MEMORIES_READ, newest_first=True
            )
            if page.next is not None:
                found.more.add(folded)
            for mention in page.records:
                found.names.setdefault(folded, mention.name)
                found.entities[mention.memory_id] = distinct_names((mention.name, *mention.others))
        for memory_id, entities in shared.items():
            if folded in entities:
                found.names.setdefault(folded, entities[folded])
                found.entities[memory_id] = entities
    found.entities = _live(table, read_set, found.entities)
    return _graph(found, about=frozenset(found.names))


def _live(
    table: Table, read_set: ReadSet, entities: Mapping[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """Those of these memories that are live and that the read set lets the caller see."""
    metas, _ = load_readable(table, list(entities), read_set)
    return {each: entities[each] for each in entities if each in metas and metas[each].live}


def newest_entities(table: Table, read_set: ReadSet) -> Graph:
    """The entities of the read set's newest 100 live memories: 20, and what they go with."""
    listed = list_live(table, read_set, Wanted(), limit=_MEMORIES_READ)
    memories, _ = readable_memories(table, listed.memories)
    entities = {memory.meta.memory_id: distinct_names(memory.body.entities) for memory in memories}
    return _graph(_Mentions(entities, {}, set()), about=None)


def _shared(table: Table, read_set: ReadSet) -> dict[str, dict[str, str]]:
    """The entities of what is shared to these scopes, of the newest memories, by their ids."""
    return {
        each.memory_id: distinct_names(each.entities)
        for scope in scope_filter(read_set)
        for each in readable_page(
            table, SharedMemory, scope, limit=_SHARED_READ, newest_first=True
        ).records
    }


def _matching(
    table: Table, read_set: ReadSet, query: str, shared: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Iterable[str]]:
    """Folded names with their scopes: the one that is the query first, then the shortest."""
    name = fold_name(query)
    scopes: dict[str, list[str]] = defaultdict(list)
    for scope in scope_filter(read_set):
        for known in known_names(table, scope, name):
            scopes[known.folded].append(scope)
    for entities in shared.values():
        for folded in entities:
            scopes.setdefault(folded, [])
    matching = [folded for folded in scopes if name in folded or speaks_of(name, folded)]
    nearest = sorted(matching, key=lambda folded: (folded != name, len(folded), folded))
    return {folded: scopes[folded] for folded in nearest[:_NODES]}


def _graph(mentions: _Mentions, about: frozenset[str] | None) -> Graph:
    memories: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    weights: Counter[tuple[str, str]] = Counter()
    for memory_id in sorted(mentions.entities, reverse=True):
        entities = mentions.entities[memory_id]
        for folded, name in entities.items():
            memories[folded].append(memory_id)
            names.setdefault(folded, name)
        weights.update(
            pair
            for pair in combinations(sorted(entities), 2)
            if about is None or not about.isdisjoint(pair)
        )
    chosen = [folded for folded in memories if about is None or folded in about]
    chosen.sort(key=lambda folded: (-len(memories[folded]), folded))
    return Graph(
        nodes=tuple(
            Node(names[folded], tuple(memories[folded]), folded in mentions.more)
            for folded in chosen[:_NODES]
        ),
        edges=tuple(_edges(weights, names, frozenset(chosen[:_NODES]))),
    )


def _edges(
    weights: Mapping[tuple[str, str], int], names: Mapping[str, str], nodes: frozenset[str]
) -> Iterable[Edge]:
    """The heaviest edges at these nodes; one memory's say is left out where there is more."""
    at_nodes = {pair: weight for pair, weight in weights.items() if not nodes.isdisjoint(pair)}
    least = 2 if max(at_nodes.values(), default=0) > 1 else 1
    heavy = [(pair, weight) for pair, weight in at_nodes.items() if weight >= least]
    heavy.sort(key=lambda each: (-each[1], each[0]))
    return (Edge(names[one], names[other], weight) for (one, other), weight in heavy[:_EDGES])
