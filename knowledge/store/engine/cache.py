"""A collection for readers that caches points and counts, and combines requests.

The engine filters and ranks every time, but returns ids only: cached payloads are not read and
decoded again. All questions within one turn of the event loop become one request.
"""

import asyncio
from collections.abc import Collection as Some, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NoReturn, TypeGuard

from souffleur.errors import StoreError
from souffleur.knowledge.store.engine.collection import (
    AnyOf,
    Between,
    Collection,
    Condition,
    Filter,
    Hit,
    Is,
    Listing,
    OneOf,
    Order,
    Payload,
    Point,
    Search,
    Sparse,
    is_between,
    meets,
)
from souffleur.knowledge.store.engine.memo import USERS_KEPT, Kept, Memo, Reading

MORE = 20
"""Number of spare points in a list, to replace points whose time is over."""
HOUR = timedelta(hours=1)
MANY = 5_000
"""Number of points of a user from which the engine gets fewer conditions and returns spare hits."""
EVERYTHING = Filter()
FEW = 8
"""Number of spare hits, to replace hits whose time is over."""
USUAL = ("state",)
"""Fields with the same value in nearly all searched points."""
STAMP = ("revision", "written_by")
"""Fields that show whether another process has changed a point."""


@dataclass(frozen=True)
class _Question:
    """The question of one caller: queries to find hits, or ids to find points."""

    queries: Sequence[Search | Listing]
    ids: Sequence[str]
    answer: "asyncio.Future[list[list[Hit]]]"


