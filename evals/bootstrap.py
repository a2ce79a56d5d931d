"""Bootstrap: 95 % intervals for every metric.

It is the percentile bootstrap (Efron 1979): scripts or questions are drawn with replacement, and
the metric is computed for each draw. The draws are seeded, so the same counts give the same
intervals.
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
    """A mean in per cent with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ({self.low:.1f}-{self.high:.1f})"


def percentage(shares: Sequence[float]) -> Figure:
    """Return the mean of shares in per cent; `shares` must not be empty.

    >>> str(percentage([1.0, True, 1]))
    '100.0 (100.0-100.0)'
    """
    import numpy as np

    values = 100 * np.asarray(shares, dtype=np.float64)
    low, high = np.percentile(draws(len(values)) @ values / len(values), (2.5, 97.5))
    return Figure(float(values.mean()), float(low), float(high))


def ones(things: int) -> "Array":
    """Return a single draw that contains every item once."""
    import numpy as np

    return np.ones((1, things))


def draws(things: int) -> "Array":
    """Return how often each item is in each draw."""
    import numpy as np

    chances = np.full(things, 1 / things)
    return np.random.default_rng(SEED).multinomial(things, chances, size=DRAWS).astype(np.float64)


def interval(values: "Array") -> tuple[float | None, float | None]:
    """Return the ends of the middle 95 % of the values, ignoring NaN."""
    import numpy as np

    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return None, None
    low, high = np.percentile(numbers, (2.5, 97.5))
    return rounded(low), rounded(high)


def rounded(value: float) -> float | None:
    """Return a number rounded for a result file; `None` for NaN.

    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if math.isnan(value) else round(float(value), 6)
