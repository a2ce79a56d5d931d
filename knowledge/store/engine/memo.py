"""The cache of a collection for readers: points by id, and what is ranked in memory."""

import asyncio
import marshal
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from souffleur.knowledge.store.engine.points import CollectionSchema, Payload, Point, bare
from souffleur.knowledge.store.engine.user_index import UserIndex

POINTS_KEPT = 8192
"""Maximum number of cached points of a collection; the least recently used point is dropped."""
DECODED_KEPT = 2048
"""Maximum number of cached points that are decoded. A decoded point is up to ten times as large as
its bytes; it has about twenty objects, and each makes the pauses for garbage collection longer."""
POINTS_HELD = 20_000
"""Maximum number of points that are ranked in memory, of all users. With the default embedder and
three cues, a point takes 9 KB."""
IDLE = 600.0
"""Seconds without a question after which a user's points may leave the memory. Those of other users
stay, as reading them takes 0.2 ms for each point; the engine answers for whom there is no room."""
SHARED_LIFE = 2.0
"""Lifetime in seconds of a cached value that another process may change."""


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

    def renew(self, id: str, at: float) -> None:
        """Note that a cached point is still the stored point."""
        if id in self._packed:
            self._packed[id] = (self._packed[id][0], at)
            if id in self._decoded:
                self._decoded[id] = self._decoded[id]._replace(at=at)

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


class Held:
    """What is held of the points of one user that are ranked in memory."""

    def __init__(self, schema: CollectionSchema) -> None:
        self.index = UserIndex(schema)
        self.stale: dict[str, int] = {}
        """Points that must be read again, with the number of their last write."""
        self.stamps: dict[str, Payload] = {}
        """The fields of each point by which a write of another process is noticed."""
        self.checked: float | None = None
        """The time, by the memo's clock, when it was last checked; `None` if it is new."""
        self.used = 0.0
        """The time of the last question."""
        self.reading: asyncio.Task[None] | None = None
        """The task that reads the stale points."""

    def __len__(self) -> int:
        return len(self.index) + len(self.stale)


class Memo:
    """A cache of a collection's points by id, and of what is ranked in memory. Thread-safe.

    Every write of this process goes through `writing`. For a collection with other writing
    processes, `life` is the number of seconds for which a value is valid without another look.
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
        self.writes = 0
        """Number that each write raises when it begins and when it ends."""
        self.clock = clock
        self._points = PackedPoints()
        self._held: OrderedDict[str, Held] = OrderedDict()
        """By user; the least recently used user is the first."""
        self._alone = Lock()

    @contextmanager
    def writing(
        self,
        ids: Iterable[str] = (),
        *,
        points: "Sequence[Point]" = (),
        fields: Iterable[str] | None = None,
    ) -> Iterator[None]:
        """Drop what a write may change, before and after it, even if it fails.

        The write puts `points`, sets `fields` of the points with these ids, or deletes them.
        """
        self._drop(list(ids), points, fields)
        try:
            yield
        finally:
            self._drop(list(ids), points, fields)

    def find(self, id: str) -> Kept | None:
        """Return the cached result of reading an id, of any age; `None` if it is not cached."""
        with self._alone:
            return self._points.find(id)

    def find_fresh(self, ids: Iterable[str]) -> dict[str, Kept]:
        """Return the cached and valid results by id."""
        with self._alone:
            found = {id: kept for id in ids if (kept := self._points.find(id))}
        if self.life is None:
            return found
        return {id: kept for id, kept in found.items() if self.is_fresh(kept.at)}

    def is_fresh(self, at: float) -> bool:
        """Return whether a value that was read at a time is still valid."""
        return self.life is None or self.clock() - at < self.life

    def keep(self, id: str, point: Point | None, since: int) -> Point | None:
        """Cache a point unless there were writes `since`; return the point."""
        with self._alone:
            return self._points.keep(id, point, self.clock()) if since == self.writes else point

    def hold(self, user_id: str, schema: CollectionSchema) -> Held:
        """Return what is held of a user, or a new entry."""
        with self._alone:
            held = self._held.get(user_id)
            if held is None or held.index.is_worn:
                held = self._held[user_id] = Held(schema)
            held.used = self.clock()
            self._held.move_to_end(user_id)
            return held

    def make_room(self) -> int:
        """Drop users who were long not asked for; return for how many points there is room."""
        with self._alone:
            while self._held and self.clock() - next(iter(self._held.values())).used > IDLE:
                self._held.popitem(last=False)
            return POINTS_HELD - sum(map(len, self._held.values()))

    def note_stale(self, held: Held, stamps: Mapping[str, Payload]) -> None:
        """Compare what is held with the stamps of all points of the user, as they are now."""
        with self._alone:
            for id in held.stamps.keys() | stamps.keys():
                stamp = stamps.get(id)
                if not stamp or held.stamps.get(id) != stamp:
                    held.stale[id] = self.writes
                    self._points.drop(id)
                else:
                    self._points.renew(id, self.clock())
            held.stamps = dict(stamps)
            held.checked = self.clock()

    def is_read(self, held: Held, id: str, since: int) -> bool:
        """Note that a stale point was read; return whether it was not written `since`."""
        with self._alone:
            if held.stale.get(id) != since:
                return False
            del held.stale[id]
            return True

    def _drop(
        self, ids: Sequence[str], points: "Sequence[Point]", fields: Iterable[str] | None
    ) -> None:
        with self._alone:
            self.writes += 1
            for id in (*ids, *(point.id for point in points)):
                self._points.drop(id)
            for point in points:
                held = self._held.get(str(point.payload.get("user_id")))
                if held is not None:
                    held.stale[point.id] = self.writes
            if ids and fields is None:  # deleted points must leave the memory at once
                for user_id in [one for one, held in self._held.items() if _has_any(held, ids)]:
                    del self._held[user_id]
            elif ids:
                for held in self._held.values():
                    if not held.index.fields.isdisjoint(fields or ()):
                        held.stale |= dict.fromkeys(ids, self.writes)


def _has_any(held: Held, ids: Iterable[str]) -> bool:
    return any(id in held.index or id in held.stale for id in ids)
