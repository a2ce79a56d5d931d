"""The past period that a text names, found without a model: 上周三, "last weekend"."""

from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.period_words import (
    NIGHT,
    Phrase,
    PhraseMeaning,
    find_phrases,
)

JUST_NOW = timedelta(hours=2)
FEW_UNITS = 7
"""Number of units in "a few"; high, as the speaker is not sure."""
A_WHILE = (timedelta(days=30), timedelta(days=3))
"""The start and end of "a while ago", before today."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""A time before any talk."""

_MOMENTS = {
    "minute": timedelta(minutes=1),
    "half": timedelta(minutes=30),
    "hour": timedelta(hours=1),
}
_HALVES = {
    "year": (6, "month"),
    "month": (2, "week"),
    "week": (3, "day"),
    "day": (12, "hour"),
    "hour": (1, "half"),
}
_NIGHT_ENDS = 5
"""The hour until which "tonight" means the night that began yesterday."""
_CALENDAR_YEAR = 1000
_EXACT = {PhraseMeaning.AGO, PhraseMeaning.WEEKDAY, PhraseMeaning.WEEKEND, PhraseMeaning.DATE}
_LEAP = 12 * 8 + 1
"""Number of months that contain every date, even 29 February around a century without it."""

Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Period:
    """A period of the past."""

    start: datetime
    """The inclusive start, in UTC."""
    end: datetime
    """The exclusive end, in UTC, never in the future: a current period ends now."""
    phrase: str
    """The words from which it was read."""
    last: bool = False
    """Whether the phrase means the previous talk (上次, "last time"); then the period ends now."""


def find_period(text: str, now: datetime, zone: ZoneInfo) -> Period | None:
    """Return the first past period that the text names, in the time zone `zone`.

    Returns `None` if it names no time, or only the future. `now` must be aware. Weeks begin on
    Monday. A weekday, day or month without a year is the latest that has begun; a weekday is never
    today.

    >>> from datetime import timezone
    >>> now = datetime(2025, 11, 21, 15, 30, tzinfo=timezone.utc)
    >>> period = find_period("What did I say last Wednesday?", now, ZoneInfo("Asia/Shanghai"))
    >>> period.phrase, str(period.start), str(period.end)
    ('last Wednesday', '2025-11-18 16:00:00+00:00', '2025-11-19 16:00:00+00:00')
    >>> find_period("下周三见", now, ZoneInfo("Asia/Shanghai")) is None
    True
    """
    for phrase in find_phrases(text):
        period = _period(phrase, now, zone)
        if period is not None:
            return period
    return None


def _period(phrase: Phrase, now: datetime, zone: ZoneInfo) -> Period | None:
    try:
        start, end = _RULES[phrase.meaning](phrase, now.astimezone(zone))
        start, end = start.astimezone(UTC), min(end.astimezone(UTC), now.astimezone(UTC))
    except (OverflowError, ValueError):  # beyond the calendar: 30 February, 9999 years ago
        return None
    last = phrase.meaning is PhraseMeaning.LAST_TALK
    return Period(start, end, phrase.text, last) if start < end else None


def exact_periods(text: str, now: datetime) -> tuple[list[Span], str]:
    """Return the periods that exact time phrases may mean, and the text without these phrases.

    Periods may be in the future; a day or month without a year may also be in the next years.

    >>> now = datetime(2025, 11, 21, 15, 30, tzinfo=UTC)
    >>> periods, rest = exact_periods("I went yesterday, in three weeks again", now)
    >>> [f"{start:%m-%d}" for start, _ in periods], rest
    (['11-20'], 'I went  , in three weeks again')
    """
    periods, rest = list[Span](), text
    for phrase in dict.fromkeys(find_phrases(text)):
        if phrase.few is None and phrase.meaning in _EXACT:
            try:
                start, end = _RULES[phrase.meaning](phrase, now)
                periods += [(move(start), move(end)) for move in _shifts(phrase)]
            except (OverflowError, ValueError):  # beyond the calendar
                continue
            rest = rest.replace(phrase.text, " ")
    return periods, rest


def open_matter(episode: Memory, now: datetime) -> str:
    """Return what was still open at the end of a talk; empty once the day that it names is past."""
    matter, said = str(episode.data.get("unresolved") or ""), episode.created_at
    ends = [end for _, end in exact_periods(matter, said)[0] if end > said]
    return "" if ends and min(ends) <= now else matter


def _shifts(phrase: Phrase) -> Iterator[Callable[[datetime], datetime]]:
    """Yield functions that move a period to other periods that the same phrase may mean."""
    yearly = phrase.meaning is PhraseMeaning.DATE and phrase.year is None
    weekly = phrase.weekday is not None or phrase.meaning is PhraseMeaning.WEEKEND
    for count in (-1, 0, 1, 2) if yearly or weekly else (0,):
        yield partial(_before, count=-count, unit="year" if yearly else "week")


