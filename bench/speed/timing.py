"""What is timed, and what came of it."""

import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The time of one operation, in milliseconds."""

    name: str
    size: int
    median: float
    slow: float
    """The 95th percentile."""
    slowest: float
    """The 99th percentile."""


@dataclass(frozen=True)
class Operation:
    """What is timed, and what is done before it and not timed; each is given the round's number."""

    work: Callable[[int], Awaitable[None]]
    before: Callable[[int], Awaitable[None]] | None = None


def timing_of(name: str, size: int, taken: Sequence[float]) -> Timing:
    """Return the percentiles of two or more times in milliseconds.

    >>> timing_of("recall", 1_000, [1.0, 2.0, 3.0]).median
    2.0
    """
    hundredths = statistics.quantiles(taken, n=100, method="inclusive")
    return Timing(name, size, statistics.median(taken), hundredths[94], hundredths[98])
