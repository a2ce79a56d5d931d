"""Dates that may be meant by what was said at a time: "yesterday", "the 27th", "in three weeks".

Exact phrases are worked out. What cannot be read for certain may mean any date near by.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from datetime import MAXYEAR, MINYEAR, date, datetime

from souffleur.knowledge.search.periods import exact_periods
from souffleur.knowledge.search.words import STOP_WORDS, is_spaced, split
from souffleur.knowledge.text.dates import date_parts
from souffleur.knowledge.text.details import HAN

NEAR = 366
"""Days around a text within which a time that is not read for certain may lie."""
FAR = 100 * NEAR
"""The same where it counts years."""
ZONES = 1
"""Days by which the calendars of speaker and clock may differ."""
ENGLISH_SHARE = 0.2
"""Minimum share of English stop words in a text whose words are read."""

Days = tuple[int, int]
"""The first and the last of some days, by ordinal."""

_YEARS = re.compile(r"\b(?:years?|decades?)\b|[年歳歲岁]", re.IGNORECASE)
_TIME = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|nights?|mornings?|evenings?|weeks?|weekends?|fortnights?"
    r"|months?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter|fall"
    r"|(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber"
    r"|christmas|xmas|easter|ago|while|later|soon|since|until|till|next|last|birthday"
    r"|(?:[0-9]+(?:st|nd|rd|th)))\b|[0-9]\s?[/.-]\s?[0-9]"
    r"|[月日号號周週天曜時时春夏秋冬晚夜朝昼晨泊]|星期|礼拜|禮拜|阵子|陣子|以前|以后|以後|节|節",
    re.IGNORECASE,
)
"""Words that tell a time but are no exact phrase, or only a part of one."""
_DAY_OF_MONTH = re.compile(r"\b[0-9]+(?:st|nd|rd|th)\b|[0-9]\s?[日号號]", re.IGNORECASE)
"""A day without its month: exact phrases take it for one of the past, but it may lie ahead."""


def is_read(text: str) -> bool:
    """Return whether the numerals and times of a text's language are read.

    >>> [is_read(text) for text in ("I bought a bike", "我买了车", "Ich habe zwei Katzen", "👍")]
    [True, True, False, False]
    """
    if re.search(f"[{HAN}]", text):
        return True
    words = [word for run in split(text) for word in run if is_spaced(word)]
    english = sum(word in STOP_WORDS for word in words)
    return bool(words) and english >= ENGLISH_SHARE * len(words)


def days_meant(text: str, at: datetime, *, is_read: bool = True) -> list[Days]:
    """Return the days that what was said at a time may mean, and the day when it was said.

    In a language that is not read, all days near by are possible.

    >>> at = datetime.fromisoformat("2026-03-06T18:00:00+00:00")
    >>> days = days_meant("I bought it yesterday", at)
    >>> [is_among(days, key) for key in ("2026-03-05", "2026-03", "2026-03-20", "2019")]
    [True, True, False, False]
    >>> is_among(days_meant("exam on the 20th", at), "2026-03-20")
    True
    >>> [is_among(days_meant("It ends in three weeks", at), key) for key in ("2026-03-27", "2019")]
    [True, False]
    """
    periods, rest = exact_periods(text, at)
    today = at.toordinal()
    days = [(start.toordinal(), end.toordinal()) for start, end in (*periods, (at, at))]
    if _YEARS.search(rest):
        days.append((today - FAR, today + FAR))
    elif _TIME.search(rest) or _DAY_OF_MONTH.search(text) or not is_read:
        days.append((today - NEAR, today + NEAR))
    return [(first - ZONES, last + ZONES) for first, last in days]


def is_among(days: Iterable[Days], key: str) -> bool:
    """Return whether one of the days, by ordinal, is of a date, given as in `details.Detail`."""
    return any(_overlaps(key, first, last) for first, last in days)


def _overlaps(key: str, start: int, end: int) -> bool:
    """Return whether a date, or one of those that its key may stand for, lies between two days."""
    last = date.max.toordinal()
    years = range(
        max(MINYEAR, date.fromordinal(min(max(start, 1), last)).year),
        min(MAXYEAR, date.fromordinal(min(max(end, 1), last)).year) + 1,
    )
    return any(first <= end and start <= final for first, final in _days(key, years))


def _days(key: str, years: Iterable[int]) -> Iterator[Days]:
    """Yield the days of each period that a key may stand for."""
    year, month, day = date_parts(key)
    for number in [int(year)] if year else years:
        if not month and not day:
            yield date(number, 1, 1).toordinal(), date(number, 12, 31).toordinal()
            continue
        for of_year in [int(month)] if month else range(1, 13):
            length = monthrange(number, of_year)[1]
            if int(day or 1) <= length:
                first = date(number, of_year, int(day or 1)).toordinal()
                yield first, first if day else first + length - 1
