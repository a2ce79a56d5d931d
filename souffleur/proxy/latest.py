"""A dictionary of the latest values, with a maximum size."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KNOWN = 10_000
"""Default maximum number of values, for all users together."""


class Latest(Generic[K, V]):
    """The latest values by key. Above `limit` values, the oldest value is removed."""

    def __init__(self, limit: int = MAX_KNOWN) -> None:
        self._limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key; `None` for an unknown key."""
        return self._held.get(key)

    def put(self, key: K, value: V) -> None:
        """Store a value as the latest."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._limit:
            self._held.popitem(last=False)
