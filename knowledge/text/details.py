"""The details of a text (names, numbers, dates), to find details that a new version has lost.

Only certain details are looked for, and the new text is read generously. So every reported detail
is really missing, but not every missing detail is reported.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from souffleur.knowledge.search.words import STOP_WORDS
from souffleur.knowledge.text.dates import (
    MONTHS,
    YEAR,
    carried_dates,
    date_parts,
    loose_dates,
    read_dates,
)
from souffleur.knowledge.text.match import normalize_text
from souffleur.knowledge.text.numbers import (
    GONE,
    HAN,
    LETTER,
    NUMERAL,
    NumeralMatch,
    extract,
    find_numbers,
    number_keys,
    same_time,
)

_UPPER = "A-ZÀ-ÖØ-Þ"
_WORD = (
    rf"(?<![{LETTER}0-9_'])(?:[{_UPPER}]|[a-z]+(?=[A-Z]))[{LETTER}0-9]*"
    rf"(?:(?:[-_]|\.(?=[a-z0-9])|'(?=[{_UPPER}]))[{LETTER}0-9]+)*[+#]*"
)
_RUN = re.compile(rf"{_WORD}(?:(?: | of | de | van | von | del | da | & ){_WORD})*")
_ANY_WORD = re.compile(rf"[{LETTER}]+")
_PART = re.compile(r"\S+")
_COMMON = """
& de van von del da let ok okay hi hello bye yes app tv t-shirt am pm mr mrs ms dr sir god ta
today tonight tomorrow yesterday
"""
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
"""
_ROLES_AND_TESTS = """
gp er icu ivf mri ct ecg ekg nhs dna hiv ceo cto cfo hr phd msc bsc mba ba ma doctor professor prof
"""
_UNITS = "mu iu ml dl ng mg kg km mmhg mmol nmol kcal kwh kw mhz ghz kb mb gb tb"
_NOT_NAMES = STOP_WORDS.union(
    *(words.split() for words in (_COMMON, _WEEKDAYS, _ROLES_AND_TESTS, _UNITS)),
    (f"{day}s" for day in _WEEKDAYS.split()),
    (month.lower() for month in MONTHS),
)
"""Words that neither begin nor end a name."""
_RELATIVES_WORDS = """
mom mum mommy mummy mama mam dad daddy papa mother father grandma grandpa grandmother grandfather
gran granny nan nana grandad granddad aunt auntie uncle brother sister cousin
"""
_RELATIVES = frozenset(_RELATIVES_WORDS.split())
"""Words before the name of a relative: a user who says "my aunt, Rose" means Aunt Rose."""
_PEOPLES = """
english chinese japanese korean french german spanish italian russian indian thai american british
european asian african scottish irish welsh dutch portuguese polish turkish greek swedish danish
norwegian finnish austrian swiss belgian czech hungarian romanian ukrainian canadian mexican
brazilian australian vietnamese indonesian pakistani nigerian egyptian
"""
_NOT_ALONE = frozenset(_PEOPLES.split()) | _RELATIVES
_NOT_FIRST = _NOT_NAMES | _RELATIVES
_GERMAN_WORDS = """
der das dem den des ein eine einen einem einer und oder aber auch nicht kein keine ist wird wurde
hat habe ich du er sie es wir mit von vom zum zur bei beim für auf aus nach noch seit über im am bis
sich mein meine sein seine ihr ihre wie dass als erst jetzt muss haben sind schon immer
"""
_GERMAN = frozenset(_GERMAN_WORDS.split())
"""Words of which a German line has many; in German, each noun is capitalised."""
_GERMAN_SHARE = 0.15
_LABEL = re.compile(r"\W{0,3}:")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs)\.$")


def read_capitalised(line: str) -> list[NumeralMatch]:
    """Return capitalised names: in Chinese text all, in English only those inside a sentence.

    In German, where every noun is capitalised, only words beside another capitalised word or a
    digit.

    >>> [one.text for one in read_capitalised("We met Birte at Leipzig station.")]
    ['Birte', 'Leipzig']
    >>> [one.text for one in read_capitalised("Wir haben für den Umzug einen VW T5 geliehen.")]
    ['VW T5']
    """
    words = _ANY_WORD.findall(line)
    chinese = len(re.findall(f"[{HAN}]", line)) >= len(words)
    if not chinese and _is_heading(line, words):
        return []
    german = _is_german(words)
    found = []
    for run in _RUN.finditer(line):
        parts = list(_PART.finditer(line, run.start(), run.end()))
        if german:
            parts = [part for part in parts if _is_marked(part[0])]
        english = not chinese or re.match(" [a-z]+ ", line[run.end() : run.end() + 20])
        if english and parts and _begins(line, run.start()):
            label = _LABEL.match(line, run.end())
            parts = [] if label else parts if _is_marked(parts[0][0]) else parts[1:]
        while parts and parts[0][0].lower() in _NOT_FIRST:
            parts.pop(0)
        while parts and parts[-1][0].lower() in _NOT_NAMES:
            parts.pop()
        name = line[parts[0].start() : parts[-1].end()] if parts else ""
        if len(name) > 1 and name.lower() not in _NOT_ALONE:
            found.append(NumeralMatch(parts[0].start(), name, normalize_text(name)))
    return found