class CachedCollection:
    """A read-only view of a collection with a cache; every write raises StoreError.

    Its results equal the results of the collection itself. Only changes by another process on a
    server may be missing for `memo.SHARED_LIFE` seconds.
    """

    def __init__(self, collection: Collection) -> None:
        self.schema = collection.schema
        self.trouble = ""
        """Always empty; the wrapped collection reports trouble with writes."""
        self.changes = collection.changes
        self.shared = collection.shared
        self.memo: Memo = collection.memo
        self.inner = collection
        """The wrapped collection."""
        self._waiting: dict[asyncio.AbstractEventLoop, list[_Question]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._strict: set[str] = set()
        """Users for whom the engine tests all conditions, as too many of their points fail them."""

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
        """Return up to `limit` matching points and the next cursor; `None` on the last page."""
        if after is not None or vectors:
            return await self.inner.scroll(
                filter, limit=limit, order=order, after=after, vectors=vectors
            )
        page = await self._page(filter, limit + (order is None), order)
        following = page[limit].id if len(page) > limit else None
        return page[:limit], following

    async def _page(self, filter: Filter, limit: int, order: Order | None) -> list[Point]:
        """Return the first points: from the list without time conditions, if it is long enough."""
        lasting, within, ended = _split(filter, order)
        if lasting is None:
            return await self._list(Listing(filter, limit, order))
        every = Listing(lasting, limit + bool(within or ended) * MORE, order)
        points = await self._known(every)
        left = [one for one in points if all(is_between(a, one.payload) for a in within)]
        for past in ended:
            left = [one for one in left if not meets(past, one.payload)]
        if len(left) < limit and len(points) == every.limit:
            return await self._list(Listing(filter, limit, order))
        return left[:limit]

    async def _known(self, every: Listing) -> list[Point]:
        """Return the points of a list from the cache, or read them."""
        ids = self.memo.find_list(every)
        if ids is None:
            return await self._list(every)
        points = self.memo.find_all(ids)
        if points is not None:
            return points
        # If only this process writes, the list stays valid when payloads of its points change.
        return await self._list(every) if self.memo.life is not None else await self.get(ids)

    async def _list(self, listing: Listing) -> list[Point]:
        (hits,) = await self._ask([listing])
        return [hit.point for hit in hits]

    async def search(self, queries: Sequence[Search | Listing]) -> list[list[Hit]]:
        """Return the hits of each query."""
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

    async def _ask(
        self, queries: Sequence[Search | Listing], ids: Sequence[str] = ()
    ) -> list[list[Hit]]:
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(loop, [])
        question = _Question(queries, ids, loop.create_future())
        waiting.append(question)
        if len(waiting) > 1:
            return await question.answer
        if self.shared:  # a separate task, as the first caller may be cancelled
            task = loop.create_task(self._answer(loop))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            try:
                await asyncio.sleep(0)  # let other tasks of this turn add their questions
            finally:
                await self._answer(loop)  # without a task, as a local engine never waits
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
        hits, points = await self._search(queries, named, reading)
        answers = iter(hits)
        return [
            [[Hit(points[id], 0.0) for id in question.ids if id in points]]
            if question.ids
            else [next(answers) for _ in question.queries]
            for question in questions
        ]

    async def _search(
        self, queries: Sequence[Search | Listing], named: Sequence[str], reading: Reading
    ) -> tuple[list[list[Hit]], dict[str, Point]]:
        """Return the hits of queries, and the points of these hits and of `named`, by id."""
        vain = [self._finds_nothing(one) for one in queries]
        wanted = [one for one, nothing in zip(queries, vain, strict=True) if not nothing]
        broad = self._broadened(wanted)
        found = await self._ask_engine([one.query for one in broad], reading)
        kept, points = await self._keep(broad, found, named, reading)
        short = [
            index
            for index, one in enumerate(broad)
            if one.may_lack(kept[index]) and len(found[index]) >= one.query.limit
        ]
        if short:  # too many hits fail the conditions that were left out
            self._strict |= {str(_owner_of(wanted[index])) for index in short}
            strict = [_Broad(wanted[index], wanted[index]) for index in short]
            again = await self._ask_engine([one.query for one in strict], reading)
            left, more = await self._keep(strict, again, (), reading)
            points |= more
            for index, hits in zip(short, left, strict=True):
                kept[index] = hits
        answers = iter(kept)
        return [[] if one else next(answers) for one in vain], points

    async def _keep(
        self,
        broad: "Sequence[_Broad]",
        found: Sequence[Sequence[Hit]],
        named: Sequence[str],
        reading: Reading,
    ) -> tuple[list[list[Hit]], dict[str, Point]]:
        """Return the wanted hits, and the points of these hits and of `named`, by id.

        Spare hits are read only to replace hits that fail the conditions left out of the query.
        """
        points: dict[str, Point] = {}
        unfit: dict[int, set[str]] = {id(one.left_out): set() for one in broad}
        reach = [one.wanted.limit for one in broad]
        while True:
            near = [hits[:far] for hits, far in zip(found, reach, strict=True)]
            stamps = {hit.point.id: hit.point.payload for hits in near for hit in hits}
            unread = [id for id in (*stamps, *named) if id not in points]
            read = await self._points(unread, reading, stamps)
            points |= read
            for left_out in {id(one.left_out): one.left_out for one in broad}.values():
                unfit[id(left_out)] |= _failing(left_out, read)
            kept = [
                _whole(hits, points, unfit[id(one.left_out)])[: one.wanted.limit]
                for one, hits in zip(broad, near, strict=True)
            ]
            lacking = [
                one.may_lack(left) if len(hits) > far else 0
                for one, left, hits, far in zip(broad, kept, found, reach, strict=True)
            ]
            if not any(lacking):
                return kept, points
            reach = [far + 2 * more for far, more in zip(reach, lacking, strict=True)]
            named = ()

    async def _ask_engine(
        self, wanted: Sequence[Search | Listing], reading: Reading
    ) -> list[list[Hit]]:
        """Return the hits of queries with only ids and `STAMP` fields; cache lists and cues."""
        if not wanted:
            return []
        fields = () if self.memo.life is None else STAMP
        probes = self._probes(wanted)
        lighter, exceptions = self._lighten(wanted) if self.memo.life is None else ({}, [])
        asked = [_asked(query, fields, lighter) for query in wanted]
        also: list[Search | Listing] = [*probes.values(), *exceptions]
        found = await self.inner.search([*asked, *also])
        if lighter and reading.writes:  # a write of another thread may fail a left-out condition
            asked = [replace(query, fields=fields) for query in wanted]
            found = await self.inner.search([*asked, *also])
        for user_id, hits in zip(probes, found[len(asked) :], strict=False):
            self.memo.keep_cued(user_id, bool(hits), reading)
        for query, hits in zip([*wanted, *also], found, strict=False):
            if isinstance(query, Listing) and not _is_asked_once(query.filter):
                listing = replace(query, fields=None)
                self.memo.keep_list(listing, [hit.point.id for hit in hits], reading)
        return found[: len(asked)]

    def _broadened(self, queries: Sequence[Search | Listing]) -> "list[_Broad]":
        """Return queries without the conditions that nearly all points meet.

        The engine's time for a condition grows with the points of a user, not with the hits.
        """
        broader: dict[int, tuple[Filter, Filter] | None] = {}
        found = []
        for query in queries:
            if isinstance(query, Listing) or self.memo.life is not None:
                found.append(_Broad(query, query))
                continue
            if id(query.filter) not in broader:
                broader[id(query.filter)] = self._broader(query)
            filters = broader[id(query.filter)]
            if filters is None:
                found.append(_Broad(query, query))
                continue
            filter, left_out = filters
            more = query.limit // 2 if left_out.must else FEW
            within, limit = query.idf_within, query.limit + more
            asked = Search(query.vector, filter, limit, within, query.by_cues, query.fields)
            found.append(_Broad(asked, query, left_out))
        return found

    def _broader(self, query: Search) -> tuple[Filter, Filter] | None:
        """Return a broader filter and the left-out conditions; `None` if the filter stays."""
        owner, filter = _owner_of(query), query.filter
        if owner is None or owner in self._strict:
            return None
        many = self.memo.largest_count(owner) >= MANY
        usual = tuple(one for one in filter.must if many and _is_usual(one))
        seldom = tuple(
            one for one in filter.must_not if _is_moment(one) or (many and isinstance(one, OneOf))
        )
        if not usual and not seldom:
            return None
        must = tuple(one for one in filter.must if one not in usual)
        must_not = tuple(one for one in filter.must_not if one not in seldom)
        return Filter(must, must_not), Filter(usual, seldom)

    def _probes(self, queries: Sequence[Search | Listing]) -> dict[str, Search]:
        """Return queries by user that find out which users have cues; skips users in the memo."""
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
    ) -> tuple[dict[int, Filter], list[Listing]]:
        """Return filters without the conditions that all points of a user meet, and listings.

        The filters are keyed by the `id()` of the original filter. A condition may be left out if
        it is an `AnyOf` (as slow as all other conditions together), a condition on a `USUAL` field
        or, in a store with many points, the user's id. If it is unknown whether all points meet a
        condition, a listing looks for a point that fails it.
        """
        lighter: dict[int, Filter] = {}
        exceptions: dict[Listing, None] = {}
        searches = [one for one in queries if isinstance(one, Search)]
        corpora = [one.idf_within for one in searches if one.idf_within is not None]
        each = {id(one): one for one in (*(one.filter for one in searches), *corpora)}
        for filter in each.values():
            owner, _ = filter.by_owner
            many = self.memo.largest_count(owner) >= MANY
            must = []
            for condition, others in zip(
                filter.must, _exceptions(filter.must, owner, many), strict=True
            ):
                known = self.memo.find_list(others) if others else None
                if known == ():
                    continue
                if others and known is None:
                    exceptions[others] = None
                must.append(condition)
            if len(must) < len(filter.must):
                lighter[id(filter)] = Filter(tuple(must), filter.must_not)
        return lighter, list(exceptions)

    def _finds_nothing(self, query: Search | Listing) -> bool:
        """Return whether a query searches by cues, and its user has no cues."""
        user_id = _cues_of(query)
        return user_id is not None and self.memo.has_cues(user_id) is False

    async def _points(
        self, ids: Iterable[str], reading: Reading, stamps: dict[str, Payload] | None = None
    ) -> dict[str, Point]:
        """Return the points by id. `stamps` has the `STAMP` fields just read from the engine."""
        known: dict[str, Point | None] = {}
        missing = []
        kept_now, alone = self.memo.find_each(dict.fromkeys(ids)), self.memo.life is None
        for id, kept in kept_now.items():
            if kept and (alone or self._is_current(kept, (stamps or {}).get(id, {}))):
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


