"""How well retrieval finds: `python -m tests.bench.retrieval [--locomo FILE] [--vectors FOLDER]`.

Two sets, through analyzer, embedder, index, fusion and signals:

- `engineering/`, written for this project: what coding agents store and ask. A query of a project
  searches that project, `personal` and `team`, as a session does; one of no project searches all.
- FILE: chat, in the form of LoCoMo (snap-research/LoCoMo; CC BY-NC 4.0, for evaluation only, so no
  part of this repository). A turn is a memory, `speaker: text`; a conversation is a scope; a
  question, but for the adversarial ones, asks for the turns that hold its evidence.

Prints recall@k (share of the evidence among the first k) and hit@k (questions with any of it). Then
each conversation and each project is held back in turn, and asked under the ranking that wins on
all others. `--vectors` keeps the embeddings in a folder for the next run.
"""

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product
from math import prod
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.records import meta
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.onnx import OnnxEmbedder
from zero_memory.memory.canonical import canonical
from zero_memory.memory.model import Kind
from zero_memory.ports.embedder import Embedder, Span
from zero_memory.ports.search_index import (
    IndexDocument,
    IndexedWindow,
    SearchAnswer,
    SearchFilter,
    SearchIndex,
)
from zero_memory.resources import model_folder
from zero_memory.retrieval.analysis import query_tokens
from zero_memory.retrieval.fusion import fuse
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.ranking import Ranking
from zero_memory.retrieval.signals import signals
from zero_memory.retrieval.vectors import unpack

KS = (5, 10, 20)
ADVERSARIAL = 5
DAY_MS = 24 * 3_600_000
ENGINEERING = Path(__file__).parent / "engineering"
EVERYBODYS = ("personal", "team")
DEFAULT = Ranking()
SYSTEMS: Mapping[str, Ranking] = {
    "semantic alone": replace(DEFAULT, lexical_weight=0.0),
    "reciprocal rank": replace(DEFAULT, fusion="reciprocal_rank"),
    "coverage left out": replace(DEFAULT, full_coverage=0.0),
    "default": DEFAULT,
}
CHOICES = tuple(
    replace(DEFAULT, lexical_weight=weight, full_coverage=coverage)
    for weight, coverage in product((0.2, 0.25, 0.3), (0.0, 0.15, 0.2, 0.25, 0.3))
)


@dataclass(frozen=True)
class Told:
    """A memory of a set; `superseded` ones are dead."""

    memory_id: str
    scope: str
    text: str
    kind: Kind = "fact"
    created_at: int = 0
    superseded: bool = False


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
    """A set: its memories and questions, and the moment (milliseconds) at which they are asked."""

    name: str
    memories: list[Told]
    questions: list[Question]
    now: int = 0


@dataclass(frozen=True)
class Asked:
    """A question with its tokens, and the candidates for each k."""

    question: Question
    tokens: list[str]
    answers: dict[int, SearchAnswer]


def read_engineering(folder: Path = ENGINEERING) -> Labelled:
    """The set in this repository."""
    told = [json.loads(line) for line in _lines(folder, "memories-*.jsonl")]
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
            )
            for each in told
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


def read_locomo(path: Path) -> Labelled:
    """The conversations of a file, without questions whose evidence it does not hold."""
    memories: list[Told] = []
    questions: list[Question] = []
    for number, raw in enumerate(json.loads(path.read_text())):
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
        if asked["category"] != ADVERSARIAL:
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


def store(index: SearchIndex, embedder: Embedder, labelled: Labelled) -> None:
    """Every memory of the set, each scope's in one write."""
    by_scope = sorted(labelled.memories, key=lambda each: each.scope)
    for _, memories in groupby(by_scope, key=lambda each: each.scope):
        index.apply([_document(embedder, each, labelled.now) for each in memories])


def _document(embedder: Embedder, told: Told, now: int) -> IndexDocument:
    passage = read_passage(embedder, canonical(told.text))
    return IndexDocument(
        memory_id=told.memory_id,
        revision=1,
        visible_in=(told.scope,),
        kind=told.kind,
        author="p_1",
        created_at=told.created_at,
        alive=((told.created_at, now if told.superseded else None),),
        model=passage.model,
        windows=tuple(
            IndexedWindow(window.start, window.end, unpack(window.vector))
            for window in passage.windows
        ),
        tokens=passage.tokens,
    )


def ask(index: SearchIndex, embedder: Embedder, labelled: Labelled) -> list[Asked]:
    """The candidates of each question."""
    asked: list[Asked] = []
    for question in labelled.questions:
        vector = embedder.embed_query(canonical(question.text))
        tokens = query_tokens(question.text)
        where = SearchFilter(question.scopes)
        answers = {
            k: index.search(
                where, vector=vector, tokens=tokens, limit=k * DEFAULT.candidates_per_result
            )
            for k in KS
        }
        asked.append(Asked(question, tokens, answers))
    return asked


