"""Numbers that follow from a text: "four friends" if it names four people; an age by a birthday.

A count is a small whole number of things; sums and quantities are no counts.
"""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from souffleur.knowledge.search.words import STOP_WORDS, stem
from souffleur.knowledge.text.dates import date_parts, read_dates
from souffleur.knowledge.text.details import Detail, DetailKind, find_details, missing
from souffleur.knowledge.text.numbers import HAN, LETTER, find_numbers

COUNTABLE = range(2, 13)
_UNITS = """
year month week day hour minute second night decade percent pound euro dollar cent yuan yen quid
kilo kilogram gram mile metre meter foot inch degree litre liter cup glass pint unit point page mg
time floor storey old
"""
_MEASURED = frozenset(map(stem, _UNITS.split()))
"""Nouns after a measured number, which is no count."""
_TOGETHER = """
people person friend name date appointment place city town thing topic matter plan event option
member other
"""
_COLLECTIVE = frozenset(map(stem, _TOGETHER.split()))
"""Nouns that sum up things with other names in the text."""
_CLASSIFIERS = "个個位名人件只隻条條匹本部首篇张張家处處项項种種様"
_COLLECTIVE_HAN = ("人", "朋友", "友達", "名字", "日期", "日子", "约", "事", "地方", "城市", "选择")
_YEARS = re.compile(r".*?(?:[0-9]|[ -]years?|岁|歲|歳|年)", re.IGNORECASE)
"""A number that may be an age or a time in years: "33", "six years", "三十岁"."""
_MONTHS = re.compile(r".*[ -]months?|.*个?月", re.IGNORECASE)
_WEEKS = re.compile(r".*[ -]weeks?|.*(?:周|週|星期|礼拜)", re.IGNORECASE)
_AFTER = re.compile(rf"(?: ?[{LETTER}'-]+){{1,3}}")
_WORDS = re.compile(rf"[{LETTER}]+")
_HAN_NOUN = re.compile(rf"的?([{HAN}]{{1,2}})")
_WEEKDAY = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|週|星期|礼拜)[一二三四五六日天]|[月火水木金土日]曜",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(rf"(?:^|[.!?:;]\s+|[\"“])([{LETTER}]{{2,}})(?!\s?:)", re.MULTILINE)
_ITEM = rf"(?:[{LETTER}0-9'’.-]+(?: [{LETTER}0-9'’.-]+){{0,3}})"
_LISTS = (
    re.compile(rf"{_ITEM}(?:, {_ITEM})+(?:,? (?:and|or|&) {_ITEM})?|{_ITEM} (?:and|&) {_ITEM}"),
    re.compile(
        rf"[{HAN}{LETTER}]{{1,12}}(?:、[{HAN}{LETTER}]{{1,12}})+"
        rf"|[{HAN}{LETTER}]{{1,12}}[和跟与與][{HAN}{LETTER}]{{1,12}}"
    ),
)
_BETWEEN = re.compile(r",? (?:and|or|&) |, |、|[和跟与與]|以及|还有")


@dataclass(frozen=True)
class _Count:
    value: str
    nouns: frozenset[str]
    """Stems of the nouns that are counted, or the characters after a classifier."""


def unfounded(
    text: str, material: str, names: Iterable[str] = (), *, on: date | None = None
) -> list[Detail]:
    """Return names and numbers of a text that its material does not support.

    Dates may follow from the material; so may ages, if the day of the text is given (`on`).

    >>> [one.text for one in unfounded("Ann, 34, saw both cats with Zoe.", "Ann, 33, has 2 cats")]
    ['34', 'Zoe']
    """
    names = tuple(names)
    return [
        one
        for one in missing(text, material, names)
        if one.kind is not DetailKind.DATE and not follows(one, text, material, names, on=on)
    ]


def follows(
    count: Detail,
    text: str,
    material: str,
    names: Iterable[str] = (),
    *,
    on: date | None = None,
) -> bool:
    """Return whether a number of a text is a count or an age that may follow from its material.

    A count follows if the material names at least as many of these things, or if the text lists
    that many in words of the material. It does not follow if the material gives another number of
    the same things. A number of years, months or weeks follows if the material has a date that lies
    so far before `on`.

    >>> (four,) = find_details("She has four friends.")
    >>> follows(four, "She has four friends.", "Bea and Cem came, then Dora with Emil called.")
    True
    >>> follows(four, "She has four friends.", "Five friends came: Bea, Cem, Dora, Emil and Fay.")
    False
    """
    if count.kind is not DetailKind.NUMBER or not count.key.isdecimal():
        return False
    value = int(count.key)
    if on and value in _ages(material, on, count.text):
        return True
    same = [one for one in _counts(text) if one.value == count.key]
    if value not in COUNTABLE or not same:
        return False
    nouns = frozenset[str]().union(*(one.nouns for one in same))
    others = [one for one in _counts(material) if one.value != count.key]
    if any(one.nouns & nouns for one in others):
        return False
    if any(len(items) == value and _all_in(items, material) for items in _lists(text)):
        return True
    return _says(nouns, material) and value <= _things(material, names)


def _ages(material: str, on: date, number: str) -> Iterator[int]:
    """Yield how many years, months or weeks have passed since the dates of a text."""
    dates = [one.key for one in find_details(material) if one.kind is DetailKind.DATE]
    for year, month, day in map(date_parts, dates):
        if year and _YEARS.fullmatch(number):
            yield from (on.year - int(year), on.year - int(year) - 1)
        if year and month and _MONTHS.fullmatch(number):
            months = (on.year - int(year)) * 12 + on.month - int(month)
            yield from (months, months - 1)
        if year and day and _WEEKS.fullmatch(number):
            weeks = (on - _day(year, month, day)).days // 7
            yield from (weeks, weeks + 1)


def _day(year: str, month: str, day: str) -> date:
    """Return a day; in a shorter month, its last day."""
    last = monthrange(int(year), int(month))[1]
    return date(int(year), int(month), min(int(day), last))


def _counts(text: str) -> Iterator[_Count]:
    """Yield the counts of things in a text, without measures."""
    for line in text.splitlines():
        numbers, _ = find_numbers(read_dates(line)[1])
        for one in numbers:
            nouns = _nouns(one.text, line[one.start + len(one.text) :])
            if nouns and not nouns & _MEASURED:
                yield _Count(one.key, nouns)


def _nouns(number: str, rest: str) -> frozenset[str]:
    if number[-1] in _CLASSIFIERS:
        person = {"人"} if number[-1] in "人位名" else set()
        found = _HAN_NOUN.match(rest)
        return frozenset(person | ({found[1]} if found else set()))
    words = []
    after = _AFTER.match(rest)
    for word in _WORDS.findall(number.lower())[-1:] + _WORDS.findall(
        after[0].lower() if after else ""
    ):
        if word in STOP_WORDS:
            break
        words.append(stem(word))
    return frozenset(words)


def _says(nouns: frozenset[str], material: str) -> bool:
    """Return whether the material has these nouns, or a noun only sums things up."""
    if nouns & _COLLECTIVE or any(noun.startswith(_COLLECTIVE_HAN) for noun in nouns):
        return True
    stems = {stem(word) for word in _WORDS.findall(material.lower())}
    return any(noun in stems if noun.isascii() else noun in material for noun in nouns)


def _things(material: str, names: Iterable[str]) -> int:
    """Return how many things a text names: proper names, days, or items of the same list."""
    details = find_details(material, names)
    named = {one.key for one in details if one.kind is DetailKind.NAME} | _first_words(material)
    dates = [one for one in details if one.kind is DetailKind.DATE]
    weekdays = {match[0].lower().rstrip("s") for match in _WEEKDAY.finditer(material)}
    return max(len(named), len(dates), len(weekdays), *map(len, _lists(material)))


def _first_words(text: str) -> set[str]:
    """Return first words of sentences that may be names: no stop words, always capitalised."""
    words = set(_WORDS.findall(text))
    firsts = {match[1] for match in _FIRST_WORD.finditer(text)}
    return {
        word.lower()
        for word in firsts
        if word[0].isupper() and word.lower() not in STOP_WORDS | words
    }


def _lists(text: str) -> Iterator[list[str]]:
    for pattern in _LISTS:
        for match in pattern.finditer(text):
            yield _BETWEEN.split(match[0])


def _all_in(items: list[str], material: str) -> bool:
    known = material.lower()
    return all(item.strip(" .'’-").lower() in known for item in items)
