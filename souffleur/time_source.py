"""Where time comes from: the hour of the day, a steady count of seconds, and waiting."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time by the system's clock, which may be set and may jump."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class TimeSource:
    """All that a memory knows of time."""

    now: Clock = utc_now
    steady: Callable[[], float] = time.monotonic
    """Seconds since some moment; never jumps."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Wait for so many seconds."""


def from_clock(clock: Clock) -> TimeSource:
    """Return a time source whose steady seconds follow a clock that is set by hand."""
    return TimeSource(clock, lambda: clock().timestamp())
