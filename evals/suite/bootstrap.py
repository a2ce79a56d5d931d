"""Bootstrap: the interval of 95 % of whatever is measured.

It is that of the percentile bootstrap (Efron 1979): scripts or questions are drawn with
replacement, and what is measured is taken of each draw. The draws are seeded, so the same counts
give the same intervals.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

DRAWS = 2000
SEED = 20260103


@dataclass(frozen=True)
class Figure:
    """A mean in per cent, and its interval of 95 %."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ({self.low:.1f}-{self.high:.1f})"


def percentage(shares: Sequence[float]) -> Figure:
    """Return the mean of shares in per cent; they are at least one.

    >>> str(percentage([1.0, True, 1]))
    '100.0 (100.0-100.0)'
    """
    import numpy as np

    values = 100 * np.asarray(shares, dtype=np.float64)
    low, high = np.percentile(draws(len(values)) @ values / len(values), (2.5, 97.5))
    return Figure(float(values.mean()), float(low), float(high))


def ones(things: int) -> "Array":
    """Return the draw that has everything once."""
    import numpy as np

    return np.ones((1, things))


def draws(things: int) -> "Array":
    """Return how often each thing is in each draw."""
    import numpy as np

    chances = np.full(things, 1 / things)
    return np.random.default_rng(SEED).multinomial(things, chances, size=DRAWS).astype(np.float64)


def interval(values: "Array") -> tuple[float | None, float | None]:
    """Return the ends of the middle 95 % of the values that are numbers."""
    import numpy as np

    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return None, None
    low, high = np.percentile(numbers, (2.5, 97.5))
    return rounded(low), rounded(high)


def rounded(value: float) -> float | None:
    """Return a number as it is kept in a file; None for NaN.

    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if math.isnan(value) else round(float(value), 6)
