"""Dates in a text, in Chinese, English and digits, each with a normalized key.

Also the days that relative words may mean: "yesterday", "the 27th", "in three weeks".
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from datetime import MAXYEAR, MINYEAR, date, datetime

from souffleur.knowledge.search.periods import exact_periods
from souffleur.knowledge.search.words import STOP_WORDS, is_spaced, split
from souffleur.knowledge.text.numbers import (
    HAN,
    LETTER,
    MEASURE,
    NOUN,
    NUMERAL,
    UNIT,
    NumeralMatch,
    extract,
    read_chinese,
)

YEAR = re.compile("(?:1[5-9]|2[01])[0-9]{2}")
_YEAR_FIGURES = rf"(?P<year>{YEAR.pattern})"
_MONTH_FIGURES = r"(?P<month>1[0-2]|0?[1-9])"
_DAY_FIGURES = r"(?P<day>3[01]|[12][0-9]|0?[1-9])"
_ONES = "一二三四五六七八九"
_CHINESE_YEAR = rf"(?P<year>{YEAR.pattern}|[一二][〇零{_ONES}]{{3}})\s?年"
_CHINESE_MONTH = rf"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[{_ONES}])\s?月(?!天)"
_CHINESE_DAY = rf"(?:3[01]|[12][0-9]|0?[1-9]|三十一?|二?十[{_ONES}]?|[{_ONES}])\s?[日号號]"
_BARE_DAY = (
    rf"(?:3[01]|[12][0-9]|0?[1-9]|三十一?|二?十[{_ONES}]?)"
    rf"(?![0-9.:%点點多几来{NUMERAL}]|\s?(?:{MEASURE}|{UNIT}))"
)
_NAMES_OF_MONTHS = """
January February March April May June July August September October November December
"""
MONTHS = _NAMES_OF_MONTHS.split()
_PERSONS = {"March", "April", "May", "June", "August"}
"""Months that are also names or words; read as months only after certain words."""
_ANY_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS) + "|Sept"
_ENGLISH_MONTH = rf"(?<![{LETTER}])(?P<month>{_ANY_MONTH})(?![{LETTER}])"
_ENGLISH_DAY = rf"{_DAY_FIGURES}(?:st|nd|rd|th)?"
_QUANTITY = (
    rf"(?:{UNIT}|%|per\s?cent\b|(?:years?|months?|weeks?|days|hours?|minutes?|seconds?"
    r"|euros?|pounds?|dollars?|kilos?|grams?|miles?|litres?|liters?|degrees?)\b)"
)
"""A unit after a number that follows a month by chance: "in October 27 nmol/L"."""
_BEFORE_TIME = re.compile(
    r"\b(?:in|since|until|till|from|by|during|last|next|early|mid|late|this|before|after|every"
    r"|through|of|around)[ -]$",
    re.IGNORECASE,
)
_TO = re.compile(r"\s?(?:至|到|[-~–—、和及跟&]|to|until|till|through|and)\s?")
_PAIR = re.compile(
    rf"(?<![0-9])([0-9]{{1,2}})[-/.]([0-9]{{1,2}})(?:[-/.]({YEAR.pattern}))?(?![0-9])"
)
_LOOSE = (
    re.compile(_CHINESE_MONTH),
    re.compile(_ENGLISH_MONTH, re.IGNORECASE),
    re.compile(rf"(?<!月)(?P<day>{_CHINESE_DAY})"),
)


def read_dates(line: str) -> tuple[list[NumeralMatch], str]:
    """Return the dates in a line, and the line without them.

    Both dates of "3月1日至5日" get the month.
    """
    found: list[NumeralMatch] = []
    rest = line
    for pattern, read in _READERS:
        some, rest = extract(pattern, rest, read)
        found += some
    found.sort(key=lambda one: one.start)
    for index in range(1, len(found)):
        former, one = found[index - 1 : index + 1]
        if _TO.fullmatch(line, former.start + len(former.text), one.start):
            found[index] = NumeralMatch(one.start, one.text, _end(one.key, former.key))
    return found, rest


def loose_dates(line: str) -> Iterator[str]:
    """Yield the keys of possible dates; the line has no certain dates left."""
    for match in _PAIR.finditer(line):
        yield from (_key(match[3] or "", *pair) for pair in _either_way(match[1], match[2]))
    for year in re.findall(r"(?<![0-9])([0-9]{2})\s?年", line):
        yield from (f"19{year}", f"20{year}")
    yield from (_exact(match) for pattern in _LOOSE for match in pattern.finditer(line))


def carried_dates(found: list[NumeralMatch]) -> Iterator[str]:
    """Yield the keys of the dates in a line, completed with the year and month of earlier dates."""
    last = ""
    for one in found:
        last = _completed(one.key, last) if last else one.key
        yield last


def _end(key: str, start: str) -> str:
    """Return the key of the end of a date range, completed with the year and month of its start.

    >>> _end("---05", "2026-03-01"), _end("--01-05", "2025-12-30")
    ('2026-03-05', '2026-01-05')
    """
    year, month, day = date_parts(_completed(key, start))
    turned = bool(year) and key.startswith("-") and (month, day) < date_parts(start)[1:]
    return _key(str(int(year) + 1) if turned else year, month, day)


def _completed(key: str, former: str) -> str:
    year, month, day = date_parts(key)
    old_year, old_month, _ = date_parts(former)
    if year or not (month or old_month):
        return key
    return _key(old_year, month or old_month, day)


def _key(year: str, month: str, day: str) -> str:
    middle = f"-{month}" if month else "-" if day else ""
    return (year or "-") + middle + (f"-{day}" if day else "")


def date_parts(key: str) -> tuple[str, str, str]:
    """Return the year, month and day of a date's key; "" for a missing part.

    >>> date_parts("2026-03-16"), date_parts("--03"), date_parts("---16")
    (('2026', '03', '16'), ('', '03', ''), ('', '', '16'))
    """
    year = "" if key.startswith("-") else key[:4]
    month, _, day = key[len(year or "-") + 1 :].partition("-")
    return year, month, day


def _exact(match: re.Match[str]) -> str:
    said = match.groupdict()
    return _key(*(_part(said.get(name) or "") for name in ("year", "month", "day")))


def _part(text: str) -> str:
    """Return the two digits of a month or day, or the four digits of a year."""
    text = text.rstrip("日号號").strip()
    if text and text[0] in NUMERAL:
        return f"{read_chinese(text) or 0:02}"
    names = [name[:3].lower() for name in MONTHS]
    value = names.index(text.lower()[:3]) + 1 if text.isalpha() else int(text or 0)
    return f"{value:02}" if value else ""


def _slashed(match: re.Match[str]) -> str:
    """Return the key of a date with slashes; only its year if day and month are ambiguous."""
    pairs = _either_way(match["first"], match["second"])
    return _key(match["year"], *(pairs.pop() if len(pairs) == 1 else ("", "")))


def _either_way(one: str, other: str) -> set[tuple[str, str]]:
    ways = ((int(one), int(other)), (int(other), int(one)))
    return {(f"{m:02}", f"{d:02}") for m, d in ways if 1 <= m <= 12 and 1 <= d <= 31}


def _in_chinese(match: re.Match[str]) -> str | None:
    before = match.string[max(0, match.start() - 2) : match.start()]
    once = match["month"] == "一" and not (match["year"] or match["day"] or match["sure"])
    if before.endswith(("农历", "阴历")) or (once and before[-1:] not in tuple("在从到去今明年至")):
        return None
    return _exact(match)


def _alone(match: re.Match[str]) -> str | None:
    """Return the key of a month or a year alone in English; `None` if this is uncertain."""
    sure = _BEFORE_TIME.search(match.string[max(0, match.start() - 10) : match.start()])
    other = match.groupdict().get("month")
    return _exact(match) if sure or (other in MONTHS and other not in _PERSONS) else None


_BY_NUMBERS = (
    rf"(?<![0-9A-Za-z.-]){_YEAR_FIGURES}[-/.]{_MONTH_FIGURES}[-/.]{_DAY_FIGURES}(?![0-9]|[-/.][0-9])",
    rf"(?<![0-9A-Za-z.-]){_YEAR_FIGURES}[-/]{_MONTH_FIGURES}(?![0-9]|[-/.][0-9])",
)
_IN_WORDS = (
    rf"(?<![{LETTER}0-9.{NUMERAL}]){_CHINESE_YEAR}(?![代级級])",
    rf"{_ENGLISH_MONTH}\.? {_ENGLISH_DAY}(?![0-9]|[:.][0-9]|\s?{_QUANTITY})"
    rf"(?:,? {_YEAR_FIGURES}(?![0-9]))?",
    rf"(?<![{LETTER}0-9.,:]){_ENGLISH_DAY}(?: of)? {_ENGLISH_MONTH}"
    rf"(?:\.?,? {_YEAR_FIGURES}(?![0-9]))?",
    rf"{_ENGLISH_MONTH}\.?,?(?: of)? {_YEAR_FIGURES}(?![0-9])",
)
_IN_PART = (
    rf"(?<=[Tt]he ){_DAY_FIGURES}(?:st|nd|rd|th)(?!\w|{NOUN})",
    r"(?<![0-9-])(?P<month>0[1-9])-(?P<day>0[1-9]|[12][0-9]|3[01])(?![0-9-])",
    rf"(?<![{LETTER}0-9.第]){_DAY_FIGURES}\s?(?:日(?![元本语系式游圆内间])"
    "|[号號](?![线楼院店门机码房桌馆厅室车公选球仓台床]))",
)
_SLASHED = rf"(?<![0-9/])(?P<first>[0-9]{{1,2}})/(?P<second>[0-9]{{1,2}})/{_YEAR_FIGURES}(?![0-9/])"
_CHINESE = (
    rf"(?<![{LETTER}0-9.几幾{NUMERAL}])(?:{_CHINESE_YEAR}\s?)?{_CHINESE_MONTH}"
    rf"(?P<sure>份)?(?:\s?(?P<day>{_CHINESE_DAY}|{_BARE_DAY}))?"
)
_YEAR_ALONE = rf"(?<![\w.,:$€£¥-]){_YEAR_FIGURES}(?![\w%-]|[.,:][0-9])"
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    *((re.compile(pattern), _exact) for pattern in _BY_NUMBERS),
    (re.compile(_SLASHED), _slashed),
    (re.compile(_CHINESE), _in_chinese),
    *((re.compile(pattern), _exact) for pattern in _IN_WORDS),
    *((re.compile(pattern), _alone) for pattern in (_ENGLISH_MONTH, _YEAR_ALONE)),
    *((re.compile(pattern), _exact) for pattern in _IN_PART),
)
"""The patterns and their readers, the most exact first; each reads the rest of the line."""


NEAR = 366
"""Maximum days between a text and a time in it that cannot be read exactly."""
FAR = 100 * NEAR
"""The same maximum for a text that counts years."""
ZONES = 1
"""Maximum days between the calendars of speaker and clock."""
ENGLISH_SHARE = 0.2
"""Minimum share of English stop words in a text whose words are read."""

Days = tuple[int, int]
"""The first and the last day of a period, by ordinal."""

_COUNTS_YEARS = re.compile(r"\b(?:years?|decades?)\b|[年歳歲岁]", re.IGNORECASE)
_TELLS_TIME = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|nights?|mornings?|evenings?|weeks?|weekends?|fortnights?"
    r"|months?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter|fall"
    r"|(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber"
    r"|christmas|xmas|easter|ago|while|later|soon|since|until|till|next|last|birthday"
    r"|(?:[0-9]+(?:st|nd|rd|th)))\b|[0-9]\s?[/.-]\s?[0-9]"
    r"|[月日号號周週天曜時时春夏秋冬晚夜朝昼晨泊]|星期|礼拜|禮拜|阵子|陣子|以前|以后|以後|节|節",
    re.IGNORECASE,
)
"""Words about time that are no exact phrase, or only a part of a phrase."""
_DAY_OF_MONTH = re.compile(r"\b[0-9]+(?:st|nd|rd|th)\b|[0-9]\s?[日号號]", re.IGNORECASE)
"""A day without its month: exact phrases read it as a past day, but it may be in the future."""


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
    """Return the periods that a text may mean, and the day when it was said.

    If the language is not read (`is_read`), all days near the text are possible.

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
    if _COUNTS_YEARS.search(rest):
        days.append((today - FAR, today + FAR))
    elif _TELLS_TIME.search(rest) or _DAY_OF_MONTH.search(text) or not is_read:
        days.append((today - NEAR, today + NEAR))
    return [(first - ZONES, last + ZONES) for first, last in days]


def is_among(days: Iterable[Days], key: str) -> bool:
    """Return whether a date (its key, see `details.Detail`) may lie in one of the periods."""
    return any(_overlaps(key, first, last) for first, last in days)


def _overlaps(key: str, start: int, end: int) -> bool:
    """Return whether a date, or a date that its key may mean, lies between two days."""
    last = date.max.toordinal()
    years = range(
        max(MINYEAR, date.fromordinal(min(max(start, 1), last)).year),
        min(MAXYEAR, date.fromordinal(min(max(end, 1), last)).year) + 1,
    )
    return any(first <= end and start <= final for first, final in _days_of(key, years))


def _days_of(key: str, years: Iterable[int]) -> Iterator[Days]:
    """Yield the days of each period that a key may mean."""
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