def found(asked: Asked, ranking: Ranking, k: int, speaking: Mapping[str, float]) -> int:
    """How much of the evidence is among the first k; `speaking` weighs memories by id."""
    answer = asked.answers[k]
    fused = fuse(
        answer.semantic,
        answer.lexical,
        answer.statistics,
        asked.tokens,
        ranking,
        limit=k * ranking.candidates_per_result,
    )
    ranked = sorted(
        fused, key=lambda each: (-each.score * speaking[each.memory_id], each.memory_id)
    )
    return len({each.memory_id for each in ranked[:k]} & asked.question.evidence)


def weigh(labelled: Labelled, ranking: Ranking) -> dict[str, float]:
    """Each memory's signals, as one factor."""
    factors: dict[str, float] = {}
    for told in labelled.memories:
        record = meta(told.memory_id, kind=told.kind, created_at=told.created_at)
        factors[told.memory_id] = prod(signals(record, labelled.now, ranking).values())
    return factors


@dataclass(frozen=True)
class Measured:
    """A set with the candidates of its questions."""

    labelled: Labelled
    asked: list[Asked]

    def recall(self, ranking: Ranking, k: int) -> list[float]:
        """By question, the share of the evidence among the first k, in percent."""
        speaking = weigh(self.labelled, ranking)
        return [
            100 * found(each, ranking, k, speaking) / len(each.question.evidence)
            for each in self.asked
        ]


def measure(embedder: Embedder, labelled: Labelled) -> Measured:
    """The set in an index of its own."""
    with tempfile.TemporaryDirectory() as folder:
        index = LocalIndex(Path(folder))
        store(index, embedder, labelled)
        asked = ask(index, embedder, labelled)
        index.close()
    return Measured(labelled, asked)


def report(measured: Measured) -> None:
    """The figures of a set, and those of each kind of question under the default."""
    print(f"\n{measured.labelled.name}: {len(measured.labelled.memories)} memories")
    heads = "".join(f"{f'R@{k}':>8}" for k in KS) + "".join(f"{f'hit@{k}':>8}" for k in KS)
    print(f"{'':30}{heads}")
    for name, ranking in SYSTEMS.items():
        by_k = [measured.recall(ranking, k) for k in KS]
        _row(name, by_k)
    by_k = [measured.recall(DEFAULT, k) for k in KS]
    kinds = [each.question.kind for each in measured.asked]
    for kind in sorted(set(kinds)):
        of_kind = [[r for r, at in zip(each, kinds, strict=True) if at == kind] for each in by_k]
        _row(f"  {kind} ({kinds.count(kind)})", of_kind)


def _row(name: str, by_k: Sequence[Sequence[float]]) -> None:
    figures = [mean(each) for each in by_k]
    figures += [100 * mean(recall > 0 for recall in each) for each in by_k]
    print(f"{name:30}" + "".join(f"{figure:8.1f}" for figure in figures))


def prove(sets: Sequence[Measured]) -> None:
    """Recall of each set, each group under the choice that wins on all other groups of all sets.

    A choice's worth is its recall, averaged over each set, then over the sets and every k, so that
    a large set does not decide alone.
    """
    figures = {
        (number, k): np.array([each.recall(choice, k) for choice in CHOICES])
        for number, each in enumerate(sets)
        for k in KS
    }
    groups = [np.array([each.question.group for each in one.asked]) for one in sets]
    print("\ncross-validated: the choice for each held-back group, and each set's recall")
    for number, one in enumerate(sets):
        proved = {k: np.zeros(len(one.asked)) for k in KS}
        for held_back in sorted(set(groups[number].tolist())):
            out = groups[number] == held_back
            worth = np.mean(
                [
                    figures[at, k][:, ~out if at == number else slice(None)].mean(axis=1)
                    for at, k in figures
                ],
                axis=0,
            )
            best = int(np.argmax(worth))
            for k in KS:
                proved[k][out] = figures[number, k][best, out]
            choice = CHOICES[best]
            print(f"  {held_back}: {choice.lexical_weight}, {choice.full_coverage}")
        _row(one.labelled.name, [proved[k].tolist() for k in KS])


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="How well retrieval finds.")
    parser.add_argument("--locomo", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument("--vectors", type=Path, help="keep embeddings in this folder")
    wanted = parser.parse_args()
    sets = [read_engineering()]
    if wanted.locomo is not None:
        sets.append(read_locomo(wanted.locomo))
    bundled = OnnxEmbedder(model_folder(), threads=0)
    kept = wanted.vectors / f"{bundled.model}.npz" if wanted.vectors else None
    embedder = KeptVectors(bundled, kept)
    measured = [measure(embedder, each) for each in sets]
    embedder.keep()
    for each in measured:
        report(each)
    prove(measured)


if __name__ == "__main__":
    main()
