"""The interface to Qdrant: points, filters, queries, and the methods of a collection.

It has two implementations: `edge.EdgeCollection` (in this process, on disk) and
`server.ServerCollection` (qdrant-client). It contains only what both can do.
"""

import asyncio
from collections.abc import AsyncIterator, Collection as Some, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, Protocol

from souffleur.knowledge.engine.changes import Changes
from souffleur.knowledge.engine.memo import Memo

Payload = dict[str, Any]
"""JSON-like data. Datetimes are ISO 8601 strings in UTC; ids are UUID strings."""

Scalar = str | int | bool

POINTS_PER_PAGE = 1000
"""Number of points that `read_all` requests at once."""


@dataclass(frozen=True)
class Sparse:
    """A sparse vector: distinct term ids and their weights, of equal length."""

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A payload with its vectors, stored under one id. A point may have no vector at all."""

    id: str
    """A UUID."""
    payload: Payload
    dense: tuple[float, ...] | None = None
    """The dense vector, of unit length and of the collection's dimension."""
    lexical: Sparse | None = None
    cues: tuple[tuple[float, ...], ...] = ()
    """Vectors of other texts it is found by; only in a collection whose schema has cues."""
    cue_words: Sparse | None = None
    records: dict[type, Any] | None = field(default=None, compare=False, repr=False)
    """Where `reading.read` keeps what it has decoded from the payload; `None`: nowhere."""


@dataclass(frozen=True)
class Is:
    """Matches if the field equals the value, or is a list that contains it."""

    key: str
    value: Scalar


@dataclass(frozen=True)
class OneOf:
    """Matches if the field equals (or contains) one of the values; never without values."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """Matches if low <= field < high, for numbers or aware datetimes; never if it is missing."""

    key: str
    low: float | datetime | None = None
    high: float | datetime | None = None


@dataclass(frozen=True)
class Missing:
    """Matches if the field is absent, null or an empty list."""

    key: str


@dataclass(frozen=True)
class AnyOf:
    """Matches if at least one of the conditions matches."""

    conditions: tuple["Condition", ...]


Condition = Is | OneOf | Between | Missing | AnyOf


@dataclass(frozen=True)
class Filter:
    """Matches if all of `must` and none of `must_not` match."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The fields on which it depends."""
        return frozenset(_keys((*self.must, *self.must_not)))

    def equal(self, keys: Some[str]) -> Iterable[tuple[str, Scalar]]:
        """Yield the values that these fields must have."""
        return (
            (one.key, one.value) for one in self.must if isinstance(one, Is) and one.key in keys
        )


@dataclass(frozen=True)
class Order:
    """An order by an indexed field."""

    key: str
    descending: bool = False


@dataclass(frozen=True)
class Hit:
    """A point found by a query."""

    point: Point
    score: float
    """The cosine for dense queries; summed idf-weighted term products for lexical ones."""


@dataclass(frozen=True)
class Search:
    """One nearest-neighbour query: by a dense or by a sparse vector."""

    vector: tuple[float, ...] | Sparse
    filter: Filter
    limit: int = 20
    idf_within: Filter | None = None
    """For sparse queries: the points over which term rarity is counted (one user's)."""
    by_cues: bool = False
    """Compare with the cues of points instead; of several cues the nearest counts."""
    fields: tuple[str, ...] | None = None
    """The fields of the payload that are read; `None` means all of them."""


@dataclass(frozen=True)
class Listing:
    """One query without a vector: the first points by id or, if `order` is given, by that.

    Points without the field of the order are left out.
    """

    filter: Filter
    limit: int
    order: Order | None = None
    fields: tuple[str, ...] | None = None
    """As in `Search`."""

    @property
    def keys(self) -> frozenset[str]:
        """The fields on which it depends."""
        return self.filter.keys | ({self.order.key} if self.order else set())


IndexType = Literal["keyword", "tenant", "integer", "float", "datetime", "bool"]


@dataclass(frozen=True)
class CollectionSchema:
    """The name, dimension and indexes with which a collection is created."""

    name: str
    dimension: int
    """The dimension of the dense vectors."""
    indexes: Mapping[str, IndexType] = field(default_factory=dict)
    """Payload fields that are filtered or sorted by; `tenant` is a keyword every query filters."""
    cues: bool = False
    """Whether its points can have cues."""


class Collection(Protocol):
    """A set of points. Every method may raise StoreError."""

    schema: CollectionSchema
    trouble: str
    """Why recent writes may not survive a power cut; empty if all is well."""
    changes: Changes
    """Tells which points this process writes."""
    memo: Memo
    """What readers remember of it; every write drops what it may change."""

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points before returning, without an event loop.

        All or none of them survive a crash of this process.
        """
        ...

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors or an event loop."""
        ...

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        ...

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` equals the given one.

        Returns whether it was replaced. The new payload must contain another `revision` and the id
        of the writer in `written_by`, by which the write is recognised when it is read back.
        """
        ...

    async def merge_payload(self, ids: Sequence[str], payload: Payload) -> None:
        """Set these payload fields on the points; the other fields and the vectors stay."""
        ...

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Return the existing points in the order of `ids`."""
        ...

    async def scroll(
        self,
        filter: Filter,
        *,
        limit: int,
        order: Order | None = None,
        after: str | None = None,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return up to `limit` matching points and the next page's cursor, `None` on the last page.

        If `order` is given, points without its field are left out and there is only one page.
        """
        ...

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the nearest points for each query, in one round trip if the engine supports it.

        The points of a `Listing` have the score 0.
        """
        ...

    async def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        ...

    async def delete(self, ids: Sequence[str]) -> None:
        """Remove the points for good; unknown ids are ignored."""
        ...

    async def flush(self) -> None:
        """Return once everything written so far would survive a power cut."""
        ...

    async def close(self) -> None:
        """Flush and close the collection. Idempotent."""
        ...


def _keys(conditions: Iterable[Condition]) -> Iterable[str]:
    for condition in conditions:
        if isinstance(condition, AnyOf):
            yield from _keys(condition.conditions)
        else:
            yield condition.key


def is_between(condition: Between, payload: Payload) -> bool:
    """Return whether a payload's time is in a range of times.

    >>> noon = datetime.fromisoformat("2026-01-03T12:00:00+00:00")
    >>> is_between(Between("at", high=noon), {"at": "2026-01-03T11:00:00Z"})
    True
    >>> is_between(Between("at", low=noon), {"at": "2026-01-03T11:00:00Z"}), is_between(
    ...     Between("at", low=noon), {"at": None})
    (False, False)
    """
    value, low, high = payload.get(condition.key), condition.low, condition.high
    if not isinstance(value, str):
        return False
    at = datetime.fromisoformat(value)
    return (not isinstance(low, datetime) or low <= at) and (
        not isinstance(high, datetime) or at < high
    )


async def read_all(collection: Collection, filter: Filter) -> list[Point]:
    """Return all matching points, without vectors."""
    return [point async for page in read_pages(collection, filter) for point in page]


async def read_pages(
    collection: Collection, filter: Filter, *, size: int = POINTS_PER_PAGE, vectors: bool = False
) -> AsyncIterator[list[Point]]:
    """Yield all matching points, `size` at a time, and let the event loop run in between."""
    after: str | None = None
    while True:
        page, after = await collection.scroll(filter, limit=size, after=after, vectors=vectors)
        if page:
            yield page
        if after is None:
            return
        await asyncio.sleep(0)
