"""The source of time: a clock, a steady count of seconds, and sleeping."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

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
    """Return a time source whose steady seconds follow the given clock."""
    return TimeSource(clock, lambda: clock().timestamp())
