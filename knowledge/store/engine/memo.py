"""The cache of a collection for readers: points, counts and short lists, valid until a write."""

import marshal
from collections import OrderedDict
from collections.abc import (
    Callable,
    Collection as Some,
    Hashable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count as numbers
from threading import Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from souffleur.knowledge.store.engine.points import (
    LASTING,
    Filter,
    Listing,
    Payload,
    Point,
    bare,
    can_match,
)

POINTS_KEPT = 8192
"""Maximum number of cached points of a collection; the least recently used point is dropped."""
DECODED_KEPT = 2048
"""Maximum number of cached points that are decoded. A decoded point is up to ten times as large as
its bytes; it has about twenty objects, and each makes the pauses for garbage collection longer."""


class Kept(NamedTuple):
    """The result of reading an id: its point, or `None` if the id has no point."""

    point: Point | None
    at: float
    """The time of the read, in seconds of the memo's clock."""


class PackedPoints:
    """A cache of points by id, without vectors. Not thread-safe.

    >>> points = PackedPoints()
    >>> points.keep("1", Point("1", {"user_id": "ann"}), at=0.5).payload
    {'user_id': 'ann'}
    >>> points.find("1").at, points.find("2")
    (0.5, None)
    """

    def __init__(self) -> None:
        self._packed: OrderedDict[str, tuple[bytes | None, float]] = OrderedDict()
        self._decoded: OrderedDict[str, Kept] = OrderedDict()

    def __contains__(self, id: str) -> bool:
        return id in self._packed

    def find(self, id: str) -> Kept | None:
        """Return the cached result of reading an id; `None` if it is not cached."""
        found = self._packed.get(id)
        if found is None:
            return None
        self._packed.move_to_end(id)
        kept = self._decoded.get(id)
        if kept is not None:
            self._decoded.move_to_end(id)
            return kept
        packed, at = found
        return Kept(None, at) if packed is None else self._decode(id, marshal.loads(packed), at)

    def keep(self, id: str, point: Point | None, at: float) -> Point | None:
        """Cache a point, or that the id has no point; return the point that `find` will return."""
        self.drop(id)
        self._packed[id] = (None if point is None else marshal.dumps(point.payload), at)
        shorten(self._packed, POINTS_KEPT)
        return None if point is None else self._decode(id, point.payload, at).point

    def drop(self, id: str) -> None:
        """Remove an id from the cache."""
        self._packed.pop(id, None)
        self._decoded.pop(id, None)

    def _decode(self, id: str, payload: dict[str, Any], at: float) -> Kept:
        kept = self._decoded[id] = Kept(bare(id, payload, {}), at)
        shorten(self._decoded, DECODED_KEPT)
        return kept


def shorten(kept: OrderedDict[Any, Any], most: int) -> None:
    """Drop the first entries so that at most `most` entries stay."""
    while len(kept) > most:
        kept.popitem(last=False)


Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

USERS_KEPT = 1024
"""Maximum number of users with cached counts and lists."""
FILTERS_KEPT = 64
"""Maximum number of cached counts of one user, and also of lists. An active user needs about 10."""
MADE_OF = 4096
"""Maximum number of points in all cached derived values."""
PUT_KEPT = 1024
"""Maximum number of written points with cached user and type. A new turn changes four more times
until it is judged and embedded."""
SHAPES_KEPT = 256
"""Maximum number of question objects that are kept to be shared by users."""
SHARED_LIFE = 2.0
"""Lifetime in seconds of a cached value that another process may change."""


@dataclass(frozen=True)
class Write:
    """A write: the points and fields that it may change."""

    ids: frozenset[str]
    points: "tuple[Point, ...] | None" = None
    """The whole written points; `None` if only some fields change, or points are deleted."""
    fields: frozenset[str] | None = None
    """The fields that change; `None` means all fields."""
    lasting: "tuple[Payload, ...] | None" = None
    """The `LASTING` fields of each point; `None` if they are unknown for any point."""

    @property
    def owners(self) -> set[str] | None:
        """The users whose counts and lists may change; `None` if unknown.

        The user "" stands for questions that do not select a single user.
        """
        return None if self.lasting is None else {"", *map(_user_of, self.lasting)}

    def of(self, owner: str) -> "Write":
        """Return the part of the write that concerns a user; the whole write for ""."""
        if self.lasting is None or not owner:
            return self
        mine = tuple(one for one in self.lasting if _user_of(one) == owner)
        points = self.points
        if points is not None:
            points = tuple(point for point in points if _user_of(point.payload) == owner)
        return Write(self.ids, points, self.fields, mine)

    def changes(self, filter: "Filter") -> bool:
        """Return whether the number of points that match a filter may change."""
        return self._concerns(filter, filter.keys)

    def reorders(self, listing: "Listing", ids: Sequence[str], last: Payload | None = None) -> bool:
        """Return whether the list with these ids may change.

        `last` is the payload of the list's last point, if known.
        """
        if self.points is None and self.fields is None:
            return not self.ids.isdisjoint(ids)
        if not self._concerns(listing.filter, listing.keys):
            return False
        if self.points is not None and not ids:  # the list was empty: only a new point can join it
            return any(can_match(listing.filter, point.payload) for point in self.points)
        if self.points is not None and last is not None and len(ids) == listing.limit:
            outside = self.ids.isdisjoint(ids)
            return not (outside and all(_is_behind(one, last, listing) for one in self.points))
        return True

    def _concerns(self, filter: "Filter", keys: frozenset[str]) -> bool:
        """Return whether the write may change one of these fields of a point that may match."""
        if self.fields is not None and self.fields.isdisjoint(keys):
            return False
        return self.lasting is None or any(_may_match(filter, one) for one in self.lasting)


@dataclass
class Reading:
    """A read in progress and the writes since it began. Results they may change are not cached."""

    ids: set[str] = field(default_factory=set)
    writes: list[Write] = field(default_factory=list)


@dataclass(frozen=True)
class Made:
    """A value that a reader derived from points of some users."""

    value: Any
    size: int
    """Number of points from which the value was derived."""


class Memo:
    """A cache of points, counts, lists and of the users without cues. Thread-safe.

    Every write of this process goes through `writing`, which drops only the values that the write
    may change. For a collection with other writing processes, `life` is the lifetime of a value in
    seconds.
    """

    def __init__(
        self, *, life: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self.life = life
        """Lifetime of a value in seconds; `None` means until a write changes it."""
        self.hits = 0
        """Number of lookups of a point that was cached."""
        self.misses = 0
        """Number of lookups of a point that was not cached."""
        self._clock = clock
        self._points = PackedPoints()
        self._put: OrderedDict[str, Payload] = OrderedDict()
        """The `LASTING` fields of the last written points, by id."""
        self._counts: _ByUser[Filter, tuple[int, float]] = _ByUser()
        self._lists: _ByUser[Listing, tuple[tuple[str, ...], float]] = _ByUser()
        self._cued: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self._asked = 0
        """Number of cached counts, lists and cue results so far, including dropped ones."""
        self._keys: set[str] = set()
        """Fields on which any cached count or list has depended."""
        self._made: OrderedDict[str, dict[Hashable, Made]] = OrderedDict()
        """Derived values, by the first user of the points they were derived from."""
        self._also: set[str] = set()
        """All other users of points that a value was derived from."""
        self._held = 0
        """Sum of the sizes of all values in `_made`."""
        self._numbers = numbers(1)
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._version = 0
        """The version of users that are not in `_versions`."""
        self._readings: list[Reading] = []
        self._alone = Lock()

    @contextmanager
    def writing(
        self,
        ids: Iterable[str] = (),
        *,
        points: "Sequence[Point] | None" = None,
        fields: Iterable[str] | None = None,
    ) -> Iterator[None]:
        """Drop the answers that a write may change, before and after it, even if it fails."""
        named = frozenset(ids if points is None else (point.id for point in points))
        changed = None if fields is None else frozenset(fields)
        if points is None:
            write = Write(named, None, changed, self._lasting_of(named, changed or ()))
        else:
            lasting = {point.id: _lasting(point.payload) for point in points}
            write = Write(named, tuple(points), changed, tuple(lasting.values()))
            with self._alone:
                self._put |= lasting
                shorten(self._put, PUT_KEPT)
        asked = self._drop(write)
        try:
            yield
        finally:
            self._drop(write, since=asked)

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Yield a new read, for the methods that cache its results, for example `keep`."""
        begun = Reading()
        with self._alone:
            self._readings.append(begun)
        try:
            yield begun
        finally:
            with self._alone:
                self._readings = [one for one in self._readings if one is not begun]

    def find(self, id: str) -> Kept | None:
        """Return the cached result of reading an id, of any age; `None` if it is not cached."""
        with self._alone:
            return self._points.find(id)

    def find_each(self, ids: Iterable[str]) -> dict[str, Kept | None]:
        """Return the cached result of each id, of any age; `None` for an id that is not cached."""
        with self._alone:
            return {id: self._points.find(id) for id in ids}

    def find_all(self, ids: Sequence[str]) -> "list[Point] | None":
        """Return the points with these ids; `None` unless all ids are cached and fresh."""
        with self._alone:
            if not all(id in self._points for id in ids):
                return None
            known = [one for id in ids if (one := self._points.find(id))]
            if self.life is not None and not all(self.is_fresh(one.at) for one in known):
                return None
            return [one.point for one in known if one.point is not None]

    def is_fresh(self, at: float) -> bool:
        """Return whether a value that was read at a time is still valid."""
        return self.life is None or self._clock() - at < self.life

    def keep(self, id: str, point: "Point | None", reading: Reading) -> "Point | None":
        """Cache a point unless it was written during the read; return the point."""
        with self._alone:
            if id in reading.ids:
                return point
            return self._points.keep(id, point, self._clock())

    def find_count(self, counted: "Filter") -> int | None:
        """Return the cached number of points that match a filter; `None` if not cached."""
        with self._alone:
            count, at = self._counts.find(*counted.by_owner) or (None, 0.0)
            return count if self.is_fresh(at) else None

    def largest_count(self, owner: str) -> int:
        """Return the largest cached count of a user's points; 0 without a cached count."""
        with self._alone:
            return max((count for count, _ in self._counts.all_of(owner)), default=0)

    def keep_count(self, counted: "Filter", count: int, reading: Reading) -> None:
        """Cache a count unless a write may have changed it during the read."""
        with self._alone:
            if not any(write.changes(counted) for write in reading.writes):
                self._keys |= counted.keys
                self._asked += 1
                self._counts.keep(*counted.by_owner, (count, self._clock()))

    def find_list(self, listing: "Listing") -> tuple[str, ...] | None:
        """Return the cached ids of a list; `None` if not cached."""
        with self._alone:
            ids, at = self._lists.find(*listing.by_owner) or (None, 0.0)
            return ids if self.is_fresh(at) else None

    def keep_list(self, listing: "Listing", ids: Sequence[str], reading: Reading) -> None:
        """Cache the ids of a list unless a write may have changed the list during the read."""
        with self._alone:
            if not any(write.reorders(listing, ids) for write in reading.writes):
                self._keys |= listing.keys
                self._asked += 1
                self._lists.keep(*listing.by_owner, (tuple(ids), self._clock()))

    def has_cues(self, user_id: str) -> bool | None:
        """Return whether any point of a user has cues; `None` if not cached."""
        with self._alone:
            cued, at = self._cued.get(user_id, (None, 0.0))
            return cued if cued is not None and self.is_fresh(at) else None

    def keep_cued(self, user_id: str, cued: bool, reading: Reading) -> None:
        """Cache whether a point of a user has cues, unless a write gave cues during the read."""
        with self._alone:
            if user_id not in _given_cues(reading.writes):
                self._cued[user_id] = (cued, self._clock())
                self._asked += 1
                shorten(self._cued, USERS_KEPT)

    def versions(self, owners: Sequence[str]) -> tuple[int, ...]:
        """Return the version of each user. Every write to a user's points changes the version."""
        with self._alone:
            return self._versions_of(owners)

    def find_made(self, owner: str, key: Hashable) -> Any:
        """Return the value derived from a user's points; `None` if not cached or outdated."""
        with self._alone:
            made = self._made.get(owner, {}).get(key)
            if made is None:
                return None
            self._made.move_to_end(owner)
            self.hits += made.size
            return made.value

    def keep_made(
        self, owners: Sequence[str], key: Hashable, value: Any, size: int, since: tuple[int, ...]
    ) -> None:
        """Cache a value derived from `size` points of these users, unless a point was written.

        `since` has the versions of the users before the read. The value is dropped when this
        process writes a point of these users.
        """
        with self._alone:
            if self._versions_of(owners) != since:
                return
            owner, *also = owners
            self._also |= set(also)
            mine = self._made.setdefault(owner, {})
            self._held += size - (mine[key].size if key in mine else 0)
            mine[key] = Made(value, size)
            self._made.move_to_end(owner)
            while self._held > MADE_OF or len(self._made) > USERS_KEPT:
                self._forget(next(iter(self._made)))

    def _versions_of(self, owners: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._versions.get(owner, self._version) for owner in owners)

    def _forget(self, owner: str) -> None:
        self._held -= sum(made.size for made in self._made.pop(owner, {}).values())

    def _lasting_of(self, ids: Iterable[str], fields: Some[str]) -> tuple[Payload, ...] | None:
        """Return the `LASTING` fields of each written point; `None` if any are unknown."""
        found = []
        with self._alone:
            if not set(LASTING).isdisjoint(fields):  # for example, a draft becomes an entry
                for id in ids:
                    self._put.pop(id, None)
                return None
            for id in ids:
                kept = None if id in self._put else self._points.find(id)
                if id in self._put:
                    found.append(self._put[id])
                elif kept is not None and kept.point is not None:
                    found.append(_lasting(kept.point.payload))
                else:
                    return None
        return tuple(found)

    def _renew(self, owners: set[str] | None) -> None:
        """Give new versions to these users, and drop the values derived from their points.

        `None` means all users.
        """
        for owner in owners or ():
            self._versions[owner] = next(self._numbers)
            self._versions.move_to_end(owner)
            self._forget(owner)
        if owners is None or len(self._versions) > USERS_KEPT:
            shorten(self._versions, 0 if owners is None else USERS_KEPT)
            self._version = next(self._numbers)
        if owners is None or not owners.isdisjoint(self._also):
            for owner in list(self._made):
                self._forget(owner)

    def _reorders(
        self, write: Write, listing: "Listing", kept: tuple[tuple[str, ...], float]
    ) -> bool:
        ids, _ = kept
        last = self._points.find(ids[-1]) if ids and write.points else None
        return write.reorders(listing, ids, last.point.payload if last and last.point else None)

    def _drop(self, write: Write, *, since: int | None = None) -> int:
        """Drop the answers that a write may change; return the value of `_asked`.

        If `_asked` still equals `since`, there are no new answers to drop.
        """
        with self._alone:
            self._renew(write.owners)
            for reading in self._readings:
                reading.ids |= write.ids
                reading.writes.append(write)
            for id in write.ids:
                self._points.drop(id)
            if write.fields is not None and write.fields.isdisjoint(self._keys):
                return self._asked
            if since == self._asked:
                return self._asked
            self._counts.drop(write, lambda part, counted, _: part.changes(counted))
            self._lists.drop(write, self._reorders)
            for user_id in _given_cues([write]):
                self._cued.pop(user_id, None)
            return self._asked


class _ByUser(Generic[Asked, Answer]):
    """Answers by user and question. The least recently used user is dropped first.

    A question does not contain its user, so all users share a single copy of it.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[str, dict[Asked, Answer]] = OrderedDict()
        self._shapes: OrderedDict[Asked, Asked] = OrderedDict()

    def find(self, owner: str, asked: Asked) -> Answer | None:
        mine = self._answers.get(owner)
        if mine is None:
            return None
        self._answers.move_to_end(owner)
        return mine.get(asked)

    def all_of(self, owner: str) -> Iterable[Answer]:
        return self._answers.get(owner, {}).values()

    def keep(self, owner: str, asked: Asked, answer: Answer) -> None:
        mine = self._answers.setdefault(owner, {})
        mine[self._shapes.setdefault(asked, asked)] = answer
        shorten(self._shapes, SHAPES_KEPT)
        if len(mine) > FILTERS_KEPT:
            del mine[next(iter(mine))]
        self._answers.move_to_end(owner)
        shorten(self._answers, USERS_KEPT)

    def drop(self, write: Write, stale: Callable[[Write, Asked, Answer], bool]) -> None:
        """Drop the answers for which `stale` is true with the write's part about their user."""
        owners = write.owners
        for owner in list(self._answers) if owners is None else owners & self._answers.keys():
            mine, part = self._answers[owner], write.of(owner)
            for asked in [one for one, answer in mine.items() if stale(part, one, answer)]:
                del mine[asked]


def _lasting(payload: Payload) -> Payload:
    return {key: payload[key] for key in LASTING if key in payload}


def _user_of(payload: Payload) -> str:
    return str(payload.get("user_id", ""))


def _may_match(counted: "Filter", payload: "Payload") -> bool:
    """Return whether the `LASTING` fields of a payload allow a match, before or after a write."""
    return all(payload.get(key) == value for key, value in counted.lasting)


def _is_behind(point: "Point", last: "Payload", listing: "Listing") -> bool:
    """Return whether a written point stays outside a full list with the last payload `last`.

    >>> from souffleur.knowledge.store.engine.points import Order
    >>> first = Listing(Filter(), 2, Order("rank", descending=True))
    >>> points = [Point("1", {"rank": rank}) for rank in (0.4, 0.5, 0.6, None)]
    >>> [_is_behind(point, {"rank": 0.5}, first) for point in points]
    [True, False, False, True]
    """
    if listing.order is None:
        return False
    mine, theirs = (payload.get(listing.order.key) for payload in (point.payload, last))
    if mine is None or not can_match(listing.filter, point.payload):
        return True
    if not isinstance(mine, int | float) or not isinstance(theirs, int | float):
        return False
    return mine < theirs if listing.order.descending else mine > theirs


def _given_cues(writes: Iterable[Write]) -> set[str]:
    points = (point for write in writes for point in write.points or ())
    return {str(one.payload.get("user_id")) for one in points if one.cues or one.cue_words}


@dataclass(frozen=True)
class _Kept:
    value: Any
    since: datetime
    until: datetime


class KeptUntil:
    """A cached answer to a question. It is cached only if no other process writes to the store."""

    def __init__(self, memo: Memo, owners: Sequence[str], asked: Hashable, now: datetime) -> None:
        """Take the question `asked`, and the users whose points the answer derives from."""
        self._memo = memo if memo.life is None else None
        self._owners = tuple(owners)
        self._asked = asked
        self._now = now
        self._versions = memo.versions(self._owners)

    def find(self) -> Any:
        """Return the answer if it is valid at `now`, else `None`."""
        kept = self._memo and self._memo.find_made(self._owners[0], self._asked)
        if not isinstance(kept, _Kept) or not kept.since <= self._now < kept.until:
            return None
        return kept.value

    def keep(self, value: Any, size: int, until: datetime) -> None:
        """Cache an answer derived from `size` points. The caller must not change it later."""
        if self._memo and until > self._now:
            kept = _Kept(value, self._now, until)
            self._memo.keep_made(self._owners, self._asked, kept, size, self._versions)
