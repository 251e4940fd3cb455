"""The embedder of the bundled models on ONNX Runtime: e5-small-v2 and all-MiniLM-L6-v2, int8.

They read the same word pieces and are trained apart; what one of them takes for near by accident
the other rarely does. Their vectors stand side by side in one, so that its cosine is the weighted
mean of theirs.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import cast

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from zero_memory.adapters.bundled_model import CARD, E5_WEIGHT
from zero_memory.ports.embedder import Span

_E5 = "e5-small-v2-q.ort"
_MINILM = "all-minilm-l6-v2-q.ort"
_TOKENIZER = "e5-small-v2-q-tokenizer.json"
_LIMIT = 512
_QUERY, _PASSAGE = "query: ", "passage: "
"""How e5 wants to be told what it reads; MiniLM reads the text alone."""

_E5_LENGTH = (E5_WEIGHT / (E5_WEIGHT + 1)) ** 0.5
_MINILM_LENGTH = (1 / (E5_WEIGHT + 1)) ** 0.5
_OVERLAP = 64
"""Tokens that neighbouring windows share: two or three sentences, so that a statement which a cut
would split stands whole in one of them."""

_ERRORS_ONLY = 3


class OnnxEmbedder:
    """`ports.embedder.Embedder` over the models in `folder`.

    `threads` compute one embedding together. A text is embedded alone: the quantised graphs scale
    their activations per tensor, so that texts in one batch would change each other's vectors.
    """

    model = CARD.model
    dimensions = CARD.dimensions
    languages = CARD.languages

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        # A text may speak of [SEP] without meaning it.
        self._tokenizer.encode_special_tokens = True
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        # Idle threads sleep; they would otherwise burn a core beside the rest of the service.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._e5, self._minilm = (
            ort.InferenceSession(str(folder / graph), options, providers=["CPUExecutionProvider"])
            for graph in (_E5, _MINILM)
        )
        begin, end = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
        self._begin, self._end = cast("int", begin), cast("int", end)
        self._query = self._encode(_QUERY).ids
        self._passage = self._encode(_PASSAGE).ids
        self._room = _LIMIT - len(self._passage) - 2

    def windows(self, text: str) -> list[Span]:
        """Cut between words, which a model of word pieces reads alike on either side of a cut.

        A word is at most 100 tokens, since the tokenizer reads a longer one as unknown.
        """
        words = list(_words(self._encode(text)))
        spans: list[Span] = []
        first, start = 0, 0
        while True:
            end, size = first, 0
            while end < len(words) and size + words[end][1] <= self._room:
                size += words[end][1]
                end += 1
            if end == len(words):
                spans.append(Span(start, len(text)))
                return spans
            spans.append(Span(start, words[end][0]))
            first, shared = end, 0
            while shared + words[first - 1][1] <= _OVERLAP:
                first -= 1
                shared += words[first][1]
            start = words[first][0]

    def embed_passages(self, passages: Sequence[str]) -> NDArray[np.float32]:
        """Raises ValueError for a passage past the model's limit."""
        vectors = np.empty((len(passages), CARD.dimensions), np.float32)
        for row, passage in enumerate(passages):
            content = self._encode(passage).ids
            if len(content) > self._room:
                raise ValueError("a passage must fit one window")
            vectors[row] = self._embed(self._passage, content)
        return vectors

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """The vector of the query's beginning, as much of it as fits."""
        return self._embed(self._query, self._encode(query).ids[: self._room])

    def _encode(self, text: str) -> Encoding:
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _embed(self, prefix: list[int], content: list[int]) -> NDArray[np.float32]:
        return np.concatenate(
            (
                _E5_LENGTH * self._direction(self._e5, [*prefix, *content]),
                _MINILM_LENGTH * self._direction(self._minilm, content),
            ),
            dtype=np.float32,
        )

    def _direction(self, model: ort.InferenceSession, tokens: list[int]) -> NDArray[np.float32]:
        """The mean of the tokens' states, at unit length."""
        ids = np.array([[self._begin, *tokens, self._end]], np.int64)
        (states,) = model.run(
            None,
            {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "token_type_ids": np.zeros_like(ids),
            },
        )
        mean: NDArray[np.float32] = states[0].mean(axis=0)
        return np.divide(mean, np.linalg.norm(mean), dtype=np.float32)


def _words(encoding: Encoding) -> Iterator[tuple[int, int]]:
    """Each word's first code point and number of tokens."""
    pieces = zip(encoding.word_ids, encoding.offsets, strict=True)
    for _, word in groupby(pieces, key=lambda piece: piece[0]):
        tokens = list(word)
        yield tokens[0][1][0], len(tokens)
