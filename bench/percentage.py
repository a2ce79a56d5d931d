"""A share in per cent with its interval: the bootstrap of the suite, over questions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from souffleur.evals.bootstrap import draws


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
    values = 100 * np.asarray(shares, dtype=np.float64)
    low, high = np.percentile(draws(len(values)) @ values / len(values), (2.5, 97.5))
    return Figure(float(values.mean()), float(low), float(high))
