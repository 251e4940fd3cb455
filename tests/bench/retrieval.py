"""How well retrieval finds: `python -m tests.bench.retrieval locomo10.json`.

Reads conversations in the form of LoCoMo (snap-research/LoCoMo; CC BY-NC 4.0, for evaluation only,
so no part of this repository). A turn is a memory, `speaker: text`; a conversation is a scope; a
question, but for the adversarial ones, asks for the turns that hold its evidence.

Prints recall@k (share of the evidence among the first k) and hit@k (questions with any of it),
through analyzer, embedder, index and fusion. Below it, the lexical weight that wins on the other
conversations is proved on each conversation that it was not chosen on.
"""

import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.onnx import OnnxEmbedder
from zero_memory.memory.canonical import canonical
from zero_memory.ports.embedder import Embedder
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
from zero_memory.retrieval.vectors import unpack

KS = (5, 10, 20)
ADVERSARIAL = 5
DEFAULT = Ranking()
SYSTEMS = {
    "semantic alone": replace(DEFAULT, lexical_weight=0.0),
    "reciprocal rank": replace(DEFAULT, fusion="reciprocal_rank"),
    "added scores (default)": DEFAULT,
}
WEIGHTS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


@dataclass(frozen=True)
class Conversation:
    """Turns by id, and questions with the ids of their evidence."""

    turns: dict[str, str]
    questions: list[tuple[str, set[str]]]


@dataclass(frozen=True)
class Asked:
    """A question's tokens and evidence, and the candidates for each k."""

    tokens: list[str]
    evidence: set[str]
    answers: dict[int, SearchAnswer]


def read(path: Path) -> list[Conversation]:
    """The conversations of a file, without questions whose evidence it does not hold."""
    return [_conversation(each) for each in json.loads(path.read_text())]


def _conversation(raw: dict[str, Any]) -> Conversation:
    sessions = [turns for name, turns in raw["conversation"].items() if _is_session(name)]
    turns = {
        turn["dia_id"]: f"{turn['speaker']}: {turn['text']}" for each in sessions for turn in each
    }
    questions: list[tuple[str, set[str]]] = []
    for asked in raw["qa"]:
        if asked["category"] != ADVERSARIAL:
            named = re.findall(r"D:?(\d+):0*(\d+)", " ".join(asked.get("evidence", [])))
            evidence = {f"D{session}:{turn}" for session, turn in named} & turns.keys()
            if evidence:
                questions.append((asked["question"], evidence))
    return Conversation(turns, questions)


def _is_session(name: str) -> bool:
    return re.fullmatch(r"session_\d+", name) is not None


def store(index: SearchIndex, embedder: Embedder, scope: str, turns: dict[str, str]) -> None:
    """Each turn as a memory of the scope."""
    documents: list[IndexDocument] = []
    for turn, text in turns.items():
        passage = read_passage(embedder, canonical(text))
        windows = tuple(
            IndexedWindow(window.start, window.end, unpack(window.vector))
            for window in passage.windows
        )
        documents.append(
            IndexDocument(
                memory_id=turn,
                revision=1,
                visible_in=(scope,),
                kind="fact",
                author="p_1",
                created_at=0,
                alive=((0, None),),
                model=passage.model,
                windows=windows,
                tokens=passage.tokens,
            )
        )
    # An id is a turn's place in its conversation, so scopes must not share them.
    index.apply([replace(each, memory_id=f"{scope} {each.memory_id}") for each in documents])


def ask(
    index: SearchIndex, embedder: Embedder, scope: str, conversation: Conversation
) -> list[Asked]:
    """The candidates of each question."""
    where = SearchFilter((scope,))
    asked: list[Asked] = []
    for question, evidence in conversation.questions:
        vector, tokens = embedder.embed_query(canonical(question)), query_tokens(question)
        answers = {
            k: index.search(
                where, vector=vector, tokens=tokens, limit=k * DEFAULT.candidates_per_result
            )
            for k in KS
        }
        asked.append(Asked(tokens, {f"{scope} {turn}" for turn in evidence}, answers))
    return asked


def found(asked: Asked, ranking: Ranking, k: int) -> set[str]:
    """The evidence among the first k."""
    answer = asked.answers[k]
    fused = fuse(
        answer.semantic,
        answer.lexical,
        answer.statistics,
        asked.tokens,
        ranking,
        limit=k * ranking.candidates_per_result,
    )
    return {each.memory_id for each in fused[:k]} & asked.evidence


def recall(questions: Sequence[Asked], ranking: Ranking, k: int) -> float:
    """The mean share of the evidence among the first k, in percent."""
    return 100 * mean(len(found(each, ranking, k)) / len(each.evidence) for each in questions)


def hit(questions: Sequence[Asked], ranking: Ranking, k: int) -> float:
    """The questions with any evidence among the first k, in percent."""
    return 100 * mean(bool(found(each, ranking, k)) for each in questions)


def prove(conversations: Sequence[list[Asked]], k: int) -> float:
    """Recall over all questions, each under the weight that wins on the other conversations."""
    rankings = [replace(DEFAULT, lexical_weight=weight) for weight in WEIGHTS]
    total, count = 0.0, 0
    for held_back in conversations:
        others = [each for asked in conversations if asked is not held_back for each in asked]
        chosen = max(rankings, key=lambda ranking: recall(others, ranking, k))
        print(f"  held back {len(held_back):4} questions: weight {chosen.lexical_weight}")
        total += recall(held_back, chosen, k) * len(held_back)
        count += len(held_back)
    return total / count


def main(path: Path) -> None:
    """Measure, and print."""
    embedder = OnnxEmbedder(model_folder(), threads=0)
    conversations: list[list[Asked]] = []
    with tempfile.TemporaryDirectory() as folder:
        index = LocalIndex(Path(folder))
        for number, conversation in enumerate(read(path)):
            scope = f"scp_{number}"
            store(index, embedder, scope, conversation.turns)
            conversations.append(ask(index, embedder, scope, conversation))
        index.close()
    questions = [each for asked in conversations for each in asked]
    print(f"{len(questions)} questions over {len(conversations)} conversations")
    print(
        f"{'':24}" + "".join(f"{f'R@{k}':>8}" for k in KS) + "".join(f"{f'hit@{k}':>8}" for k in KS)
    )
    for name, ranking in SYSTEMS.items():
        figures = [recall(questions, ranking, k) for k in KS]
        figures += [hit(questions, ranking, k) for k in KS]
        print(f"{name:24}" + "".join(f"{figure:8.1f}" for figure in figures))
    for k in KS:
        print(f"R@{k} {prove(conversations, k):.1f}, cross-validated over conversations")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        sys.exit("skipped: name a file in the form of LoCoMo")
    main(Path(sys.argv[1]))