def _is_marked(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word[1:])


def _is_german(words: list[str]) -> bool:
    german = [word.lower() for word in words if word.lower() in _GERMAN]
    return len(set(german)) > 1 and len(german) >= _GERMAN_SHARE * len(words)


def _is_heading(line: str, words: list[str]) -> bool:
    """Return whether a line is a heading: in capitals, or with all its words capitalised."""
    if line.lstrip().startswith("#") or line == line.upper():
        return True
    short = len(words) <= 6 and not line.rstrip().endswith((".", "!", "?"))
    return short and all(word[0].isupper() or word in _NOT_NAMES for word in words)


def _begins(line: str, at: int) -> bool:
    """Return whether a sentence, list item or speech begins at `at`; its capital says nothing."""
    before = line[max(0, at - 40) : at].rstrip(" \t*_")
    if before.endswith(tuple("\"“'‘「『")) or not before.strip("-*•#>.)( \t0123456789"):
        return True
    end = before.rstrip("\"')]”")
    return end.endswith(tuple(".!?…;:。！？；：")) and not _ABBREVIATION.search(end)


class DetailKind(StrEnum):
    """The kind of a detail."""

    NAME = "name"
    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True)
class Detail:
    """A name, number or date in a text."""

    kind: DetailKind
    text: str
    """The detail as written in the text, in one width (NFKC): "3月16日", "小雨", "1,200元"."""
    key: str
    """The normalized detail; equal for details that say the same.

    A date is "2026-03-16", "2026-03" or "2026", without a year "--03-16", "--03" or "---16" (W3C
    XML Schema, part 2, 3.3.9-14); a number "1200", "50%" or "8:30"; a name its `normalize_text`.
    """


@dataclass(frozen=True)
class _Said:
    """All details that a text may contain, if it is read generously."""

    text: str
    """The text, and the text without the words in brackets: Tobias (Tobi) Lindqvist."""
    keys: dict[DetailKind, set[str]]
    common: frozenset[str]
    """The lower-case words of the text."""
    numbers_in_months: set[tuple[str, str]]
    """The pairs of a month and a number in the same sentence, such as ("10", "27")."""


