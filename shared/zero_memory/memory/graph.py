"""What memories are about: entities as nodes, and as edges those that memories mention together."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from zero_memory.memory.canonical import fold, fold_name, speaks_of
from zero_memory.memory.entities import distinct_names
from zero_memory.memory.listing import Wanted, list_live
from zero_memory.memory.model import EntityName, Mention
from zero_memory.memory.reading import load_visible, with_bodies
from zero_memory.ports.table import Table
from zero_memory.scopes.visibility import ReadSet, scope_filter

_NAMES_READ = 1_000
_NODES = 20
_EDGES = 100
_MEMORIES_READ = 100


@dataclass(frozen=True)
class Node:
    """An entity and the live memories that mention it, newest first; of more than 100, the newest.

    `more` says that there may be more.
    """

    name: str
    memory_ids: tuple[str, ...]
    more: bool = False


@dataclass(frozen=True)
class Edge:
    """Two entities that `weight` live memories mention together."""

    one: str
    other: str
    weight: int


@dataclass(frozen=True)
class Graph:
    """Entities, those with most memories first, and edges, the heaviest first."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass
class _Mentions:
    """Which memories mention which entities, by folded names."""

    entities: dict[str, dict[str, str]]
    names: dict[str, str]
    more: set[str]


def entities_about(table: Table, read_set: ReadSet, query: str) -> Graph:
    """At most 20 entities whose names a query speaks or is a part of, and what they go with."""
    found = _Mentions({}, {}, set())
    for scope, folded in _matching(table, read_set, query):
        page = table.query(Mention, scope, folded, limit=_MEMORIES_READ, newest_first=True)
        if page.next is not None:
            found.more.add(folded)
        for mention in page.records:
            found.names.setdefault(folded, mention.name)
            found.entities[mention.memory_id] = distinct_names((mention.name, *mention.others))
    live = {
        memory_id
        for memory_id, meta in load_visible(table, list(found.entities), read_set).items()
        if meta.live
    }
    found.entities = {each: found.entities[each] for each in found.entities if each in live}
    return _graph(found, about=frozenset(found.names))


def newest_entities(table: Table, read_set: ReadSet) -> Graph:
    """The entities of the read set's newest 100 live memories: 20, and what they go with."""
    listed = list_live(table, read_set, Wanted(), limit=_MEMORIES_READ)
    entities = {
        memory.meta.memory_id: distinct_names(memory.body.entities)
        for memory in with_bodies(table, listed.memories)
    }
    return _graph(_Mentions(entities, {}, set()), about=None)


def _matching(table: Table, read_set: ReadSet, query: str) -> Iterable[tuple[str, str]]:
    """Scopes with folded names: the one that is the query first, then the shortest."""
    text, name = fold(query), fold_name(query)
    matching: set[str] = set()
    scopes: dict[str, set[str]] = defaultdict(set)
    for scope in scope_filter(read_set):
        for known in table.query(EntityName, scope, limit=_NAMES_READ).records:
            if name in known.folded or speaks_of(text, known.folded):
                matching.add(known.folded)
                scopes[known.folded].add(scope)
    nearest = sorted(matching, key=lambda folded: (folded != name, len(folded), folded))[:_NODES]
    return [(scope, folded) for folded in nearest for scope in sorted(scopes[folded])]


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