def _ago(phrase: Phrase, now: datetime) -> Span:
    unit = phrase.unit or ("day" if phrase.weekday is None else "week")
    count, unit = _whole(phrase.count or 0, unit)
    if unit in _MOMENTS:
        moment, length = now.astimezone(UTC), _MOMENTS[unit]
        if phrase.few:
            return moment - FEW_UNITS * length, moment
        return moment - (count + 1) * length, moment - (count - 1) * length
    begins = _begin(now, unit)
    if phrase.few:
        return _before(begins, FEW_UNITS, unit), begins
    if phrase.part == NIGHT and count == 0 and now.hour < _NIGHT_ENDS:
        count = 1
    start = _before(begins, count, unit)
    if phrase.weekday is not None:
        return _of_day(start + timedelta(days=phrase.weekday), phrase)
    if phrase.day is not None:
        return _of_day(start.replace(day=phrase.day), phrase)
    return _of_day(start, phrase) if unit == "day" else (start, _before(start, -1, unit))


def _recent(phrase: Phrase, now: datetime) -> Span:
    count, unit = _whole(FEW_UNITS if phrase.few else phrase.count or 1, phrase.unit or "day")
    if unit in _MOMENTS:
        return now.astimezone(UTC) - count * _MOMENTS[unit], now
    return _before(_begin(now, "day"), count, unit), now


def _weekday(phrase: Phrase, now: datetime) -> Span:
    """Return the latest day before today with this weekday, in both languages."""
    back = (now.weekday() - (phrase.weekday or 0) - 1) % 7 + 1
    return _of_day(_begin(now, "day") - timedelta(days=back), phrase)


def _weekend(phrase: Phrase, now: datetime) -> Span:
    """Return the latest weekend that has begun; for 这, "this" or "next", that week's weekend."""
    count = 1 if phrase.count is None else int(phrase.count)
    if count < 1:
        saturday = _before(_begin(now, "week"), count, "week") + timedelta(days=5)
    else:
        latest = _begin(now, "day") - timedelta(days=(now.weekday() - 5) % 7)
        saturday = _before(latest, count - 1, "week")
    return saturday, saturday + timedelta(days=2)


def _date(phrase: Phrase, now: datetime) -> Span:
    month, year = phrase.season or phrase.month, _year(phrase, now)
    if month is None and phrase.day is None and year is not None:
        return datetime(year, 1, 1, tzinfo=now.tzinfo), datetime(year + 1, 1, 1, tzinfo=now.tzinfo)
    if year is None:
        start = _latest(now, month, phrase.day or 1)
    else:
        start = datetime(year, month or 1, phrase.day or 1, tzinfo=now.tzinfo)
    if phrase.day is not None:
        return _of_day(start, phrase)
    return start, _before(start, -3 if phrase.season else -1, "month")


def _latest(now: datetime, month: int | None, day: int) -> datetime:
    """Return the latest day with this number that has begun, in a given month or in any month."""
    this_month = _begin(now, "month")
    for back in range(_LEAP):
        first = _before(this_month, back, "month")
        if month in (None, first.month) and day <= monthrange(first.year, first.month)[1]:
            found = first.replace(day=day)
            if found <= now:
                return found
    raise ValueError(f"no month {month} has a day {day}")


def _year(phrase: Phrase, now: datetime) -> int | None:
    if phrase.year is None or phrase.year >= _CALENDAR_YEAR:
        return phrase.year
    return now.year - phrase.year


def _whole(count: float, unit: str) -> tuple[int, str]:
    return _HALVES.get(unit, (1, unit)) if count == 0.5 else (int(count), unit)


def _begin(now: datetime, unit: str) -> datetime:
    """Return when the current day, week, month or year began."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day if unit == "day" else day.replace(day=1, month=1 if unit == "year" else day.month)


def _before(moment: datetime, count: int, unit: str) -> datetime:
    from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

    moved: datetime = moment - relativedelta(**{f"{unit}s": count})
    return moved


def _of_day(day: datetime, phrase: Phrase) -> Span:
    begins, ends = phrase.part or (0, 24)
    return day + timedelta(hours=begins), day + timedelta(hours=ends)


def _while_ago(phrase: Phrase, now: datetime) -> Span:
    today = _begin(now, "day")
    return today - A_WHILE[0], today - A_WHILE[1]


_RULES: dict[PhraseMeaning, Callable[[Phrase, datetime], Span]] = {
    PhraseMeaning.LAST_TALK: lambda phrase, now: (BEGINNING, now),
    PhraseMeaning.JUST_NOW: lambda phrase, now: (now.astimezone(UTC) - JUST_NOW, now),
    PhraseMeaning.WHILE_AGO: _while_ago,
    PhraseMeaning.AGO: _ago,
    PhraseMeaning.RECENT: _recent,
    PhraseMeaning.WEEKDAY: _weekday,
    PhraseMeaning.WEEKEND: _weekend,
    PhraseMeaning.DATE: _date,
    PhraseMeaning.NOTHING: lambda phrase, now: (now, now),
}
