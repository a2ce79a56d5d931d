"""Points in memory: as bytes, which are small, and the latest decoded, which are quick."""

import marshal
from collections import OrderedDict
from typing import Any, NamedTuple

from souffleur.knowledge.engine.points import Point, bare

POINTS_KEPT = 8192
"""Number of points that are remembered of a collection; the longest unread is dropped."""
DECODED_KEPT = 2048
"""Number of these that are decoded. Each is some twenty objects that Python's garbage collector
visits in turn while everything waits, and up to ten times as large as its bytes."""


class Kept(NamedTuple):
    """A point as it was read; `None` if there is none with its id."""

    point: Point | None
    at: float
    """When it was read, by the memo's clock."""


class PackedPoints:
    """Points by id, without vectors. Not thread-safe.

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
        """Return what is known of an id; `None` if nothing is."""
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
        """Remember a point, or that there is none; return it as it will be found."""
        self.drop(id)
        self._packed[id] = (None if point is None else marshal.dumps(point.payload), at)
        shorten(self._packed, POINTS_KEPT)
        return None if point is None else self._decode(id, point.payload, at).point

    def drop(self, id: str) -> None:
        """Forget what is known of an id."""
        self._packed.pop(id, None)
        self._decoded.pop(id, None)

    def _decode(self, id: str, payload: dict[str, Any], at: float) -> Kept:
        kept = self._decoded[id] = Kept(bare(id, payload, {}), at)
        shorten(self._decoded, DECODED_KEPT)
        return kept


def shorten(kept: OrderedDict[Any, Any], most: int) -> None:
    """Drop the first entries until so many are left."""
    while len(kept) > most:
        kept.popitem(last=False)
