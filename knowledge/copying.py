"""Copying points while they are used: what comes out is the state at one moment, the last."""

from array import array
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from souffleur.knowledge.engine.collection import Collection, Filter, Point, read_pages
from souffleur.knowledge.engine.points import can_match
from souffleur.knowledge.journal import Journal

POINTS_PER_PAGE = 256
"""Number of points read at once."""


@dataclass(frozen=True)
class Copied:
    """A part of a copy."""

    collection: str
    """The name of the collection."""
    points: Sequence[Point]
    """Points; one that was in an earlier part replaces that."""
    again: Sequence[str] = ()
    """The ids of what was in an earlier part, and was replaced or deleted meanwhile."""
    gone: Sequence[str] = ()
    """Those of them that were deleted."""


async def copies(
    collections: Sequence[Collection],
    journal: Journal,
    wanted: Filter,
    *,
    vectors: bool = False,
) -> AsyncIterator[Copied]:
    """Yield the wanted points, page by page, by their ids; then those written meanwhile.

    `wanted` may hold no ranges. What this process writes during the copy is read again in one go at
    the end; what other processes write to a Qdrant server meanwhile may be in it in part. Raises
    StoreError.
    """
    with ExitStack() as noting:
        each = [
            _Copy(one, wanted, noting.enter_context(one.changes.noted())) for one in collections
        ]
        for copy in each:
            pages = read_pages(copy.collection, wanted, size=POINTS_PER_PAGE, vectors=vectors)
            async for page in pages:
                copy.note(page)
                yield Copied(copy.collection.schema.name, page)
        with journal.lock:  # no thread observes a turn meanwhile
            while any(copy.written for copy in each):
                for copy in each:
                    await copy.read_again(vectors=vectors)
    for copy in each:
        if copy.named:
            yield copy.last()


class _Copy:
    """What was copied of a collection, and written meanwhile."""

    def __init__(self, collection: Collection, wanted: Filter, written: set[str]) -> None:
        self.collection = collection
        self.written = written
        self.named: set[str] = set()
        self._wanted = wanted
        self._latest: dict[str, Point] = {}
        self._seen = array("Q")  # eight bytes a point, so that many need no memory

    def note(self, points: Iterable[Point]) -> None:
        """Note which points were copied."""
        self._seen.extend(_key(point.id) for point in points)

    async def read_again(self, *, vectors: bool) -> None:
        """Read what was written since it was last read."""
        ids = sorted(self.written)
        self.written.clear()
        self.named.update(ids)
        for id in ids:
            self._latest.pop(id, None)
        for first in range(0, len(ids), POINTS_PER_PAGE):
            page = ids[first : first + POINTS_PER_PAGE]
            for point in await self.collection.get(page, vectors=vectors):
                if can_match(self._wanted, point.payload):
                    self._latest[point.id] = point

    def last(self) -> Copied:
        """Return what was written meanwhile."""
        keys = {_key(id): id for id in self.named}
        again = sorted({keys[key] for key in self._seen if key in keys})
        gone = [id for id in again if id not in self._latest]
        points = [self._latest[id] for id in sorted(self._latest)]
        return Copied(self.collection.schema.name, points, again, gone)


def _key(id: str) -> int:
    return UUID(id).int >> 64
