"""The embedder: turns texts into checked unit vectors, with the model named `provider:model`."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
from loguru import logger
from numpy.typing import NDArray

from souffleur.errors import EmbedderError, OutageError, SettingsError, to_install
from souffleur.knowledge.network.breaker import Breaker
from souffleur.knowledge.search.embedding_models import (
    TEXTS_PER_REQUEST,
    Embeddings,
    FastEmbeddings,
    HashEmbeddings,
    openai_embeddings,
    translate,
)
from souffleur.knowledge.text.plain import mend
from souffleur.knowledge.watching import Watch, unwatched

TEXTS_REMEMBERED = 2048
"""Number of texts whose vectors are cached, so that each text of a turn is embedded once."""
USUAL_FLOOR = 0.25
"""The floor until `find_dimension` measures it; most recent models have 0.1 to 0.4."""
HIGHEST_FLOOR = 0.9
HASH_DIMENSIONS = range(16, 65_537)

_UNRELATED = (
    ("My cat sleeps all day.", "The train to Lyon was late.", "I am allergic to peanuts."),
    ("我家的猫整天睡觉。", "去里昂的火车晚点了。", "我对花生过敏。"),
)
"""Groups of unrelated sentences in the same language."""

_Vector = NDArray[np.float32]


class Embedder:
    """Any LangChain embeddings, in batches, checked, scaled to unit length and cached.

    Calls should not overlap, or they may embed the same text twice. They may come from different
    event loops, one after another.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        name: str,
        *,
        dimension: int | None = None,
        floor: float | None = None,
        asymmetric: bool = False,
        timeout: float = 30.0,
        breaker: Breaker | None = None,
    ) -> None:
        """Wrap LangChain embeddings. `timeout` is the maximum number of seconds per request."""
        self.name = name
        """The name `provider:model`; vectors of different names cannot be mixed."""
        self.dimension = dimension
        """The length of the vectors; `None` until the first text, if unknown."""
        self.floor = USUAL_FLOOR if floor is None else floor
        """The cosine below which two texts are unrelated, for this embedder."""
        self.breaker = breaker
        """The circuit breaker of the model's endpoint, if any."""
        self.watch: Watch = unwatched
        """Watches the requests."""
        self.hits = 0
        """Number of texts whose vector was in the cache."""
        self.misses = 0
        """Number of texts that had to be embedded."""
        self._embeddings = embeddings
        self._asymmetric = asymmetric
        self._timeout = timeout
        self._measured = floor is not None
        self._cache: OrderedDict[tuple[bool, str], _Vector] = OrderedDict()

    @property
    def holds_the_loop(self) -> bool:
        """Whether it computes within the event loop and blocks it."""
        return isinstance(self._embeddings, HashEmbeddings)

    async def find_dimension(self) -> int:
        """Return the length of the vectors. Raises EmbedderError.

        If `floor` or the dimension is unknown, six sentences are embedded once to find both: the
        cosine of unrelated texts is 0.1 with some models and 0.7 with others.
        """
        if not self._measured or self.dimension is None:
            count = len(_UNRELATED[0])
            rows = np.array(await self.embed([text for group in _UNRELATED for text in group]))
            pairs = [rows[at : at + count] for at in range(0, len(rows), count)]
            if not self._measured:
                self.floor = _mean_cosine(pairs)
            self._measured = True
        assert self.dimension is not None
        return self.dimension

    def assume(self, dimension: int, floor: float | None) -> None:
        """Use the dimension and floor that a store was made with, if none was measured."""
        if self.dimension is None:
            self.dimension = dimension
            self.floor = self.floor if floor is None else floor
            self._measured = True

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return one unit vector, in float32 precision, per text, embedded as documents.

        Blank texts get the first unit vector without a request. Raises EmbedderError if the model
        fails, or answers with a wrong number of vectors, another dimension or invalid numbers.
        """
        return await self._vectors(texts, query=False, within=self._timeout)

    async def embed_each(self, texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
        """Return the vector of each distinct text. Raises EmbedderError as `embed` does."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, await self.embed(distinct), strict=True))

    async def embed_queries(
        self, texts: Sequence[str], *, within: float | None = None
    ) -> list[tuple[float, ...]]:
        """Return vectors as `embed` does, for queries, which some models embed differently.

        `within` is the maximum number of seconds per request, if less than usual.
        """
        limit = self._limit(within)
        return await self._vectors(texts, query=self._asymmetric, within=limit)

    async def prepare_queries(self, texts: Sequence[str], *, within: float | None = None) -> None:
        """Cache the vectors for a later `embed_queries`. Raises the same errors."""
        await self._find(texts, query=self._asymmetric, within=self._limit(within))

    def nearness(self, cosine: float) -> float:
        """Return the part of a cosine above that of unrelated texts (`floor`), scaled to 0..1."""
        return max(0.0, (cosine - self.floor) / (1 - self.floor))

    def forget_texts(self) -> None:
        """Clear the cache of texts and vectors."""
        self._cache.clear()

    async def probe(self) -> None:
        """Embed a word without the cache, to test the model. Raises EmbedderError."""
        if self.breaker:
            self.breaker.let_try()
        await self._rows(["tea"], query=False, within=self._timeout)

    def _limit(self, within: float | None) -> float:
        return self._timeout if within is None else min(within, self._timeout)

    async def _vectors(
        self, texts: Sequence[str], *, query: bool, within: float
    ) -> list[tuple[float, ...]]:
        found = await self._find(texts, query=query, within=within)
        return [tuple(vector.tolist()) for vector in found]

    async def _find(self, texts: Sequence[str], *, query: bool, within: float) -> list[_Vector]:
        keys = [(query, mend(text)) for text in texts]
        found = {key: self._cache[key] for key in keys if key in self._cache}
        asked = [key for key in dict.fromkeys(keys) if key not in found and key[1].strip()]
        self.hits += len(found)
        self.misses += len(asked)
        for start in range(0, len(asked), TEXTS_PER_REQUEST):
            batch = asked[start : start + TEXTS_PER_REQUEST]
            rows = await self._rows([text for _, text in batch], query=query, within=within)
            found.update(zip(batch, rows, strict=True))
        if any(key not in found for key in keys):  # blank texts
            blank = _first_unit(await self.find_dimension())
            found = {key: found.get(key, blank) for key in keys}
        self._remember(found)
        return [found[key] for key in keys]

    async def _rows(self, texts: list[str], *, query: bool, within: float) -> list[_Vector]:
        try:
            with (
                self.breaker.attempt() if self.breaker else nullcontext(),
                self.watch("embed", model=self.name, texts=len(texts), dimension=self.dimension),
            ):
                return self._check(await self._ask(texts, query, within), len(texts))
        except OutageError as error:
            raise EmbedderError(str(error)) from error

    async def _ask(self, texts: list[str], query: bool, within: float) -> Any:
        try:
            async with asyncio.timeout(within):
                if query:
                    return [await self._embeddings.aembed_query(text) for text in texts]
                return await self._embeddings.aembed_documents(texts)
        except Exception as error:  # noqa: BLE001
            # Any library may raise any error here; all become one error of ours. It has no cause,
            # as a host would log it with the endpoint's words.
            raise translate(error, self.name, self._embeddings, texts) from None

    def _check(self, answer: Any, count: int) -> list[_Vector]:
        try:
            rows = [np.asarray(row, dtype=np.float64) for row in answer]
        except (TypeError, ValueError) as error:
            raise self._fault("something else than numbers") from error
        if len(rows) != count:
            raise self._fault(f"{len(rows)} vectors for {count} texts")
        shapes = {row.shape for row in rows}
        expected = self.dimension or len(rows[0].ravel())
        if shapes != {(expected,)} or not expected:
            found = ", ".join(sorted({str(row.size) for row in rows}))
            raise self._fault(f"vectors of {found} dimensions instead of {expected or 'some'}")
        if not all(np.isfinite(row).all() and row.any() for row in rows):
            raise self._fault("a vector that is all zeros or not finite")
        self.dimension = expected
        return [_unit(row) for row in rows]

    def _fault(self, what: str) -> EmbedderError:
        return EmbedderError(
            f"The embedder {self.name} answered with {what}: check that it is an embedding model, "
            "and that its server is in order.",
            outage=False,
        )

    def _remember(self, found: dict[tuple[bool, str], _Vector]) -> None:
        for key, vector in found.items():
            self._cache[key] = vector
            self._cache.move_to_end(key)
        while len(self._cache) > TEXTS_REMEMBERED:
            self._cache.popitem(last=False)


