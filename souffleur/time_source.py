"""The source of time: a clock, a steady count of seconds, and sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from souffleur.moments import YEARS

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time of the system's clock, which may be set and may jump."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class TimeSource:
    """The only source of time in a Souffleur."""

    now: Clock = utc_now
    steady: Callable[[], float] = time.monotonic
    """Returns seconds since an arbitrary moment; never jumps."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for a number of seconds."""


def from_clock(clock: Clock) -> TimeSource:
    """Return a time source whose steady seconds follow the given clock.

    A clock out of order, in the year 1 or 9999, shows the nearest moment that may be said.
    """
    return TimeSource(lambda: _in_range(clock()), lambda: clock().timestamp())


def _in_range(moment: datetime) -> datetime:
    """Return the moment, or the nearest one of `YEARS`, with room for weeks before and after.

    >>> str(_in_range(datetime.min.replace(tzinfo=UTC)))
    '1900-02-01 00:00:00+00:00'
    """
    if moment.year in YEARS:
        return moment
    first = moment.year < YEARS[0]
    return moment.replace(year=YEARS[0 if first else -1], month=2 if first else 12, day=1)
