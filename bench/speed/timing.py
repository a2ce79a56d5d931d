"""Figures: times of operations, times of chores, and how busy the machine was."""

import os
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The time of one operation, in milliseconds."""

    name: str
    size: int
    """The number of memories of the user."""
    median: float
    slow: float
    """The 95th percentile."""
    slowest: float
    """The 99th percentile."""


@dataclass(frozen=True)
class Operation:
    """Work that is timed, and work before it that is not; each is given the round's number."""

    work: Callable[[int], Awaitable[None]]
    before: Callable[[int], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Chore:
    """One chore on a whole store, such as a backup."""

    name: str
    size: int
    """The number of memories."""
    seconds: float
    megabytes: float | None = None
    """The size of the file or folder, if there is one."""


def timing_of(name: str, size: int, taken: Sequence[float]) -> Timing:
    """Return the percentiles of two or more times in milliseconds.

    >>> timing_of("recall", 1_000, [1.0, 2.0, 3.0]).median
    2.0
    """
    hundredths = statistics.quantiles(taken, n=100, method="inclusive")
    return Timing(name, size, statistics.median(taken), hundredths[94], hundredths[98])


def machine_load() -> str:
    """Return a phrase that tells how busy the machine is: a busy one doubles every figure."""
    cores = os.cpu_count() or 1
    try:
        minute, five, _ = os.getloadavg()
    except OSError:
        return f"{cores} cores; this system does not tell its load"
    return f"load {minute:.1f} in the last minute, {five:.1f} in five, on {cores} cores"