def make_embedder(
    spec: str | Embeddings,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout: float = 30.0,
    breaker: Breaker | None = None,
) -> Embedder:
    """Return the embedder that `spec` names: `hash:512`, `openai:MODEL` or `fastembed:MODEL`.

    `spec` may also be any LangChain embeddings. `base_url` and `api_key` are for `openai`;
    `timeout` is in seconds, for a request including its retry. Raises SettingsError if `spec` is
    invalid, EmbedderError if a package is missing.

    >>> make_embedder("hash:256").dimension
    256
    """
    if not isinstance(spec, str):
        return Embedder(spec, _name(spec), asymmetric=True, timeout=timeout, breaker=breaker)
    provider, _, model = spec.partition(":")
    if provider not in ("hash", "openai", "fastembed"):
        raise SettingsError(
            f"There is no embedder {spec!r}: set SOUFFLEUR_EMBEDDER to openai:MODEL, "
            "fastembed:MODEL or hash:DIMENSION."
        )
    if not model.strip():
        raise SettingsError(f"The embedder {spec!r} names no model: write {provider}:MODEL.")
    if provider == "openai":
        made = openai_embeddings(model, base_url, api_key, timeout)
        return Embedder(made, spec, timeout=timeout, breaker=breaker)
    if provider == "fastembed":
        local = FastEmbeddings(model)
        return Embedder(local, spec, asymmetric=True, timeout=timeout, breaker=breaker)
    hashed = HashEmbeddings(_dimension(model))
    _advise()
    return Embedder(hashed, spec, dimension=hashed.dimension, floor=hashed.floor)


