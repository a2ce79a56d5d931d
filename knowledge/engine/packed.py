"""Points in memory: as bytes, which are small, and the latest decoded, which are quick."""

import marshal
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from souffleur.knowledge.engine.points import Point, bare

POINTS_KEPT = 8192
"""Number of points that are remembered of a collection; the longest unread is dropped."""
DECODED_KEPT = 1024
"""Number of these that are decoded. Each is some twenty objects that Python's garbage collector
visits in turn while everything waits, and up to ten times as large as its bytes."""


@dataclass(frozen=True)
class Kept:
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
        self._decoded: OrderedDict[str, Point] = OrderedDict()

    def __contains__(self, id: str) -> bool:
        return id in self._packed

    def find(self, id: str) -> Kept | None:
        """Return what is known of an id; `None` if nothing is."""
        packed, at = self._packed.get(id) or (None, None)
        if at is None:
            return None
        self._packed.move_to_end(id)
        return Kept(None if packed is None else self._decode(id, packed), at)

    def keep(self, id: str, point: Point | None, at: float) -> Point | None:
        """Remember a point, or that there is none; return it as it will be found."""
        self.drop(id)
        self._packed[id] = (None if point is None else marshal.dumps(point.payload), at)
        shorten(self._packed, POINTS_KEPT)
        return None if point is None else self._keep_decoded(id, point.payload)

    def drop(self, id: str) -> None:
        """Forget what is known of an id."""
        self._packed.pop(id, None)
        self._decoded.pop(id, None)

    def _decode(self, id: str, packed: bytes) -> Point:
        point = self._decoded.get(id)
        if point is None:
            return self._keep_decoded(id, marshal.loads(packed))
        self._decoded.move_to_end(id)
        return point

    def _keep_decoded(self, id: str, payload: dict[str, Any]) -> Point:
        point = self._decoded[id] = bare(id, payload, {})
        shorten(self._decoded, DECODED_KEPT)
        return point


def shorten(kept: OrderedDict[Any, Any], most: int) -> None:
    """Drop the first entries until so many are left."""
    while len(kept) > most:
        kept.popitem(last=False)
