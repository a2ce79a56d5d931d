"""Nearness: the similarity of points to texts, by dense vectors and by words, each from 0 to 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from souffleur.knowledge.search.words import encode_query
from souffleur.knowledge.store.engine.collection import Collection, Filter, Point, Search, Sparse

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder

HITS_PER_SEARCH = 40
"""Number of hits taken from each search."""

Parts = dict[str, float]
"""Nearness by `cosine` and `lexical`, and likewise of cues by `cue_cosine` and `cue_lexical`."""


@dataclass(frozen=True)
class DenseEncoder:
    """Encodes texts for dense search."""

    embedder: "Embedder"
    within: float | None = None
    """Maximum seconds for a request; `None` means the usual time-out."""

    async def vectors(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """Return the vectors of texts to search with. Raises EmbedderError."""
        return await self.embedder.embed_queries(texts, within=self.within)

    def nearness(self, cosine: float) -> float:
        """Return the nearness that a cosine means, from 0 to 1."""
        return dense_nearness(cosine, self.embedder.floor)


async def hybrid_search(
    collection: Collection,
    encoder: DenseEncoder | None,
    texts: Sequence[tuple[str, float]],
    allowed: Sequence[Filter],
    corpus: Filter,
) -> list[tuple[Point, Parts]]:
    """Return the points nearest to any of the texts, unordered, in one round trip.

    Each text has a weight; `allowed` are the sets that are searched, `corpus` is the set over which
    the rarity of words is counted. Without an encoder, only words are compared.
    """
    if not texts:
        return []
    asks: list[tuple[str, float, Search]] = []
    for text, weight in texts:
        asks += _asks("lexical", weight, encode_query(text), allowed, corpus)
    vectors = await encoder.vectors([text for text, _ in texts]) if encoder else []
    for vector, (_, weight) in zip(vectors, texts, strict=False):
        asks += _asks("cosine", weight, vector, allowed)
    scale = await lexical_scale(collection, corpus)
    hits = await collection.search([ask for _, _, ask in asks])
    points: dict[str, Point] = {}
    parts: dict[str, Parts] = {}
    for (name, weight, _), found in zip(asks, hits, strict=True):
        dense = encoder if name.endswith("cosine") else None
        for point, score in found:
            near = weight * (dense.nearness(score) if dense else lexical_nearness(score, scale))
            mine = parts.get(point.id)
            if mine is None:
                points[point.id], parts[point.id] = point, {name: near}
            elif near > mine.get(name, -1.0):
                mine[name] = near
    return [(point, parts[id]) for id, point in points.items()]


def _asks(
    name: str,
    weight: float,
    vector: tuple[float, ...] | Sparse,
    allowed: Sequence[Filter],
    corpus: Filter | None = None,
) -> list[tuple[str, float, Search]]:
    """Return a query of the texts themselves, and one of their cues, in each set."""
    return [
        (part, weight, Search(vector, some, HITS_PER_SEARCH, corpus, by_cues))
        for some in allowed
        for part, by_cues in ((name, False), (f"cue_{name}", True))
    ]


async def lexical_scale(collection: Collection, corpus: Filter) -> float:
    """Return about the lexical score of a term that only one point of the corpus has."""
    return math.log1p(await collection.count(corpus)) or 1.0


def dense_nearness(cosine: float, floor: float) -> float:
    """Return the cosine above that of unrelated texts (`floor`), scaled to 0..1."""
    return max(0.0, (cosine - floor) / (1 - floor))


def lexical_nearness(score: float, scale: float) -> float:
    """Return a saturating nearness; a term that only one point has gives about a half."""
    return score / (score + scale) if score > 0 else 0.0
