"""The seam to Qdrant: points, filters, queries, and what a collection must be able to do.

Two implementations speak it: `edge.EdgeCollection` (in this process, on disk) and
`server.ServerCollection` (qdrant-client). Only what both can do is here.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

Payload = dict[str, Any]
"""JSON-like. Datetimes are ISO 8601 strings in UTC; ids are UUID strings."""

Scalar = str | int | bool

POINTS_PER_PAGE = 1000
"""Points that `read_all` takes at once."""


@dataclass(frozen=True)
class Sparse:
    """A sparse vector: distinct term ids and their weights, of equal length."""

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """What is stored under one id. A point may have no vector at all."""

    id: str
    """A UUID."""
    payload: Payload
    dense: tuple[float, ...] | None = None
    """Of unit length and of the collection's dimension."""
    lexical: Sparse | None = None
    cues: tuple[tuple[float, ...], ...] = ()
    """Vectors of other texts it is found by; only in a collection whose schema has cues."""
    cue_words: Sparse | None = None


@dataclass(frozen=True)
class Is:
    """The field equals the value, or, of a list, holds it."""

    key: str
    value: Scalar


@dataclass(frozen=True)
class OneOf:
    """The field equals (or holds) one of the values; no value matches nothing."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """low <= field < high; a missing field never matches. Numbers, or aware datetimes."""

    key: str
    low: float | datetime | None = None
    high: float | datetime | None = None


@dataclass(frozen=True)
class Missing:
    """The field is absent, null or an empty list."""

    key: str


@dataclass(frozen=True)
class AnyOf:
    """At least one of the conditions holds."""

    conditions: tuple["Condition", ...]


Condition = Is | OneOf | Between | Missing | AnyOf


@dataclass(frozen=True)
class Filter:
    """All of `must` hold and none of `must_not`."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Order:
    """Sort by an indexed field."""

    key: str
    descending: bool = False


@dataclass(frozen=True)
class Hit:
    """A point found by a query, best first."""

    point: Point
    score: float
    """Cosine for dense queries; summed idf-weighted term products for lexical ones."""


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


IndexType = Literal["keyword", "tenant", "integer", "float", "datetime", "bool"]


@dataclass(frozen=True)
class CollectionSchema:
    """What a collection is made with."""

    name: str
    dimension: int
    """Of the dense vectors."""
    indexes: Mapping[str, IndexType] = field(default_factory=dict)
    """Payload fields that are filtered or sorted by; `tenant` is a keyword every query filters."""
    cues: bool = False
    """Whether its points can have cues."""


class Collection(Protocol):
    """A set of points. All calls may raise StoreError."""

    schema: CollectionSchema
    trouble: str
    """Why what was written may not survive a power cut; empty if all is well."""

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points before returning, without an event loop.

        All or none of them survive a crash of this process.
        """
        ...

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """The points that exist, in the order of `ids`, without vectors or an event loop."""
        ...

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        ...

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` is the one given.

        Returns whether it was replaced. The new payload must carry another `revision` and the
        id of the writer in `written_by`, by which the write is recognised on reading back.
        """
        ...

    async def merge_payload(self, ids: Sequence[str], payload: Payload) -> None:
        """Set these payload fields on the points; the other fields and the vectors stay."""
        ...

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """The points that exist, in the order of `ids`."""
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
        """Up to `limit` matching points, and the cursor for the next page (None: the last one).

        With `order`, points that lack the field are left out and there are no further pages.
        """
        ...

    async def search(self, queries: Sequence[Search]) -> list[list[Hit]]:
        """The nearest points for each query, in one round trip where the engine can."""
        ...

    async def count(self, filter: Filter) -> int:
        """How many points match."""
        ...

    async def delete(self, ids: Sequence[str]) -> None:
        """Remove the points for good; unknown ids are ignored."""
        ...

    async def flush(self) -> None:
        """Return when everything written so far would survive a power cut."""
        ...

    async def close(self) -> None:
        """Flush and let go of the data. Closing twice is harmless."""
        ...


async def read_all(collection: Collection, filter: Filter) -> list[Point]:
    """Return all points that match, without vectors."""
    return [point async for page in read_pages(collection, filter) for point in page]


async def read_pages(
    collection: Collection, filter: Filter, *, size: int = POINTS_PER_PAGE
) -> AsyncIterator[list[Point]]:
    """Yield all points that match, `size` at a time; the event loop goes on in between."""
    after: str | None = None
    while True:
        page, after = await collection.scroll(filter, limit=size, after=after)
        if page:
            yield page
        if after is None:
            return
        await asyncio.sleep(0)
