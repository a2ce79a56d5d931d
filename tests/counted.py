"""Collections that count what is read of them, and how often: counted and not timed."""

from collections.abc import Iterable, Sequence
from typing import Any

from souffleur.knowledge.store.engine.collection import Collection, Filter, Point


class Counted:
    """A collection that counts the points it returns with their payloads, however it is asked."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.read = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def scroll(self, *args: Any, **more: Any) -> Any:
        page, after = await self._collection.scroll(*args, **more)
        self._count(page)
        return page, after

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        found = await self._collection.get(ids, vectors=vectors)
        self._count(found)
        return found

    async def search(self, queries: Any) -> Any:
        hits = await self._collection.search(queries)
        self._count(hit.point for each in hits for hit in each)
        return hits

    def _count(self, points: Iterable[Point]) -> None:
        self.read += sum(1 for point in points if point.payload)


class Tripped:
    """A collection that counts the round trips that reading takes; no ids take none."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.trips = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def scroll(self, *args: Any, **more: Any) -> Any:
        self.trips += 1
        return await self._collection.scroll(*args, **more)

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        self.trips += bool(ids)
        return await self._collection.get(ids, vectors=vectors)

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        self.trips += bool(ids)
        return self._collection.get_now(ids)

    async def search(self, queries: Any) -> Any:
        self.trips += 1
        return await self._collection.search(queries)

    async def count(self, filter: Filter) -> int:
        self.trips += 1
        return await self._collection.count(filter)
