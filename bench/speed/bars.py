"""What the figures are to be, beside what they are.

The bars hold for two cores with nothing else running.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table

from bench.chores import Chore
from bench.speed.timing import Timing

Measure = Literal["median", "slow", "slowest", "seconds", "ratio"]

WORDS: dict[Measure, str] = {
    "median": "median ms",
    "slow": "p95 ms",
    "slowest": "p99 ms",
    "seconds": "seconds",
    "ratio": "times",
}


@dataclass(frozen=True)
class Bar:
    """What one figure is to be."""

    name: str
    """Name of the operation or chore."""
    size: int | None
    """Number of memories; `None` for any."""
    measure: Measure
    limit: float
    at_least: bool = False
    """Whether higher is better."""

    @property
    def text(self) -> str:
        """The bar as it is shown."""
        return f"{'>=' if self.at_least else '<='} {self.limit:g}"


@dataclass(frozen=True)
class Judged:
    """A measured figure beside its bar."""

    bar: Bar
    size: int
    value: float

    @property
    def verdict(self) -> str:
        """Whether it is met or missed."""
        return verdict(self.bar, self.value)


_RECALL, _WHILE = "recall, less the embedding", "observe, while 8 users are judged"
BARS = (
    *(Bar(_RECALL, size, "median", ms) for size, ms in ((1_000, 2), (10_000, 3), (100_000, 10))),
    *(Bar(_RECALL, size, "slow", ms) for size, ms in ((1_000, 5), (10_000, 8), (100_000, 25))),
    *(Bar(name, None, "slowest", 2) for name in ("observe", _WHILE)),
    Bar("a turn that changes nothing, less the model", None, "median", 10),
    Bar("a turn that adds a memory, less the model", None, "median", 10),
    Bar("judging a turn that changes nothing, less the model", None, "median", 10),
    Bar("judging a turn that adds a memory, less the model", None, "median", 10),
    Bar("open it again", 100_000, "seconds", 1),
)


def verdict(bar: Bar, value: float) -> str:
    """Say whether a figure is as good as its bar.

    >>> verdict(Bar("recall", None, "median", 2), 1.9), verdict(Bar("recall", None, "slow", 5), 7.0)
    ('met', 'missed')
    >>> verdict(Bar("mem0", None, "ratio", 7, at_least=True), 9.0)
    'met'
    """
    return "met" if (value >= bar.limit if bar.at_least else value <= bar.limit) else "missed"


def judge(figures: Iterable[Timing | Chore]) -> Iterator[Judged]:
    """Yield each figure that has a bar.

    >>> [one.verdict for one in judge([Timing("observe", 10, 0.1, 0.4, 2.5)])]
    ['missed']
    """
    for one in figures:
        for bar in BARS:
            if bar.name == one.name and bar.size in (None, one.size) and hasattr(one, bar.measure):
                yield Judged(bar, one.size, getattr(one, bar.measure))


def report_bars(judged: Iterable[Judged]) -> None:
    """Print one line for each figure that has a bar."""
    table = Table("figure", "memories of the user", "", "measured", "bar", "")
    for one in judged:
        bar = one.bar
        cells = (WORDS[bar.measure], f"{one.value:.2f}", bar.text, one.verdict)
        table.add_row(bar.name, f"{one.size:,}", *cells)
    Console().print(table)


def machine_load() -> str:
    """Say how busy the machine is: without this, a missed bar says little."""
    cores = os.cpu_count() or 1
    try:
        minute, five, _ = os.getloadavg()
    except OSError:
        return f"{cores} cores; this system does not tell its load"
    return f"load {minute:.1f} in the last minute, {five:.1f} in five, on {cores} cores"
