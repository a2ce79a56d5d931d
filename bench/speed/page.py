"""The page of `eval speed`: bars met and missed, plots, and the load of the machine."""

from collections.abc import Mapping, Sequence

from bench.chores import Chore
from bench.speed.bars import WORDS, Judged
from bench.speed.contest import Entry, ratios
from bench.speed.timing import Timing
from souffleur.report.page import render

Plot = Mapping[str, float]
"""A value for each name."""


def to_html(
    timings: Sequence[Timing],
    chores: Sequence[Chore],
    judged: Sequence[Judged],
    entries: Sequence[Entry],
    notes: Sequence[str],
    loads: Sequence[str],
) -> str:
    """Return one page that needs no script, file or network."""
    return render(
        "bench.speed",
        "speed.html",
        title="Souffleur: speed",
        timings=timings,
        chores=chores,
        judged=judged,
        measures=WORDS,
        growth=plots([*timings], by_size=False),
        contests=plots([one.wall for one in entries], by_size=True),
        entries=entries,
        ratios=ratios(entries),
        notes=notes,
        loads=loads,
    )


def plots(timings: Sequence[Timing], *, by_size: bool) -> Mapping[str, Plot]:
    """Return the medians as plots: of operations at one size, or of one operation as it grows.

    >>> found = [Timing("a", 10, 1.234, 2, 3), Timing("a", 1_000, 4, 5, 6)]
    >>> plots(found, by_size=False)
    {'a': {'10': 1.23, '1,000': 4}}
    >>> plots(found, by_size=True)
    {'10 memories': {'a': 1.23}, '1,000 memories': {'a': 4}}
    """
    found: dict[str, dict[str, float]] = {}
    for one in timings:
        size = f"{one.size:,}"
        plot, row = (f"{size} memories", one.name) if by_size else (one.name, size)
        found.setdefault(plot, {})[row] = round(one.median, 2)
    return found
