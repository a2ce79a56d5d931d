"""The interface to Qdrant: points, filters, queries, and the methods of a collection.

It has two implementations: `edge.EdgeCollection` (in this process, on disk) and
`server.ServerCollection` (qdrant-client). It contains only what both can do.
"""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, cast

from souffleur.knowledge.store.engine.memo import Memo
from souffleur.knowledge.store.engine.points import (
    AnyOf,
    Between,
    Condition,
    Filter,
    Hit,
    Is,
    Listing,
    Missing,
    OneOf,
    Order,
    Payload,
    Point,
    Scalar,
    Search,
    Sparse,
    is_between,
    meets,
)
from souffleur.knowledge.watching import Watch


class Changes:
    """The writes to one collection by this process."""

    def __init__(self) -> None:
        self.count = 0
        """Number of writes so far."""
        self._noting: list[set[str]] = []

    def note(self, ids: Sequence[str]) -> None:
        """Note that these points are written or deleted."""
        self.count += 1
        for noted in self._noting:
            noted.update(ids)

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """Yield a set to which every id that is written from now on is added.

        >>> changes = Changes()
        >>> with changes.noted() as noted:
        ...     changes.note(["a"])
        >>> changes.note(["b"])
        >>> noted
        {'a'}
        """
        noted: set[str] = set()
        self._noting.append(noted)
        try:
            yield noted
        finally:
            self._noting = [other for other in self._noting if other is not noted]


T = TypeVar("T")


async def carry_through(work: Awaitable[T]) -> T:
    """Return the result of work; a caller that is cancelled meanwhile ends when the work has ended.

    A write in a thread cannot be called back: if the task ended before it, the write could reach
    the server after later work, such as erasing the user.
    """
    begun = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:
        while not begun.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([begun])
        raise


__all__ = [
    "POINTS_PER_PAGE",
    "AnyOf",
    "Between",
    "Collection",
    "CollectionSchema",
    "Condition",
    "Filter",
    "Hit",
    "IndexType",
    "Is",
    "Listing",
    "Missing",
    "OneOf",
    "Order",
    "Payload",
    "Point",
    "Scalar",
    "Search",
    "Sparse",
    "is_between",
    "meets",
    "read_all",
    "read_pages",
]

POINTS_PER_PAGE = 250
"""Number of points that `read_all` requests at once; the event loop runs in between."""

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
    """The answers that readers remember; every write drops those that it may change."""
    shared: bool
    """Whether other processes may write to it, and a call may take as long as a network does."""

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points before returning, without an event loop.

        All or none of them survive a crash of this process.
        """
        ...

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors or an event loop."""
        ...

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Insert the points that are new, and replace those whose stored revision is as given.

        `revisions` has an entry for each point that may exist: its revision, 0 if it may have none,
        or `None` to replace it whatever is stored. Returns the ids of those points with a
        `revision` that are now as given; they need another `revision`, and in `written_by` an id
        of this one write. They are written in one request, and each for itself.
        """
        ...

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Do what `swap_now` does, in an event loop."""
        ...

    def merge_now(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Do what `merge_payload` does, without an event loop."""
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

    async def merge_payload(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields on the points; the other fields and the vectors stay.

        `where` restricts it to the points that match when it is carried out.
        """
        ...

    async def set_vectors(self, points: Sequence[Point]) -> None:
        """Set the vectors of existing points; their payloads stay as they are in the store.

        The payloads given say whose they are, and of what type.
        """
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

    def check_usable(self) -> None:
        """Raise StoreError if it is closed, or was opened before this process was forked."""
        ...

    async def flush(self) -> None:
        """Return once everything written so far would survive a power cut."""
        ...

    async def compact(self) -> str:
        """Rewrite the files so that nothing deleted is left in them; it may be used meanwhile.

        Only one may work at a time. Returns an empty text; or, if the engine cannot be told to
        compact, a sentence on where the deleted bytes stay, and until when.
        """
        ...

    async def close(self) -> None:
        """Flush and close the collection. Idempotent."""
        ...


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


def watched(collection: Collection, watch: Watch) -> Collection:
    """Return the collection with each call of its methods watched, as work of the engine."""
    return cast(Collection, _Watched(collection, watch))


class _Watched:
    """A collection whose methods are wrapped when they are first used."""

    def __init__(self, collection: Collection, watch: Watch) -> None:
        self._collection = collection
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collection, name)
        if not inspect.ismethod(found):
            return found
        about = {"collection": self._collection.schema.name, "call": name}
        method = _seen(found, self._watch, about)
        self.__dict__[name] = method  # looked up once
        return method


def _seen(method: Callable[..., Any], watch: Watch, about: dict[str, str]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def awaited(*args: Any, **more: Any) -> Any:
            with watch("engine", **about):
                return await method(*args, **more)

        return awaited

    @functools.wraps(method)
    def called(*args: Any, **more: Any) -> Any:
        with watch("engine", **about):
            return method(*args, **more)

    return called