@dataclass(frozen=True)
class _Broad:
    """A query with a broader filter for the engine, and the wanted query."""

    query: Search | Listing
    wanted: Search | Listing
    left_out: Filter = EVERYTHING

    def may_lack(self, kept: Sequence[Hit]) -> int:
        """Return the maximum number of wanted hits that are missing in `kept`."""
        return 0 if self.query is self.wanted else self.wanted.limit - len(kept)


def _failing(left_out: Filter, points: Mapping[str, Point]) -> set[str]:
    """Return the ids of the points that fail the conditions left out of a query."""
    failing = set()
    for one in left_out.must:
        failing |= {id for id, point in points.items() if not meets(one, point.payload)}
    for one in left_out.must_not:
        if isinstance(one, Between):  # few points have this field
            dated = {id: at for id, at in points.items() if at.payload.get(one.key) is not None}
            failing |= {id for id, point in dated.items() if meets(one, point.payload)}
        else:
            failing |= {id for id, point in points.items() if meets(one, point.payload)}
    return failing


def _whole(hits: Sequence[Hit], points: Mapping[str, Point], without: Some[str]) -> list[Hit]:
    """Return the hits with whole points; skips missing points and the ids in `without`."""
    found = [Hit(points[one.id], score) for one, score in hits if one.id in points]
    return [hit for hit in found if hit.point.id not in without] if without else found


