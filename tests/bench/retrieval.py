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

`--whole-path` asks through the tools instead: each memory by `remember`, each question by `recall`
for 20, over the local index and over OpenSearch (`make tools`), and says how far these agree.
"""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from statistics import mean

import numpy as np
from msgspec.structs import replace

from tests.bench.labelled import (
    KeptVectors,
    Labelled,
    Question,
    Told,
    read_engineering,
    read_locomo,
)
from tests.bench.whole_path import Answers, answer
from tests.records import meta
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.onnx import OnnxEmbedder
from zero_memory.memory.canonical import canonical
from zero_memory.memory.model import FOLLOWED, Meta
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import (
    IndexDocument,
    IndexedWindow,
    SearchFilter,
    SearchIndex,
)
from zero_memory.resources import model_folder
from zero_memory.retrieval.analysis import query_tokens
from zero_memory.retrieval.gather import Candidates
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.ranking import Ranking
from zero_memory.retrieval.recall import rank
from zero_memory.retrieval.vectors import unpack
from zero_memory.scopes.visibility import ReadSet

KS = (5, 10, 20)
DEFAULT = Ranking()
SYSTEMS: Mapping[str, Ranking] = {
    "semantic alone": replace(DEFAULT, lexical_weight=0.0),
    "reciprocal rank": replace(DEFAULT, fusion="reciprocal_rank"),
    "coverage left out": replace(DEFAULT, full_coverage=0.0),
    "neighbours left out": replace(DEFAULT, neighbour_weights=()),
    "default": DEFAULT,
}
CHOICES = tuple(
    replace(DEFAULT, lexical_weight=words, neighbour_weights=(nearest, nearest / 2))
    for words, nearest in product((0.25, 0.3, 0.35), (0.0, 0.15, 0.2, 0.25))
)


@dataclass(frozen=True)
class Asked:
    """A question with its tokens, and the candidates for each k."""

    question: Question
    tokens: list[str]
    candidates: dict[int, Candidates]


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
    metas = dict(_metas(labelled.memories))
    for question in labelled.questions:
        vector = embedder.embed_query(canonical(question.text))
        tokens = query_tokens(question.text)
        where = SearchFilter(question.scopes)
        candidates: dict[int, Candidates] = {}
        for k in KS:
            answer = index.search(
                where, vector=vector, tokens=tokens, limit=k * DEFAULT.candidates_per_result
            )
            candidates[k] = Candidates(
                answer.semantic, answer.lexical, answer.statistics, metas, (), degraded=None
            )
        asked.append(Asked(question, tokens, candidates))
    return asked


def _metas(memories: Sequence[Told]) -> Iterator[tuple[str, Meta]]:
    """The records by their ids, written in this order."""
    last: dict[str, tuple[str, ...]] = {}
    for told in memories:
        follows = last.get(told.scope, ())
        yield (
            told.memory_id,
            meta(
                told.memory_id,
                scope=told.scope,
                kind=told.kind,
                created_at=told.created_at,
                follows=follows,
            ),
        )
        last[told.scope] = (told.memory_id, *follows)[:FOLLOWED]


def found(asked: Asked, ranking: Ranking, k: int, now: int) -> int:
    """How much of the evidence is among the first k."""
    limit = k * ranking.candidates_per_result
    read_set = ReadSet({scope: scope for scope in asked.question.scopes})
    ranked = rank(asked.candidates[k], asked.tokens, read_set, ranking, now=now, limit=limit)
    return len({each.meta.memory_id for each in ranked[:k]} & asked.question.evidence)


@dataclass(frozen=True)
class Measured:
    """A set with the candidates of its questions."""

    labelled: Labelled
    asked: list[Asked]

    def recall(self, ranking: Ranking, k: int) -> list[float]:
        """By question, the share of the evidence among the first k, in percent."""
        now = self.labelled.now
        return [
            100 * found(each, ranking, k, now) / len(each.question.evidence) for each in self.asked
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
    _head(measured.labelled)
    for name, ranking in SYSTEMS.items():
        by_k = [measured.recall(ranking, k) for k in KS]
        _row(name, by_k)
    by_k = [measured.recall(DEFAULT, k) for k in KS]
    kinds = [each.question.kind for each in measured.asked]
    for kind in sorted(set(kinds)):
        of_kind = [[r for r, at in zip(each, kinds, strict=True) if at == kind] for each in by_k]
        _row(f"  {kind} ({kinds.count(kind)})", of_kind)


def _head(labelled: Labelled) -> None:
    print(f"\n{labelled.name}: {len(labelled.memories)} memories")
    heads = "".join(f"{f'R@{k}':>8}" for k in KS) + "".join(f"{f'hit@{k}':>8}" for k in KS)
    print(f"{'':30}{heads}")


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
            print(f"  {held_back}: {choice.lexical_weight}, {choice.neighbour_weights[0]}")
        _row(one.labelled.name, [proved[k].tolist() for k in KS])


def report_whole_path(labelled: Labelled, answers: Answers) -> None:
    """The figures of each home, and how far their ten best agree."""
    _head(labelled)
    for home in answers.by_home:
        _row(home, [answers.recall(home, k) for k in KS])
    shared, same = answers.overlap()
    print(
        f"  ten best: {shared:.1f} % in both, the same in the same order {same:.1f} %", flush=True
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="How well retrieval finds.")
    parser.add_argument("--locomo", type=Path, help="a file in the form of LoCoMo")
    parser.add_argument(
        "--conversations", type=int, help="how many conversations of the file, instead of all"
    )
    parser.add_argument(
        "--whole-path", action="store_true", help="through remember and recall, over both indexes"
    )
    parser.add_argument("--vectors", type=Path, help="keep embeddings in this folder")
    wanted = parser.parse_args()
    sets = [read_engineering()]
    if wanted.locomo is not None:
        sets.append(read_locomo(wanted.locomo, wanted.conversations))
    bundled = OnnxEmbedder(model_folder(), threads=0)
    kept = wanted.vectors / f"{bundled.model}.npz" if wanted.vectors else None
    embedder = KeptVectors(bundled, kept)
    if wanted.whole_path:
        for each in sets:
            report_whole_path(each, answer(each, embedder))
        return
    measured = [measure(embedder, each) for each in sets]
    embedder.keep()
    for each in measured:
        report(each)
    prove(measured)


if __name__ == "__main__":
    main()
