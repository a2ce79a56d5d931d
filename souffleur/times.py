"""The source of time: a clock, a steady count of seconds, and sleeping."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from souffleur.errors import InputError

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time of the system's clock. Somebody may set this clock, so it may jump."""
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

    If the clock shows a year outside `YEARS`, the nearest moment within them is used.
    """
    return TimeSource(lambda: _in_range(clock()), lambda: clock().timestamp())


def _in_range(moment: datetime) -> datetime:
    """Return the moment, or the nearest moment in `YEARS` with some weeks before and after it.

    >>> str(_in_range(datetime.min.replace(tzinfo=UTC)))
    '1900-02-01 00:00:00+00:00'
    """
    if moment.year in YEARS:
        return moment
    first = moment.year < YEARS[0]
    return moment.replace(year=YEARS[0 if first else -1], month=2 if first else 12, day=1)


Moment = datetime | str | float
"""A datetime, an ISO 8601 string, or seconds, milli-, micro- or nanoseconds since 1970."""

YEARS = range(1900, 2200)
"""Calendar years in which a turn can have been said."""
NOW_TAKEN = "; now was taken"
"""The end of a warning about an invalid time, which was replaced by now."""
_FORMS = "a datetime, an ISO 8601 string or seconds or milliseconds since 1970"
_LATEST = datetime(YEARS.stop, 1, 1, tzinfo=UTC).timestamp()
"""A number above this is not seconds since 1970, but milli-, micro- or nanoseconds."""
_PARTS = (1, 10**3, 10**6, 10**9)
"""Units since 1970 as parts of a second: seconds, milli-, micro- and nanoseconds."""
_COUNTED = re.compile(r"[+-]?[0-9]{9,19}(?:\.[0-9]*)?")
"""A number of seconds, or of smaller units, as text; eight digits are a day by ISO 8601."""


def read_moment(value: object) -> datetime:
    """Return the moment that a value names, without a time zone if the value has no zone.

    Raises InputError for any other value, and for a year that is not in `YEARS`.

    >>> str(read_moment("2026-01-03T10:00Z")), str(read_moment("2026-01-03 10:00"))
    ('2026-01-03 10:00:00+00:00', '2026-01-03 10:00:00')
    >>> str(read_moment(1767434400)), str(read_moment("1767434400000"))
    ('2026-01-03 10:00:00+00:00', '2026-01-03 10:00:00+00:00')
    """
    moment = parse(value)
    if moment is None:
        raise InputError(f"{_shown(value)} is no time: give {_FORMS}")
    if moment.year not in YEARS:
        raise InputError(f"{_shown(value)} is in the year {moment.year}: give {_FORMS}")
    return moment


def to_minute(moment: datetime, zone: tzinfo) -> str:
    """Return a moment as a clock in that zone shows it, to the minute.

    >>> from zoneinfo import ZoneInfo
    >>> to_minute(datetime(2026, 1, 3, 23, tzinfo=UTC), ZoneInfo("Asia/Shanghai"))
    '2026-01-04 07:00'
    """
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


def moment_or_now(value: object, *, now: datetime, zone: tzinfo) -> tuple[datetime, str]:
    """Return the moment of a value, and a warning about it; now if the value is `None`.

    A time without a zone is read in `zone`; an invalid time is replaced by now.
    """
    try:
        return moment(value, now=now, zone=zone), ""
    except InputError as error:
        return now, f"{error}{NOW_TAKEN}"


def moment(value: object, *, now: datetime, zone: tzinfo) -> datetime:
    """Return the moment of a value; now if the value is `None`.

    A time without a zone is read in `zone`. Raises InputError for an invalid time.
    """
    if value is None:
        return now
    try:
        found = read_moment(value)
    except InputError as error:
        raise InputError(f"`at`: {error}") from None
    return found if found.utcoffset() is not None else found.replace(tzinfo=zone)


def lacks_zone(value: object) -> bool:
    """Return whether a value is a time without a time zone.

    >>> lacks_zone("2026-01-03"), lacks_zone("2026-01-03T10:00Z"), lacks_zone(None)
    (True, False, False)
    """
    found = parse(value)
    return found is not None and found.utcoffset() is None


def is_moment(value: object) -> bool:
    """Return whether a value names a moment in one of `YEARS`.

    >>> is_moment("2026-01-03"), is_moment("today"), is_moment(None)
    (True, False, False)
    """
    found = parse(value)
    return found is not None and found.year in YEARS


def parse(value: object) -> datetime | None:
    """Return the moment that a value names, in the value's zone if any; `None` if it names none."""
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str) and _COUNTED.fullmatch(value.strip()):
            return _since_1970(float(value))
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(value)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _since_1970(number: float) -> datetime | None:
    """Return the moment of a number since 1970; the size of the number decides its unit.

    >>> {str(_since_1970(1767434400 * parts)) for parts in _PARTS}
    {'2026-01-03 10:00:00+00:00'}
    """
    found = (number / parts for parts in _PARTS if abs(number) < _LATEST * parts)
    seconds = next(found, None)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"a value of the type {type(value).__name__}"
