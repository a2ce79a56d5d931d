"""Grace: the seconds that all parts of a process have together to end what they began."""

from collections.abc import Callable


class Grace:
    """Seconds that run from when somebody first asks how many are left.

    >>> now = iter([50.0, 54.0, 99.0])
    >>> grace = Grace(10.0, lambda: next(now))
    >>> grace.left(), grace.left(), grace.left()
    (10.0, 6.0, 0.0)
    """

    def __init__(self, seconds: float, steady: Callable[[], float]) -> None:
        """`steady` counts seconds and never jumps."""
        self._seconds, self._steady = seconds, steady
        self._end: float | None = None

    def left(self) -> float:
        """Return the seconds that are left, at least 0."""
        now = self._steady()
        if self._end is None:
            self._end = now + self._seconds
        return max(0.0, self._end - now)
