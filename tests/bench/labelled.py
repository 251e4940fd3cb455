"""Labelled sets of memories and questions, and an embedder that keeps what it has embedded."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zero_memory.memory.model import Kind
from zero_memory.ports.embedder import Embedder, Span

DAY_MS = 24 * 3_600_000
ENGINEERING = Path(__file__).parent / "engineering"
EVERYBODYS = ("personal", "team")
_ADVERSARIAL = 5


@dataclass(frozen=True)
class Told:
    """A memory of a set; `superseded` ones are dead."""

    memory_id: str
    scope: str
    text: str
    kind: Kind = "fact"
    created_at: int = 0
    superseded: bool = False
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What is asked of which scopes, and the memories that answer it.

    `group` is held back as one in cross-validation.
    """

    text: str
    kind: str
    group: str
    scopes: tuple[str, ...]
    evidence: frozenset[str]


@dataclass(frozen=True)
class Labelled:
    """A set: its memories and questions, and the moment (milliseconds) at which they are asked.

    Those of a scope stand in the order of their writing.
    """

    name: str
    memories: list[Told]
    questions: list[Question]
    now: int = 0


def read_engineering(folder: Path = ENGINEERING) -> Labelled:
    """The set in this repository."""
    told = [json.loads(line) for line in _lines(folder, "memories-*.jsonl")]
    told.sort(key=lambda each: each["day"])
    asked = [json.loads(line) for line in _lines(folder, "queries-*.jsonl")]
    dead = {memory_id for each in told for memory_id in each.get("supersedes", ())}
    scopes = tuple(sorted({each["project"] for each in told}))
    return Labelled(
        "engineering",
        [
            Told(
                each["id"],
                each["project"],
                each["content"],
                each["kind"],
                each["day"] * DAY_MS,
                superseded=each["id"] in dead,
                supersedes=tuple(each.get("supersedes", ())),
            )
            for scope in scopes
            for each in told
            if each["project"] == scope
        ],
        [
            Question(
                each["query"],
                each["kind"],
                each["project"] or "no project",
                tuple(dict.fromkeys((each["project"], *EVERYBODYS))) if each["project"] else scopes,
                frozenset(each["relevant"]),
            )
            for each in asked
        ],
        max(each["day"] for each in told) * DAY_MS,
    )


def _lines(folder: Path, pattern: str) -> Iterator[str]:
    for path in sorted(folder.glob(f"*/{pattern}")):
        yield from path.read_text().splitlines()


def read_locomo(path: Path, first: int | None = None) -> Labelled:
    """A file's first conversations, or all, without questions whose evidence it does not hold."""
    memories: list[Told] = []
    questions: list[Question] = []
    for number, raw in enumerate(json.loads(path.read_text())[:first]):
        scope = f"scp_{number}"
        told = list(_turns(raw, scope))
        memories += told
        questions += _questions(raw, scope, {each.memory_id for each in told})
    return Labelled("chat", memories, questions)


def _turns(raw: dict[str, Any], scope: str) -> Iterator[Told]:
    """An id is a turn's place in its conversation, so the scope is part of the memory's."""
    for name, turns in raw["conversation"].items():
        if re.fullmatch(r"session_\d+", name):
            for turn in turns:
                text = f"{turn['speaker']}: {turn['text']}"
                yield Told(f"{scope} {turn['dia_id']}", scope, text)


def _questions(raw: dict[str, Any], scope: str, known: set[str]) -> Iterator[Question]:
    for asked in raw["qa"]:
        if asked["category"] != _ADVERSARIAL:
            named = re.findall(r"D:?(\d+):0*(\d+)", " ".join(asked.get("evidence", [])))
            evidence = known & {f"{scope} D{session}:{turn}" for session, turn in named}
            if evidence:
                yield Question(asked["question"], "chat", scope, (scope,), frozenset(evidence))


@dataclass
class KeptVectors:
    """`ports.embedder.Embedder` that embeds each text once, and keeps the vectors in a file."""

    embedder: Embedder
    path: Path | None
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.model = self.embedder.model
        self.dimensions = self.embedder.dimensions
        self.languages = self.embedder.languages
        if self.path is not None and self.path.exists():
            with np.load(self.path) as kept:
                rows = kept["vectors"]
                self.vectors = dict(zip(kept["keys"].tolist(), rows, strict=True))

    def windows(self, text: str) -> list[Span]:
        """As the embedder cuts them."""
        return self.embedder.windows(text)

    def embed_passages(self, passages: Sequence[str]) -> NDArray[np.float32]:
        """Each passage's vector, as kept or computed now."""
        return np.stack(
            [
                self._vector("passage", each, lambda text: self.embedder.embed_passages([text])[0])
                for each in passages
            ]
        )

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """The query's vector, as kept or computed now."""
        return self._vector("query", query, self.embedder.embed_query)

    def _vector(
        self, side: str, text: str, embed: Callable[[str], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        key = hashlib.sha256(f"{self.model} {side} {text}".encode()).hexdigest()
        if key not in self.vectors:
            self.vectors[key] = embed(text)
        return self.vectors[key]

    def keep(self) -> None:
        """Write them for the next run."""
        if self.path is not None:
            keys = list(self.vectors)
            np.savez(self.path, keys=np.array(keys), vectors=np.stack(list(self.vectors.values())))