@cache
def _advise() -> None:
    """Log a recommendation of better embedders, once per process."""
    logger.info(
        "Memories are embedded by spelling alone. To find them by meaning too, set "
        f"SOUFFLEUR_EMBEDDER=openai:<model> with SOUFFLEUR_BASE_URL, or {to_install('local')} and "
        "set fastembed:<model>."
    )


def _dimension(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) in HASH_DIMENSIONS:
        return int(text)
    raise SettingsError(
        f"The embedder 'hash:{text}' cannot be made: write a number of dimensions from "
        f"{HASH_DIMENSIONS[0]} to {HASH_DIMENSIONS[-1]}, such as hash:512."
    )


def _name(embeddings: Embeddings) -> str:
    model = next(
        (
            found
            for key in ("model", "model_name", "model_id")
            if isinstance(found := getattr(embeddings, key, None), str) and found
        ),
        None,
    )
    kind = type(embeddings).__name__
    return f"{kind}:{model}" if model else kind


def _unit(row: NDArray[np.float64]) -> _Vector:
    row = row / np.abs(row).max()  # the squares of very large or small numbers would overflow
    return np.asarray(row / math.sqrt(float(row @ row)), dtype=np.float32)


def _first_unit(dimension: int) -> _Vector:
    vector = np.zeros(dimension, dtype=np.float32)
    vector[0] = 1.0
    return vector


def _mean_cosine(groups: Sequence[NDArray[Any]]) -> float:
    """Return the mean cosine of all pairs within the groups, from 0 to `HIGHEST_FLOOR`."""
    cosines = [
        float(group[i] @ group[j]) for group in groups for i in range(len(group)) for j in range(i)
    ]
    return min(max(sum(cosines) / len(cosines), 0.0), HIGHEST_FLOOR)