def _asked(
    query: Search | Listing, fields: tuple[str, ...], lighter: Mapping[int, Filter]
) -> Search | Listing:
    """Return a query for the engine, with these fields and lighter filters."""
    if isinstance(query, Listing) or not lighter:
        return replace(query, fields=fields)
    within = query.idf_within and lighter.get(id(query.idf_within), query.idf_within)
    filter = lighter.get(id(query.filter), query.filter)
    return Search(query.vector, filter, query.limit, within, query.by_cues, fields)


def _is_usual(condition: Condition) -> bool:
    """Return whether nearly all searched points meet a condition."""
    return isinstance(condition, Is) and condition.key in USUAL and isinstance(condition.value, str)


@lru_cache(maxsize=2 * USERS_KEPT)
def _exceptions(must: tuple[Condition, ...], owner: str, many: bool) -> tuple[Listing | None, ...]:
    """Return for each condition a listing of a point that fails it.

    It is `None` for a condition that many points may fail.
    """
    if not owner:
        return (None,) * len(must)
    return tuple(
        _others(owner, one)
        if isinstance(one, AnyOf) or _is_usual(one) or (many and _is_theirs(one, owner))
        else None
        for one in must
    )


def _others(owner: str, condition: Condition) -> Listing:
    """Return a listing of a point that fails a condition.

    It lists the points of the user, or of other users if the condition selects the user.
    """
    among = () if _is_theirs(condition, owner) else (Is("user_id", owner),)
    return Listing(Filter(among, (condition,)), 1)


def _is_theirs(condition: Condition, owner: str) -> bool:
    """Return whether a condition selects all points of a user and no other points."""
    return condition == Is("user_id", owner)


def _owner_of(query: Search | Listing) -> str | None:
    """Return the user whose points a query selects; `None` without a single user."""
    return query.filter.by_owner[0] or None


def _split(
    filter: Filter, order: Order | None
) -> tuple[Filter | None, list[Between], list[Between]]:
    """Return a filter without times, its selecting and its excluding time conditions.

    A range of the order's key, for example for the plans of these days, is widened to full hours:
    the filter then stays equal for an hour. The filter is `None` if another condition selects by
    time.
    """
    within = [one for one in filter.must if _is_moment(one)]
    ended = [one for one in filter.must_not if _is_moment(one)]
    if not within and not ended:
        return filter, [], []
    must = [one for one in filter.must if one not in within]
    for one in within:
        if order is None or order.descending or not _has_ends(one, order.key):
            return None, [], []
        must.append(_widened(one))
    rest = tuple(one for one in filter.must_not if one not in ended)
    return Filter(tuple(must), rest), within, ended


def _has_ends(span: Between, key: str) -> bool:
    return span.key == key and isinstance(span.low, datetime) and isinstance(span.high, datetime)


def _widened(span: Between) -> Between:
    """Return a time range that includes a range and begins and ends at full hours."""
    assert isinstance(span.low, datetime)
    assert isinstance(span.high, datetime)
    low, high = (at.replace(minute=0, second=0, microsecond=0) for at in (span.low, span.high))
    return Between(span.key, low, high + HOUR)


def _is_moment(condition: Condition) -> TypeGuard[Between]:
    if not isinstance(condition, Between):
        return False
    return isinstance(condition.low or condition.high, datetime)


def _is_asked_once(filter: Filter) -> bool:
    """Return whether a filter depends on the current time or on a turn, so it is used only once."""
    return any(
        (_is_moment(one) and not (_is_full_hour(one.low) and _is_full_hour(one.high)))
        or (isinstance(one, Between) and isinstance(one.high, int))
        for one in (*filter.must, *filter.must_not)
    )


def _is_full_hour(at: object) -> bool:
    return isinstance(at, datetime) and not (at.minute or at.second or at.microsecond)


def _cues_of(query: Search | Listing) -> str | None:
    """Return the user whose cues a query searches; `None` if it does not search by cues."""
    return None if isinstance(query, Listing) or not query.by_cues else _owner_of(query)
