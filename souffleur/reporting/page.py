"""The page of a report: the numbers and memories of a store, as one self-contained file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

from souffleur.knowledge.upkeep.quality import Quality
from souffleur.knowledge.upkeep.tally import BIN, DAY
from souffleur.moments import to_minute
from souffleur.reporting import report
from souffleur.reporting.remembered import Memories, legend
from souffleur.reporting.rendering import render


@dataclass(frozen=True)
class Column:
    """One column of a chart."""

    count: int
    span: str
    """The range that is counted in it."""
    label: str
    """The label under it; empty if there is no room."""


def to_html(
    quality: Quality, memories: Memories | None = None, *, title: str, zone: ZoneInfo
) -> str:
    """Return one page that needs no script, file or network; its times are those of `zone`."""
    state, findings = report.health(quality)
    return render(
        "souffleur.reporting",
        "report.html",
        title=title,
        q=quality,
        memories=memories or Memories(),
        legend=legend,
        zone=zone,
        state=state,
        findings=findings,
        importance=by_importance(quality.importance),
        due=by_day(quality.due_by_day, quality.at, zone),
        time=lambda moment: to_minute(moment, zone),
        split_commands=split_commands,
        count=report.count,
        duration=report.duration,
        outcome=report.outcome,
        spent=report.spent,
        MAX_ROWS=report.MAX_ROWS,
    )


def by_importance(counts: Sequence[int]) -> list[Column]:
    """Return a column for each bin of the histogram; the last bin has no end.

    >>> [(one.span, one.label) for one in by_importance([4, 1, 2])]
    [('0 to 0.25', '0'), ('0.25 to 0.5', '0.25'), ('0.5 and more', '0.5+')]
    """
    lows = [f"{index * BIN:g}" for index in range(len(counts))]
    spans = [*(f"{low} to {high}" for low, high in pairwise(lows)), f"{lows[-1]} and more"]
    labels = [*lows[:-1], f"{lows[-1]}+"]
    return [Column(*one) for one in zip(counts, spans, labels, strict=True)]


def by_day(counts: Sequence[int], start: datetime, zone: tzinfo) -> list[Column]:
    """Return a column for each 24 hours from `start` on; every fifth has room for its date.

    >>> from datetime import UTC
    >>> days = by_day([0, 0, 7], datetime(2026, 1, 3, 23, tzinfo=UTC), UTC)
    >>> [one.label for one in days], days[2].span
    (['', '', '01-05'], '24 hours from 2026-01-05 23:00')
    """
    begins = [start + index * DAY for index in range(len(counts))]
    return [
        Column(
            count,
            span=f"24 hours from {to_minute(begin, zone)}",
            label=f"{begin.astimezone(zone):%m-%d}" if index % 5 == 2 else "",
        )
        for index, (count, begin) in enumerate(zip(counts, begins, strict=True))
    ]


def split_commands(finding: str) -> list[str]:
    """Split a finding into the text between commands and, at odd indices, the commands.

    >>> split_commands("do `this` or `that`, a ` alone")
    ['do ', 'this', ' or ', 'that', ', a ` alone']
    """
    return re.split("`([^`]+)`", finding)
