"""Bootstrap: 95 % intervals for every metric.

It is the percentile bootstrap (Efron 1979): scripts or questions are drawn with replacement, and
the metric is computed for each draw. The draws are seeded, so the same counts give the same
intervals.
"""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

DRAWS = 2000
SEED = 20260103


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
