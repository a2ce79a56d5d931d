"""A collection for readers: it caches points, and ranks the points of most users in memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from loguru import logger

from souffleur.errors import StoreError
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Hit,
    Is,
    Listing,
    OneOf,
    Order,
    Point,
    Search,
    Sparse,
)
from souffleur.knowledge.store.engine.memo import Held, Memo
from souffleur.knowledge.store.engine.points import bare
from souffleur.knowledge.store.engine.user_index import UserIndex

STAMP = ("revision", "written_by")
"""Fields that show whether another process has changed a point."""
READ_AT_ONCE = 20
"""Number of points whose vectors are read before the event loop runs: about 4 ms."""
PAUSE = 0.005
"""Seconds between two such reads in the background, so that what is asked meanwhile is as fast."""
READ_FIRST = 250
"""Number of points that are read before an answer; more are read in the background, while the
engine answers."""
SPARE = 100
"""Number of points that another process may add between a count and a list."""
SHARED_HELD = 2_000
"""Maximum number of points of a user that are ranked in memory if other processes write: their
stamps are listed again when `memo.SHARED_LIFE` is over."""


class CachedCollection:
    """A read-only view of a collection with a cache; every write raises StoreError.

    Its results equal the results of the collection itself; only equal scores may be in another
    order, and changes by another process on a server may be missing for `memo.SHARED_LIFE` seconds.
    """

    def __init__(self, collection: Collection, ranked: Is | None = None) -> None:
        """`ranked`: the points of a user that meet this condition are ranked in memory.

        Without it, the engine answers all queries.
        """
        self.schema = collection.schema
        self.trouble = ""
        """Always empty; the wrapped collection reports trouble with writes."""
        self.changes = collection.changes
        self.shared = collection.shared
        self.memo: Memo = collection.memo
        self.inner = collection
        """The wrapped collection."""
        self._ranked = ranked
        self._alone = collection.memo.life is None
        """Whether only this process writes."""

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors or an event loop."""
        return self.inner.get_now(ids)

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Return the existing points in the order of `ids`."""
        if vectors:
            return await self.inner.get(ids, vectors=True)
        found = {id: kept.point for id, kept in self.memo.find_fresh(ids).items()}
        missing = [id for id in dict.fromkeys(ids) if id not in found]
        self.memo.hits += len(found)
        self.memo.misses += len(missing)
        if missing:
            since = self.memo.writes
            read = {point.id: point for point in await self.inner.get(missing)}
            found |= {id: self.memo.keep(id, read.get(id), since) for id in missing}
        return [point for id in ids if (point := found[id]) is not None]

    async def scroll(
        self,
        filter: Filter,
        *,
        limit: int,
        order: Order | None = None,
        after: str | None = None,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return up to `limit` matching points and the next cursor; `None` on the last page."""
        index = None if vectors or after is not None else await self._index(filter)
        if index is None:
            return await self.inner.scroll(
                filter, limit=limit, order=order, after=after, vectors=vectors
            )
        ids = index.first(Listing(filter, limit + (order is None), order))
        return await self.get(ids[:limit]), ids[limit] if len(ids) > limit else None

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the hits of each query."""
        indexes = [await self._index_for(query) for query in queries]
        others = [query for query, index in zip(queries, indexes, strict=True) if index is None]
        answers = iter(await self._ask_engine(others))
        found = [
            next(answers) if index is None else _hits(index, query)
            for query, index in zip(queries, indexes, strict=True)
        ]
        each = {hit.point.id: hit.point for hits in found for hit in hits}
        unread = [id for id, point in each.items() if not point.payload]
        each |= {point.id: point for point in await self.get(unread)}
        return [
            [Hit(each[one.id], score) for one, score in hits if each[one.id].payload]
            for hits in found
        ]

    async def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        index = await self._index(filter)
        return await self.inner.count(filter) if index is None else index.count(filter)

    def check_usable(self) -> None:
        """Raise StoreError if the wrapped collection cannot be used."""
        self.inner.check_usable()

    async def flush(self) -> None:
        """Do nothing: a view has no writes."""

    async def close(self) -> None:
        """Do nothing: the owner of the wrapped collection closes it."""

    def _refuse_now(self, *args: Any, **more: Any) -> NoReturn:
        raise StoreError("This view of the store is only read: write to the knowledge base itself.")

    async def _refuse(self, *args: Any, **more: Any) -> NoReturn:
        self._refuse_now()

    put_now = merge_now = swap_now = _refuse_now
    put = replace = merge_payload = swap = set_vectors = delete = compact = _refuse

    async def _ask_engine(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the hits of each query. A local engine returns ids, as most points are cached."""
        if self._alone:
            queries = [replace(one, fields=()) for one in queries]
        return await self.inner.search(queries) if queries else []

    async def _index_for(self, query: Search | Listing) -> UserIndex | None:
        if isinstance(query, Search) and isinstance(query.vector, Sparse):
            _, rest = (query.idf_within or Filter()).by_owner
            if rest != Filter((self._ranked,) if self._ranked else ()):
                return None  # rarity is counted over other points
        return await self._index(query.filter)

    async def _index(self, filter: Filter) -> UserIndex | None:
        """Return the index that answers for a filter; `None` if the engine must answer."""
        owner, rest = filter.by_owner
        if not owner or self._ranked is None or not _selects(rest, self._ranked):
            return None
        held = self.memo.hold(owner, self.schema)
        if not held.index.knows(filter) or not await self._is_checked(owner, held):
            return None
        if len(held.stale) <= READ_FIRST:
            await self._read(owner, held)
            return held.index
        loop = asyncio.get_running_loop()
        if not held.reading or held.reading.done() or held.reading.get_loop() is not loop:
            held.reading = loop.create_task(self._read_quietly(owner, held))
        return None

    async def _is_checked(self, owner: str, held: Held) -> bool:
        """Return whether the changed points are known, and there is room for the user's points."""
        if held.checked is not None and self.memo.is_fresh(held.checked):
            return True
        assert self._ranked is not None
        mine = Filter((Is("user_id", owner), self._ranked))
        count, room = await self.inner.count(mine), len(held) + self.memo.make_room()
        if count > (room if self._alone else min(room, SHARED_HELD)):
            return False
        listing = Listing(mine, count + SPARE, fields=() if self._alone else STAMP)
        (hits,) = await self.inner.search([listing])
        self.memo.note_stale(held, {hit.point.id: hit.point.payload for hit in hits})
        return True

    async def _read(self, owner: str, held: Held, *, pause: float = 0.0) -> None:
        """Read the stale points of a user again, with pauses in seconds."""
        stale = dict(held.stale)
        all_ids = list(stale)
        for start in range(0, len(all_ids), READ_AT_ONCE):
            ids = all_ids[start : start + READ_AT_ONCE]
            points = {point.id: point for point in await self.inner.get(ids, vectors=True)}
            for id in ids:
                if self.memo.is_read(held, id, stale[id]):
                    point = points.get(id)
                    if point and self._belongs(point, owner):
                        held.index.put(point)
                    else:
                        held.index.drop(id)
            if len(stale) > READ_AT_ONCE:
                await asyncio.sleep(pause)

    async def _read_quietly(self, owner: str, held: Held) -> None:
        try:
            await self._read(owner, held, pause=PAUSE)
        except StoreError as error:  # often as the store was closed; else the engine's answer tells
            logger.debug("a user's memories are not ranked in memory: {}", error)

    def _belongs(self, point: Point, owner: str) -> bool:
        assert self._ranked is not None
        fields = point.payload
        return fields.get("user_id") == owner and fields.get(self._ranked.key) == self._ranked.value


def _hits(index: UserIndex, query: Search | Listing) -> list[Hit]:
    """Return hits whose points have only their ids."""
    if isinstance(query, Listing):
        return [Hit(bare(id, {}), 0.0) for id in index.first(query)]
    return [Hit(bare(id, {}), score) for id, score in index.search(query)]


def _selects(filter: Filter, ranked: Is) -> bool:
    """Return whether a filter selects only points that meet a condition."""
    return ranked in filter.must or OneOf(ranked.key, (str(ranked.value),)) in filter.must
