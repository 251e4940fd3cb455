"""A labelled set through the tools themselves: every memory by `remember`, every question by
`recall`, over each home's index."""

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from opensearchpy import OpenSearch

from tests.bench.labelled import Labelled, Question, Told
from tests.opensearch.homes import empty_indexes, warm_up
from tests.opensearch.node import running_node
from tests.ports import Ports
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.opensearch_client import opensearch_client
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.memory import RecallArguments, RememberArguments
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import SearchIndex
from zero_memory.retrieval.indexing import index_memories, settle_markers
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import make_person
from zero_memory.scopes.model import GRANTS
from zero_memory.tools import recall, remember

ASKED_FOR = 20
COMPARED = 10
AT_ONCE = 500


@dataclass(frozen=True)
class Stored:
    """Where a set is now: its memories' ids and its scopes' paths, by the set's own names."""

    ids: Mapping[str, str]
    paths: Mapping[str, str]


@dataclass(frozen=True)
class Answers:
    """By home, what each question was answered with, best first, in the set's names."""

    questions: list[Question]
    by_home: Mapping[str, list[list[str]]]

    def recall(self, home: str, k: int) -> list[float]:
        """By question, the share of the evidence among the first k, in percent."""
        return [
            100 * len(question.evidence & set(answer[:k])) / len(question.evidence)
            for question, answer in zip(self.questions, self.by_home[home], strict=True)
        ]

    def overlap(self) -> tuple[float, float]:
        """Of the homes' ten best: the share that both have, and how often they are the same ten
        in the same order; in percent."""
        one, other = self.by_home.values()
        pairs = [(a[:COMPARED], b[:COMPARED]) for a, b in zip(one, other, strict=True)]
        shared = mean(len(set(a) & set(b)) / max(len(a), len(b), 1) for a, b in pairs)
        return 100 * shared, 100 * mean(a == b for a, b in pairs)


def answer(labelled: Labelled, embedder: Embedder) -> Answers:
    """Remember the set in one table, index it for each home, and ask each."""
    with tempfile.TemporaryDirectory() as folder, _indexes(Path(folder), embedder) as indexes:
        table = SqliteTable(Path(folder) / "table.sqlite3")
        ports = Ports(table, indexes["local"], embedder=embedder)
        person = make_person(table, ports.clock).person
        caller = Caller(person, person, frozenset(GRANTS))
        stored = _remember(ports, caller, labelled)
        by_home: dict[str, list[list[str]]] = {}
        for home, index in indexes.items():
            ids = list(stored.ids.values())
            for start in range(0, len(ids), AT_ONCE):
                settle_markers(table, index_memories(table, index, ids[start : start + AT_ONCE]))
            searching = replace(ports, index=index)
            by_home[home] = [
                _recall(searching, caller, stored, each) for each in labelled.questions
            ]
        table.close()
    return Answers(labelled.questions, by_home)


@contextmanager
def _indexes(folder: Path, embedder: Embedder) -> Generator[dict[str, SearchIndex]]:
    local = LocalIndex(folder / "index")
    with running_node(folder / "opensearch") as url:
        client: OpenSearch = opensearch_client(url)
        warm_up(client)
        made_of = {"model": embedder.model, "dimensions": embedder.dimensions}
        with empty_indexes(client, **made_of) as make:
            yield {"local": local, "OpenSearch": make()}
    local.close()


def _remember(ports: Ports, caller: Caller, labelled: Labelled) -> Stored:
    begin = ports.clock.now()
    ids: dict[str, str] = {}
    paths: dict[str, str] = {}
    in_order = sorted(labelled.memories, key=lambda each: each.created_at)
    for number, told in enumerate(in_order):
        ports.clock.at = begin + told.created_at + 1_000 * number
        written = remember.run(ports, caller, _arguments(told, ids))
        ids[told.memory_id], paths[told.scope] = written.id, written.scope
    return Stored(ids, paths)


def _arguments(told: Told, ids: Mapping[str, str]) -> RememberArguments:
    personal = told.scope == "personal"
    return RememberArguments(
        content=told.text,
        kind=told.kind,
        scope="personal" if personal else None,
        project_hint=None if personal else told.scope,
        supersedes=[ids[each] for each in told.supersedes] or None,
    )


def _recall(ports: Ports, caller: Caller, stored: Stored, question: Question) -> list[str]:
    names = {memory_id: name for name, memory_id in stored.ids.items()}
    scopes = [stored.paths[scope] for scope in question.scopes]
    asked = RecallArguments(query=question.text, k=ASKED_FOR, scopes=scopes)
    return [names[hit.id] for hit in recall.run(ports, caller, asked).hits]
