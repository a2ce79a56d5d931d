"""A collection to read from: it remembers points and counts, and asks for many things at once.

The engine filters and ranks every time, but returns ids only: payloads that were read before are
not read and decoded again. What is asked for within one turn of the event loop is one request.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from souffleur.errors import StoreError
from souffleur.knowledge.engine.collection import (
    AnyOf,
    Between,
    Collection,
    Condition,
    Filter,
    Hit,
    Is,
    Listing,
    Order,
    Payload,
    Point,
    Search,
    Sparse,
    is_between,
)
from souffleur.knowledge.engine.memo import Memo, Reading
from souffleur.knowledge.engine.packed import Kept

MORE = 20
"""Number of points that a list has in reserve for those whose time is over."""
STAMP = ("revision", "written_by")
"""Fields by which a point that another process may have written is recognised."""


@dataclass(frozen=True)
class _Question:
    """What one caller waits for: the hits of queries, or points by their ids."""

    queries: Sequence[Search | Listing]
    ids: Sequence[str]
    answer: "asyncio.Future[list[list[Hit]]]"


class CachedCollection:
    """The reading side of a collection; every write raises StoreError.

    What it returns is as the collection itself would, except that what another process has changed
    on a server may be `memo.SHARED_LIFE` seconds old.
    """

    def __init__(self, collection: Collection) -> None:
        self.schema = collection.schema
        self.trouble = ""
        """Empty: the collection itself knows what its writes are in for."""
        self.remark = collection.remark
        self.changes = collection.changes
        self.shared = collection.shared
        self.memo: Memo = collection.memo
        self.inner = collection
        """The collection that is asked."""
        self._waiting: dict[asyncio.AbstractEventLoop, list[_Question]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        """Return the existing points in the order of `ids`, without vectors or an event loop."""
        return self.inner.get_now(ids)

    async def get(self, ids: Sequence[str], *, vectors: bool = False) -> list[Point]:
        """Return the existing points in the order of `ids`."""
        if vectors:
            return await self.inner.get(ids, vectors=True)
        known = self.memo.find_all(ids)
        if known is not None:
            self.memo.hits += len(known)
            return known
        (hits,) = await self._ask((), ids)
        return [hit.point for hit in hits]

    async def scroll(
        self,
        filter: Filter,
        *,
        limit: int,
        order: Order | None = None,
        after: str | None = None,
        vectors: bool = False,
    ) -> tuple[list[Point], str | None]:
        """Return up to `limit` matching points and the next page's cursor, `None` on the last."""
        if after is not None or vectors:
            return await self.inner.scroll(
                filter, limit=limit, order=order, after=after, vectors=vectors
            )
        page = await self._page(filter, limit + (order is None), order)
        following = page[limit].id if len(page) > limit else None
        return page[:limit], following

    async def _page(self, filter: Filter, limit: int, order: Order | None) -> list[Point]:
        """Return the first points: from the list as it is at any time, if that is short enough."""
        ended, lasting = _split(filter)
        if len(lasting.must) < len(filter.must):
            return await self._list(Listing(filter, limit, order))
        every = Listing(lasting, limit + bool(ended) * MORE, order)
        ids = self.memo.find_list(every)
        points = None if ids is None else self.memo.find_all(ids)
        if points is None:
            points = await self._list(every)
        left = [one for one in points if not _is_over(one, ended)]
        if len(left) < limit and len(points) == every.limit:
            return await self._list(Listing(filter, limit, order))
        return left[:limit]

    async def _list(self, listing: Listing) -> list[Point]:
        (hits,) = await self._ask([listing])
        return [hit.point for hit in hits]

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the nearest points for each query."""
        return await self._ask(queries) if queries else []

    async def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        known = self.memo.find_count(filter)
        if known is not None:
            return known
        with self.memo.reading() as reading:
            count = await self.inner.count(filter)
            self.memo.keep_count(filter, count, reading)
        return count

    def check_usable(self) -> None:
        """Raise StoreError if the collection itself cannot be used."""
        self.inner.check_usable()

    async def flush(self) -> None:
        """Do nothing: there is nothing to write."""

    async def close(self) -> None:
        """Do nothing: the collection itself is closed by its owner."""

    def put_now(self, points: Sequence[Point]) -> NoReturn:
        """Raise StoreError, as all writes do."""
        raise StoreError("This view of the store is only read: write to the knowledge base itself.")

    async def put(self, points: Sequence[Point]) -> NoReturn:
        """Raise StoreError."""
        self.put_now(points)

    async def replace(self, point: Point, *, revision: int) -> NoReturn:
        """Raise StoreError."""
        self.put_now([point])

    async def merge_payload(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    def merge_now(
        self, ids: Sequence[str], payload: Payload, *, where: Condition | None = None
    ) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    async def set_vectors(self, points: Sequence[Point]) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    async def delete(self, ids: Sequence[str]) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    async def compact(self) -> NoReturn:
        """Raise StoreError."""
        self.put_now([])

    async def _ask(
        self, queries: Sequence[Search | Listing], ids: Sequence[str] = ()
    ) -> list[list[Hit]]:
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, [])
        question = _Question(queries, ids, loop.create_future())
        waiting.append(question)
        if len(waiting) == 1:  # the task begins after everything that runs in this turn
            task = loop.create_task(self._answer(loop))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        return await question.answer

    async def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        questions = self._waiting.pop(loop)
        try:
            with self.memo.reading() as reading:
                found = await self._find(questions, reading)
        except BaseException as error:
            for question in questions:
                if not question.answer.done():
                    question.answer.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for question, hits in zip(questions, found, strict=True):
            if not question.answer.done():
                question.answer.set_result(hits)

    async def _find(
        self, questions: Sequence[_Question], reading: Reading
    ) -> list[list[list[Hit]]]:
        queries = [query for question in questions for query in question.queries]
        named = [id for question in questions for id in question.ids]
        if queries and named:
            hits, points = await asyncio.gather(
                self._search(queries, reading), self._points(named, reading)
            )
        else:
            hits = await self._search(queries, reading) if queries else []
            points = await self._points(named, reading) if named else {}
        answers = iter(hits)
        return [
            [[Hit(points[id], 0.0) for id in question.ids if id in points]]
            if question.ids
            else [next(answers) for _ in question.queries]
            for question in questions
        ]

    async def _search(
        self, queries: Sequence[Search | Listing], reading: Reading
    ) -> list[list[Hit]]:
        fields = () if self.memo.life is None else STAMP
        probes = self._probes(queries)
        vain = [self._finds_nothing(one) for one in queries]
        wanted = [one for one, nothing in zip(queries, vain, strict=True) if not nothing]
        lighter, exceptions = self._lighten(wanted) if self.memo.life is None else ({}, [])
        asked = [
            replace(query, fields=fields, filter=lighter.get(query.filter, query.filter))
            for query in wanted
        ]
        also: list[Search | Listing] = [*probes.values(), *exceptions]
        found = await self.inner.search([*asked, *also]) if asked else []
        if lighter and reading.writes:  # by another thread: a point may not meet what was left out
            asked = [replace(query, fields=fields) for query in wanted]
            found = await self.inner.search([*asked, *also])
        for user_id, hits in zip(probes, found[len(asked) :], strict=False):
            self.memo.keep_cued(user_id, bool(hits), reading)
        for query, hits in zip([*wanted, *also], found, strict=False):
            if isinstance(query, Listing) and not _is_of_a_moment(query.filter):
                listing = replace(query, fields=None)
                self.memo.keep_list(listing, [hit.point.id for hit in hits], reading)
        answers = iter(found)
        return await self._hydrate([[] if one else next(answers) for one in vain], reading)

    def _probes(self, queries: Sequence[Search | Listing]) -> dict[str, Search]:
        """Return a query by the cues of each user of whom it is not known whether there are any."""
        probes: dict[str, Search] = {}
        for query in queries:
            if isinstance(query, Listing) or isinstance(query.vector, Sparse):
                continue
            user_id = _cues_of(query)
            if user_id is not None and self.memo.has_cues(user_id) is None:
                everything = Filter((Is("user_id", user_id),))
                probes[user_id] = replace(query, filter=everything, limit=1, fields=())
        return probes

    def _lighten(
        self, queries: Sequence[Search | Listing]
    ) -> tuple[dict[Filter, Filter], list[Listing]]:
        """Return filters without alternatives that all points of their user meet anyway.

        To test them, the engine takes as long as for all other conditions of a search together. Of
        a user of whom it is not known, the second result asks for a point that does not meet them.
        """
        lighter: dict[Filter, Filter] = {}
        exceptions: dict[Listing, None] = {}
        for filter in {one.filter for one in queries if isinstance(one, Search)}:
            owner = tuple(
                one for one in filter.must if isinstance(one, Is) and one.key == "user_id"
            )
            must = []
            for condition in filter.must:
                if owner and isinstance(condition, AnyOf):
                    others = Listing(Filter(owner, (condition,)), 1)
                    known = self.memo.find_list(others)
                    if known == ():
                        continue
                    if known is None:
                        exceptions[others] = None
                must.append(condition)
            if len(must) < len(filter.must):
                lighter[filter] = Filter(tuple(must), filter.must_not)
        return lighter, list(exceptions)

    def _finds_nothing(self, query: Search | Listing) -> bool:
        """Return whether a query compares with cues, and its user has none."""
        user_id = _cues_of(query)
        return user_id is not None and self.memo.has_cues(user_id) is False

    async def _hydrate(self, found: list[list[Hit]], reading: Reading) -> list[list[Hit]]:
        """Return the hits with whole points: those that are remembered, and the others read."""
        stamps = {hit.point.id: hit.point.payload for hits in found for hit in hits}
        points = await self._points(stamps, reading, stamps)
        return [
            [Hit(points[hit.point.id], hit.score) for hit in hits if hit.point.id in points]
            for hits in found
        ]

    async def _points(
        self, ids: Iterable[str], reading: Reading, stamps: dict[str, Payload] | None = None
    ) -> dict[str, Point]:
        """Return the points by id; `stamps` are the fields in which they were just seen."""
        known: dict[str, Point | None] = {}
        missing = []
        for id in dict.fromkeys(ids):
            kept = self.memo.find(id)
            if kept is not None and self._is_current(kept, (stamps or {}).get(id, {})):
                known[id] = kept.point
            else:
                missing.append(id)
        self.memo.hits += len(known)
        self.memo.misses += len(missing)
        if missing:
            read = {point.id: point for point in await self.inner.get(missing)}
            for id in missing:
                known[id] = self.memo.keep(id, read.get(id), reading)
        return {id: point for id, point in known.items() if point is not None}

    def _is_current(self, kept: Kept, stamp: Payload) -> bool:
        if kept.point is not None and stamp.get("revision") is not None:
            return all(kept.point.payload.get(key) == value for key, value in stamp.items())
        return self.memo.is_fresh(kept.at)


def _split(filter: Filter) -> tuple[list[Between], Filter]:
    """Return what excludes points as time goes by, and a filter without any moment in it.

    A filter that selects by time, as the plans for these days, keeps fewer of its conditions.
    """
    ended = [one for one in filter.must_not if _is_moment(one)]
    must = tuple(one for one in filter.must if not _is_moment(one))
    rest = tuple(one for one in filter.must_not if not _is_moment(one))
    return [one for one in ended if isinstance(one, Between)], Filter(must, rest)


def _is_over(point: Point, ended: Sequence[Between]) -> bool:
    """Return whether any of the ranges, most of which a point has no time for, excludes it."""
    payload = point.payload
    return any(payload.get(past.key) is not None and is_between(past, payload) for past in ended)


def _is_moment(condition: Condition) -> bool:
    if not isinstance(condition, Between):
        return False
    return isinstance(condition.low or condition.high, datetime)


def _is_of_a_moment(filter: Filter) -> bool:
    """Return whether it depends on the time of asking, so that it is never asked again."""
    return any(map(_is_moment, (*filter.must, *filter.must_not)))


def _cues_of(query: Search | Listing) -> str | None:
    """Return the user whose cues a query compares with; `None` if it compares with no cues."""
    if isinstance(query, Listing) or not query.by_cues:
        return None
    return next((str(value) for _, value in query.filter.equal(("user_id",))), None)
