"""Nearness: how like a point is to some texts, by sense and by words, each from 0 to 1."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from souffleur.knowledge.collection import Collection, Filter, Point, Search
from souffleur.knowledge.lexical import encode_query

if TYPE_CHECKING:
    from souffleur.knowledge.embedder import Embedder

CANDIDATES = 40
"""Hits taken from each list."""

Parts = dict[str, float]
"""Nearness by `cosine` and `lexical`."""


async def find_near(
    collection: Collection,
    embedder: "Embedder",
    texts: Sequence[tuple[str, float]],
    allowed: Sequence[Filter],
    corpus: Filter,
) -> list[tuple[Point, Parts]]:
    """The points nearest to any of the texts, in no order, in one round trip.

    Each text comes with its weight; `allowed` are the sets that are searched, `corpus` the points
    over which the rarity of words is counted.
    """
    if not texts:
        return []
    vectors = await embedder.embed_queries([text for text, _ in texts])
    hits = await collection.search(
        [
            ask
            for (text, _), vector in zip(texts, vectors, strict=True)
            for some in allowed
            for ask in (
                Search(vector, some, CANDIDATES),
                Search(encode_query(text), some, CANDIDATES, idf_within=corpus),
            )
        ]
    )
    scale = await scale_of(collection, corpus)
    points: dict[str, Point] = {}
    parts: dict[str, Parts] = {}
    for place, found in enumerate(hits):
        weight = texts[place // (2 * len(allowed))][1]
        name = ("cosine", "lexical")[place % 2]
        for hit in found:
            points[hit.point.id] = hit.point
            mine = parts.setdefault(hit.point.id, {})
            dense = name == "cosine"
            near = by_sense(hit.score, embedder.floor) if dense else by_words(hit.score, scale)
            mine[name] = max(mine.get(name, 0.0), weight * near)
    return [(point, parts[id]) for id, point in points.items()]


async def scale_of(collection: Collection, corpus: Filter) -> float:
    """About the score of one term that only one point of the corpus has."""
    return math.log1p(await collection.count(corpus)) or 1.0


def by_sense(cosine: float, floor: float) -> float:
    """Cosine above what unrelated texts reach, scaled to 0..1."""
    return max(0.0, (cosine - floor) / (1 - floor))


def by_words(score: float, scale: float) -> float:
    """Saturating: one term that only this point has gives about a half."""
    return score / (score + scale) if score > 0 else 0.0
