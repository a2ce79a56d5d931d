"""The latest things of a kind, as many as fit."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_KNOWN = 10_000
"""Things of a kind that are remembered of all users."""


class Latest(Generic[K, V]):
    """The latest things of a kind: beyond `limit`, the oldest is dropped."""

    def __init__(self, limit: int = MAX_KNOWN) -> None:
        self._limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value of a key; `None` if there is no such key."""
        return self._held.get(key)

    def put(self, key: K, value: V) -> None:
        """Hold a value, as the latest."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._limit:
            self._held.popitem(last=False)
