"""The interface to Qdrant: points, filters, queries, and the methods of a collection.

It has two implementations: `edge.EdgeCollection` (in this process, on disk) and
`server.ServerCollection` (qdrant-client). Both support the whole interface.
"""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from souffleur.knowledge.store.engine.points import (
    AnyOf,
    Between,
    CollectionSchema,
    Condition,
    Filter,
    Hit,
    IndexType,
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
)
from souffleur.knowledge.watching import Watch

if TYPE_CHECKING:  # it loads numpy
    from souffleur.knowledge.store.engine.memo import Memo


class Changes:
    """The writes to one collection by this process."""

    def __init__(self) -> None:
        self.count = 0
        """Number of writes so far."""
        self._noting: list[set[str]] = []

    def note(self, ids: Sequence[str]) -> None:
        """Note that these points are being written or deleted."""
        self.count += 1
        for noted in self._noting:
            noted.update(ids)

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """Yield a set that collects every id written from now on.

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
    """Return the result of work. A caller that is cancelled still waits for the end of the work.

    A write in a thread cannot be stopped. If the task ended before the write, the write could reach
    the server after later work, for example after erasing the user.
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
    "read_all",
    "read_pages",
]

POINTS_PER_PAGE = 250
"""Number of points that `read_all` requests at once; the event loop runs in between."""


class Collection(Protocol):
    """A set of points. Every method may raise StoreError."""

    schema: CollectionSchema
    trouble: str
    """Why recent writes may not survive a power cut; empty without problems."""
    changes: Changes
    """The writes of this process."""
    memo: "Memo"
    """The cache of readers; every write drops the cached values that it may change."""
    shared: bool
    """Whether other processes may write to the collection, and calls go through a network."""

    def put_now(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points before returning, without an event loop.

        After a crash of this process, all or no points are written.
        """
        ...

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors or an event loop."""
        ...

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Insert new points, and replace points whose stored revision is the given revision.

        `revisions` has an entry for each point that may exist: the revision to replace, 0 also for
        a point without a revision, or `None` to replace any revision. All points go in one request,
        but each point succeeds or fails separately. A point with a `revision` must have a new
        `revision`, and in `written_by` a new id for this write; the method returns the ids of these
        points that were written.
        """
        ...

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Run `swap_now` in an event loop."""
        ...

    def merge_now(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Run `merge_payload` without an event loop."""
        ...

    async def put(self, points: Sequence[Point]) -> None:
        """Insert or replace whole points."""
        ...

    async def replace(self, point: Point, *, revision: int) -> bool:
        """Replace the point if its stored `revision` equals the given one.

        Returns whether the point was replaced. The new payload must contain a new `revision`, and
        the id of the writer in `written_by`: both identify the write when the point is read back.
        """
        ...

    async def merge_payload(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> None:
        """Set these payload fields on the points; the other fields and the vectors stay.

        With `where`, it skips points that do not match at the time of the write.
        """
        ...

    async def set_vectors(self, points: Sequence[Point]) -> None:
        """Set the vectors of existing points; the stored payloads stay.

        The given payloads contain only the user and the type of each point.
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

        With `order`, it skips points without this field, and there is only one page.
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
        """Delete the points; skips unknown ids."""
        ...

    def check_usable(self) -> None:
        """Raise StoreError if the collection is closed or was opened before a fork."""
        ...

    async def flush(self) -> None:
        """Sync all writes to the disk, so that they survive a power cut."""
        ...

    async def compact(self) -> str:
        """Rewrite the files without the bytes of deleted points.

        The collection may be used meanwhile. Only one compaction may run at a time. Returns "", or
        for an engine without compaction, a sentence about where the deleted bytes stay, and until
        when.
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
    """Return the collection with `watch` around each method call, under the name "engine"."""
    return cast(Collection, _Watched(collection, watch))


class _Watched:
    """A collection that wraps each of its methods at the first use."""

    def __init__(self, collection: Collection, watch: Watch) -> None:
        self._collection = collection
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collection, name)
        if not inspect.ismethod(found):
            return found
        about = {"collection": self._collection.schema.name, "call": name}
        method = _seen(found, self._watch, about)
        self.__dict__[name] = method  # so that the next lookup finds it
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
