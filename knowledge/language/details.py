"""The details of a text - names, numbers, dates - so that code can say what a rewriting lost.

What is found is what a reader would miss, and nothing doubtful; what counts as still said is read
generously. So a detail that is reported is gone, and some that are gone are not reported.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from souffleur.knowledge.language.dates import (
    YEAR,
    carried_dates,
    date_parts,
    loose_dates,
    read_dates,
)
from souffleur.knowledge.language.numerals import (
    GONE,
    LETTER,
    NumeralMatch,
    find_numbers,
    number_keys,
    same_time,
    take,
)
from souffleur.knowledge.language.proper_names import HAN, read_capitalised
from souffleur.knowledge.language.text_match import normalize_text


class DetailKind(StrEnum):
    """What a detail is."""

    NAME = "name"
    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True)
class Detail:
    """A name, number or date in a text."""

    kind: DetailKind
    text: str
    """As it stands in the text, in one width (NFKC): "3月16日", "小雨", "1,200元"."""
    key: str
    """Equal for details that say the same.

    A date is "2026-03-16", "2026-03" or "2026", without a year "--03-16", "--03" or "---16" (W3C
    XML Schema, part 2, 3.3.9-14); a number "1200", "50%" or "8:30"; a name is folded.
    """


@dataclass(frozen=True)
class _Said:
    """All that a text may be taken to say."""

    text: str
    keys: dict[DetailKind, set[str]]


def find_details(text: str, names: Iterable[str] = ()) -> list[Detail]:
    """The details of a text in its order, each once; `names` are known ones to look for.

    >>> [detail.key for detail in find_details("小雨3月16日养了两只猫，叫年糕", ["年糕", "小雨"])]
    ['小雨', '--03-16', '2', '年糕']
    >>> [detail.text for detail in find_details("In May 2025 he left Halden with 2 cats.")]
    ['May 2025', 'Halden', '2 cats']
    """
    known = _spellings(names)
    found: dict[tuple[DetailKind, str], Detail] = {}
    for line in _lines(text):
        in_line = ((reading.start, kind, reading) for kind, reading in _read(line, known))
        for _, kind, reading in sorted(in_line, key=lambda one: one[0]):
            found.setdefault((kind, reading.key), Detail(kind, reading.text, reading.key))
    return list(found.values())


def missing(old: str, new: str, names: Iterable[str] = ()) -> list[Detail]:
    """The details of `old` that `new` does not hold; the other way round, what `new` invented.

    A date is held by a more exact one; the year or month of one may stand before it in its line.

    >>> [detail.text for detail in missing("三只猫，2 只狗，生日3月16日", "2只狗，2026-03-16 生")]
    ['三只']
    """
    names = tuple(names)
    said = _said(new, names)
    return [detail for detail in find_details(old, names) if not _holds(said, detail)]


def _said(text: str, names: tuple[str, ...]) -> _Said:
    details = find_details(text, names)
    said = {kind: {one.key for one in details if one.kind is kind} for kind in DetailKind}
    lines = _lines(text)
    for line in lines:
        dates, rest = read_dates(line)
        days = {str(int(one.key[3:])) for one in dates if one.key.startswith("---")}
        said[DetailKind.NUMBER] |= number_keys(rest) | days
        said[DetailKind.DATE] |= {*carried_dates(dates), *loose_dates(rest)}
    return _Said("\n".join(lines), said)


def _holds(said: _Said, detail: Detail) -> bool:
    if detail.key in said.keys[detail.kind]:
        return True
    if detail.kind is DetailKind.NAME:
        return bool(_spellings([detail.text]).search(said.text))
    if same_time(detail.key) & said.keys[DetailKind.NUMBER]:
        return True
    sought = date_parts(detail.key)
    return (detail.kind is DetailKind.DATE or bool(YEAR.fullmatch(detail.key))) and any(
        all(part in ("", exact) for part, exact in zip(sought, date_parts(date), strict=True))
        for date in said.keys[DetailKind.DATE]
    )


def _lines(text: str) -> list[str]:
    """Each is read by itself, in one width; a wide comma never stands in a number."""
    parts = text.replace("’", "'").split("，")
    return "，".join(unicodedata.normalize("NFKC", part) for part in parts).splitlines()


def _read(line: str, known: re.Pattern[str]) -> Iterator[tuple[DetailKind, NumeralMatch]]:
    titles, rest = take(_TITLE, line, lambda match: normalize_text(match[0]))
    named, rest = take(known, rest, lambda match: normalize_text(match[0]))
    quotes, _ = take(_QUOTE, line, lambda match: normalize_text(match[0]))
    dates, rest = read_dates(rest)
    numbers, rest = find_numbers(rest)
    capitalised = read_capitalised(rest)
    yield from ((DetailKind.NAME, one) for one in (*titles, *named, *quotes, *capitalised))
    yield from ((DetailKind.DATE, one) for one in dates)
    yield from ((DetailKind.NUMBER, one) for one in numbers)


_TITLE = re.compile("《[^《》]{1,60}》")
_SPOKEN = "，。、！？；：,.!?;:“”「」『』"
_QUOTE = re.compile(rf"“[^{_SPOKEN}]{{2,20}}”|「[^{_SPOKEN}]{{2,20}}」|『[^{_SPOKEN}]{{2,20}}』")
"""A name or a phrase; what holds a stop or a comma is speech."""
_PIECE = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+|[+#&@%]")


def _spellings(names: Iterable[str]) -> re.Pattern[str]:
    """Where one of the names stands, the longest first, however it is spaced and punctuated."""
    shown = {unicodedata.normalize("NFKC", name) for name in names}
    fitting = [name for name in shown if len(normalize_text(name)) > 1 or _TITLE.fullmatch(name)]
    spelt = [_spelling(name) for name in sorted(fitting, key=lambda name: (-len(name), name))]
    return re.compile("|".join(filter(None, spelt)) or "(?!)", re.IGNORECASE)


def _spelling(name: str) -> str:
    """A pattern for a name that has a letter, not inside a longer Latin word or number."""
    if not any(char.isalpha() for char in name) and not _TITLE.fullmatch(name):
        return ""
    gap = rf"(?:[^\w{GONE}]|_)"
    spelt = ""
    for piece in _PIECE.findall(name):
        apart = spelt[-1:].isdigit() and piece[0].isdigit()  # 1.16 is not 116
        spelt += (f"{gap}{{{int(apart)},4}}" if spelt else "") + re.escape(piece)
    return rf"(?<![{LETTER}0-9](?=[{LETTER}0-9])){spelt}(?![+#]|(?<=[{LETTER}0-9])[{LETTER}0-9])"
