"""Changes: the ids of points that are written while somebody takes note, such as a backup."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Changes:
    """The writes to one collection by this process."""

    def __init__(self) -> None:
        self.count = 0
        """Number of writes so far."""
        self._noting: list[set[str]] = []

    def note(self, ids: Sequence[str]) -> None:
        """Note that these points are written or deleted."""
        self.count += 1
        for noted in self._noting:
            noted.update(ids)

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """Yield a set to which every id that is written from now on is added.

        >>> changes = Changes()
        >>> with changes.noted() as noted:
        ...     changes.note(["a"])
        >>> changes.note(["b"])
        >>> noted
        {'a'}
        """
        noted: set[str] = set()
        self._noting.append(noted)
        try:
            yield noted
        finally:
            self._noting = [other for other in self._noting if other is not noted]
