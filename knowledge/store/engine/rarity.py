"""Rarity of terms within one user's points, for servers that count it over the collection only.

Such a server ranks by rarity among all users' points. Its hits, a few more than are asked for, are
scored anew here, as Qdrant itself does from version 1.19 on.
"""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from souffleur.knowledge.store.engine.collection import (
    Filter,
    Hit,
    Is,
    Listing,
    Point,
    Search,
    Sparse,
)
from souffleur.knowledge.store.engine.vectors import CUE_WORDS, LEXICAL, vector_name

SAMPLE = 1000
"""Maximum number of a corpus's points that are read; from them the rest is extrapolated."""
MORE_HITS = 120
"""Hits that are requested at least: those beyond the limit may be nearer by the user's rarity."""
BELIEVED = 0.06
"""Seconds per point for which counts are believed: reading takes a constant part of the time."""
SMALL = 200
"""Number of points up to which a corpus is read again after every write of this process."""
KEPT = 256
"""Number of corpora whose counts are kept."""

Clock = Callable[[], float]
"""A function that returns seconds."""


@dataclass(frozen=True)
class Words:
    """Points of a corpus with their sparse vectors only, and the number of all its points."""

    points: Sequence[Point]
    total: int


Read = Callable[[Filter, int], Awaitable[Words]]
"""A function that reads up to so many points of a corpus."""


@dataclass(frozen=True)
class Counts:
    """How many documents of a corpus there are, and how many of them have each term."""

    documents: float
    by_term: Mapping[int, float]

    def idf(self, term: int, seen: int) -> float:
        """Return the inverse document frequency of a term that at least `seen` documents have.

        It is Qdrant's: https://qdrant.tech/documentation/concepts/indexing/#idf-modifier

        >>> round(Counts(4, {7: 1}).idf(7, 1), 4)
        1.204
        """
        having = max(self.by_term.get(term, 0.0), seen)
        return math.log1p(max(0.0, self.documents - having + 0.5) / (having + 0.5))


@dataclass(frozen=True)
class _Kept:
    """The counts of a corpus by vector name, and when they were made."""

    counts: Mapping[str, Counts]
    size: int
    """Number of points that were read."""
    at: float
    writes: int


class Rarity:
    """The counts of the corpora of one collection, each read when it is first needed."""

    def __init__(self, read: Read, clock: Clock = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._kept: OrderedDict[Filter, _Kept] = OrderedDict()

    async def rescore(
        self, queries: Sequence[Search | Listing], found: Sequence[Sequence[Hit]], *, writes: int
    ) -> list[list[Hit]]:
        """Return the hits of queries, those that `is_rescored` by rarity within their corpus.

        `found` are the hits of queries that were `widened`; `writes` is the number of this
        process's writes so far.
        """
        return [
            score(query, hits, (await self._counts(query.idf_within, writes))[vector_name(query)])
            if is_rescored(query) and query.idf_within and hits
            else list(hits)
            for query, hits in zip(queries, found, strict=True)
        ]

    async def _counts(self, within: Filter, writes: int) -> Mapping[str, Counts]:
        # What is asked for once, such as the points of one moment, is counted at any time.
        corpus = Filter(tuple(one for one in within.must if isinstance(one, Is)))
        now, kept = self._clock(), self._kept.get(corpus)
        if kept is None or not _is_believed(kept, now, writes):
            words = await self._read(corpus, SAMPLE)
            kept = _Kept(count(words), len(words.points), now, writes)
            self._kept[corpus] = kept
        self._kept.move_to_end(corpus)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return kept.counts


def is_rescored(query: Search | Listing) -> TypeGuard[Search]:
    """Return whether the hits of a query are ranked by rarity within a corpus."""
    if not isinstance(query, Search):
        return False
    return isinstance(query.vector, Sparse) and query.idf_within is not None


def widened(query: Search) -> Search:
    """Return the query for a server that cannot count within a corpus.

    >>> widened(Search(Sparse(), Filter(), limit=40, idf_within=Filter()))
    Search(vector=Sparse(indices=(), values=()), filter=Filter(must=(), must_not=()), limit=120, \
idf_within=None, by_cues=False, fields=None)
    """
    return replace(query, limit=max(query.limit, MORE_HITS), idf_within=None)


def count(words: Words) -> dict[str, Counts]:
    """Return the counts of a corpus by vector name, extrapolated if only a part was read."""
    scale = max(1.0, words.total / len(words.points)) if words.points else 1.0
    return {
        LEXICAL: _count((point.lexical for point in words.points), scale),
        CUE_WORDS: _count((point.cue_words for point in words.points), scale),
    }


def _count(documents: Iterable[Sparse | None], scale: float) -> Counts:
    vectors = [one for one in documents if one is not None]
    terms = Counter(term for one in vectors for term in one.indices)
    return Counts(len(vectors) * scale, {term: having * scale for term, having in terms.items()})


def score(query: Search, hits: Sequence[Hit], counts: Counts) -> list[Hit]:
    """Return the nearest of the hits, which have their sparse vectors, without these."""
    assert isinstance(query.vector, Sparse)
    asked = dict(zip(query.vector.indices, query.vector.values, strict=True))
    documents = [_terms(query, hit.point) for hit in hits]
    seen = Counter(term for document in documents for term in document.keys() & asked.keys())
    weights = {term: asked[term] * counts.idf(term, having) for term, having in seen.items()}
    scored = [
        Hit(
            replace(hit.point, lexical=None, cue_words=None),
            sum(weight * document.get(term, 0.0) for term, weight in weights.items()),
        )
        for hit, document in zip(hits, documents, strict=True)
    ]
    return sorted(scored, key=lambda hit: -hit.score)[: query.limit]


def _terms(query: Search, point: Point) -> dict[int, float]:
    vector = point.cue_words if query.by_cues else point.lexical
    return dict(zip(vector.indices, vector.values, strict=True)) if vector else {}


def _is_believed(kept: _Kept, now: float, writes: int) -> bool:
    changed = kept.size <= SMALL and kept.writes != writes
    return not changed and now - kept.at < kept.size * BELIEVED