def find_details(text: str, names: Iterable[str] = ()) -> list[Detail]:
    """Return the details of a text in order, each once; `names` are known names to look for.

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
    """Return the details of `old` that are missing in `new`.

    With swapped arguments, it returns the details that `new` has invented. A date may be replaced
    by a more exact date; its year or month may come earlier in the same line.

    >>> [detail.text for detail in missing("三只猫，2 只狗，生日3月16日", "2只狗，2026-03-16 生")]
    ['三只']
    """
    names = tuple(names)
    return Material(new, names).lacks(old, names)


class Material:
    """A text that other texts are compared with; it is read once."""

    def __init__(self, text: str, names: Iterable[str] = ()) -> None:
        self._said = _said(text, tuple(names))

    def lacks(self, text: str, names: Iterable[str] = ()) -> list[Detail]:
        """Return the details of a text that this material lacks."""
        return [detail for detail in find_details(text, names) if not _holds(self._said, detail)]


def _said(text: str, names: tuple[str, ...]) -> _Said:
    details = find_details(text, names)
    said = {kind: {one.key for one in details if one.kind is kind} for kind in DetailKind}
    lines = _lines(text)
    for line in lines:
        dates, rest = read_dates(line)
        days = {str(int(one.key[3:])) for one in dates if one.key.startswith("---")}
        said[DetailKind.NUMBER] |= number_keys(rest) | days
        said[DetailKind.DATE] |= {*carried_dates(dates), *loose_dates(rest)}
    both = {pair for line in lines for pair in _numbers_in_months(line)}
    bare = [_ASIDE.sub("", line) for line in lines]
    return _Said("\n".join((*lines, *bare)), said, frozenset(_LOWER.findall(text)), both)


def _numbers_in_months(line: str) -> Iterator[tuple[str, str]]:
    for sentence in _SENTENCE_END.split(line):
        dates, rest = read_dates(sentence)
        months = {month for one in dates if (month := date_parts(one.key)[1])}
        if months:
            yield from product(months, number_keys(rest))


def _holds(said: _Said, detail: Detail) -> bool:
    if detail.key in said.keys[detail.kind]:
        return True
    if detail.kind is DetailKind.NAME:
        whole, *parts = (detail.text, *_JOINED.split(detail.text))
        return _names(said, whole) or all(_names(said, part) for part in _proper(said, parts))
    if same_time(detail.key) & said.keys[DetailKind.NUMBER]:
        return True
    sought = date_parts(detail.key)
    _, month, day = sought
    if _MONTH_AND_NUMBER.fullmatch(detail.text) and (
        (month, day.lstrip("0")) in said.numbers_in_months
    ):
        return True
    return (detail.kind is DetailKind.DATE or bool(YEAR.fullmatch(detail.key))) and any(
        all(part in ("", exact) for part, exact in zip(sought, date_parts(date), strict=True))
        for date in said.keys[DetailKind.DATE]
    )


def _proper(said: _Said, parts: Iterable[str]) -> Iterator[str]:
    """Yield parts of a name without common words at their ends: Dales of "Dales Atlas"."""
    for part in parts:
        words = part.split()
        while words and words[0].lower() in said.common:
            words.pop(0)
        while words and words[-1].lower() in said.common:
            words.pop()
        if words:
            yield " ".join(words)


def _names(said: _Said, name: str) -> bool:
    return bool(_spellings([name]).search(said.text))


def _lines(text: str) -> list[str]:
    """Return the lines of a text in one width; wide commas stay, as they never group digits."""
    parts = text.replace("’", "'").split("，")
    return "，".join(unicodedata.normalize("NFKC", part) for part in parts).splitlines()


def _read(line: str, known: re.Pattern[str]) -> Iterator[tuple[DetailKind, NumeralMatch]]:
    titles, rest = extract(_TITLE, line, lambda match: normalize_text(match[0]))
    named, rest = extract(known, rest, lambda match: normalize_text(match[0]))
    quotes, _ = extract(_QUOTE, line, lambda match: normalize_text(match[0]))
    dates, rest = read_dates(rest)
    numbers, rest = find_numbers(rest)
    capitalised = read_capitalised(rest)
    yield from ((DetailKind.NAME, one) for one in (*titles, *named, *quotes, *capitalised))
    yield from ((DetailKind.DATE, one) for one in dates)
    yield from ((DetailKind.NUMBER, one) for one in numbers)


_TITLE = re.compile("《[^《》]{1,60}》")
_SENTENCE_END = re.compile(r"(?<=[.;!?])\s+|(?<=[。；！？])")
_MONTH_AND_NUMBER = re.compile(
    rf"[A-Za-z]+\.? [0-9]{{1,2}}|[0-9]{{1,2}}\s?月\s?[0-9]{{1,2}}|[{NUMERAL}]+月[{NUMERAL}]+"
)
"""A possible date without further signs: "October 27" may be a value of 27 in October."""
_LOWER = re.compile(r"\b[a-z]{2,}\b")
_ASIDE = re.compile(r"\s?(?:\([^()]{1,40}\)|“[^“”]{1,20}”|\"[^\"]{1,20}\")")
_JOINED = re.compile(r" (?:of|&) ")
_SPOKEN = "，。、！？；：,.!?;:“”「」『』"
_QUOTE = re.compile(rf"“[^{_SPOKEN}]{{2,20}}”|「[^{_SPOKEN}]{{2,20}}」|『[^{_SPOKEN}]{{2,20}}』")
"""A quoted name or phrase; a quotation with a full stop or a comma is speech."""
_PIECE = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+|[+#&@%]")


def _spellings(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for all names, the longest first, with any spacing and punctuation."""
    shown = {unicodedata.normalize("NFKC", name) for name in names}
    fitting = [name for name in shown if len(normalize_text(name)) > 1 or _TITLE.fullmatch(name)]
    spelt = [_spelling(name) for name in sorted(fitting, key=lambda name: (-len(name), name))]
    return re.compile("|".join(filter(None, spelt)) or "(?!)", re.IGNORECASE)


def _spelling(name: str) -> str:
    """Return a pattern for a name, not inside a longer Latin word; "" if it has no letters."""
    if not any(char.isalpha() for char in name) and not _TITLE.fullmatch(name):
        return ""
    gap = rf"(?:[^\w{GONE}]|_)"
    spelt = ""
    for piece in _PIECE.findall(name):
        apart = spelt[-1:].isdigit() and piece[0].isdigit()  # 1.16 is not 116
        spelt += (f"{gap}{{{int(apart)},4}}" if spelt else "") + re.escape(piece)
    return rf"(?<![{LETTER}0-9](?=[{LETTER}0-9])){spelt}(?![+#]|(?<=[{LETTER}0-9])[{LETTER}0-9])"
