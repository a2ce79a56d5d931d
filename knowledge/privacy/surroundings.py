"""Surroundings of a value: the words of its sentence that say whether it is a secret.

People name a secret before or after its value, and often far from it: "7350 is, by the way, the PIN
of my card". So the form finds the value, and the words around it decide.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from souffleur.knowledge.privacy.long_texts import SURROUNDINGS, Effort
from souffleur.knowledge.privacy.vocabulary import alternatives, words

HIDDEN = "\0"
"""Placeholder for each character of data that is already masked; no pattern matches it."""
VALUE = r"\n"
"""The mark for the value between the words before and after it, for a pattern of both."""

MEASURE = (
    r"[0-9]{1,4}+(?:[-~][0-9]{1,4}+)?+[ -]?+(?:%|[位个個字桁年月日号號次回天秒种種人元円倍岁歳]"
    r"|分[钟間]|小?[时時]|文字|通り|자리?|번|년|개|월|일|회|(?:st|nd|rd|th|am|pm)(?![a-z0-9])"
    r"|(?:bit|byte|char|character|digit|letter|word|symbol|time|attempt|day|week|month|year|hour"
    r"|minute|min|second|sec|user|account|people|percent)s?(?![a-z0-9]))"
)
"""A length, a date or a count: "8 characters", "2024年"."""

_LETTER = re.compile(r"[^\W\d_]")
_LINE_END = re.compile(rf"[\n{HIDDEN}]")
_CLAUSE_END = re.compile(rf"[\n{HIDDEN}。]|[.!?…]+(?=\s|$|[^\x00-\x7f])|[0-9]{{3}}")
"""The end of a sentence, or another number: later words may belong to that number."""


class SearchedText:
    """A text in plain ASCII characters, with cached matches of searches."""

    def __init__(self, plain: str, effort: Effort) -> None:
        self.plain = plain
        self.effort = effort
        self.lowered = plain.lower()
        self._has: dict[tuple[str, str], bool] = {}
        self._first: dict[int, re.Match[str] | None] = {}
        self._matches: dict[int, tuple[re.Match[str], ...]] = {}

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first match of a pattern; several rules share a pattern."""
        key = id(pattern)  # hashing a pattern reads all of it
        if key not in self._first:
            self.effort.spend(len(self.plain))
            self._first[key] = pattern.search(self.plain)
        return self._first[key]

    def matches(self, pattern: re.Pattern[str]) -> tuple[re.Match[str], ...]:
        """Return all matches of a pattern, in order."""
        key = id(pattern)
        if key not in self._matches:
            first = self.first(pattern)
            start = len(self.plain) if first is None else first.start()
            self.effort.spend(len(self.plain) - start)
            self._matches[key] = tuple(pattern.finditer(self.plain, start))
        return self._matches[key]

    def has(self, words: str, around: str) -> bool:
        """Return whether the pattern is in `around`; cached, as tables repeat the same words."""
        asked = words, around
        if asked not in self._has:
            self.effort.spend(len(around))
            self._has[asked] = _compiled(words).search(around) is not None
        return self._has[asked]


@dataclass(frozen=True)
class Surroundings:
    """The words in lower case that must stand around a value."""

    words: str
    """The pattern of the words that name the value; in it, `VALUE` stands for the value."""
    before: int = 60
    """Number of characters that are read before the value."""
    after: int = 50
    """Number of characters that are read after the value."""
    weak: bool = False
    """True for plain digits: skips counts and prices; the words must be in the same sentence,
    without another number between."""
    across: bool = False
    """Whether the words of a weak value may also be in a neighbouring sentence."""
    unless: str | None = None
    """The pattern of words that name something else, such as an order; they rule the value out."""

    def may_hold(self, text: SearchedText) -> bool:
        """Return whether the text has the words anywhere; without them, it has no such value."""
        return VALUE in self.words or text.has(self.words, text.lowered)

    def hold(self, text: SearchedText, start: int, end: int) -> bool:
        """Return whether the words around the value between these places of the text name it."""
        text.effort.spend(SURROUNDINGS)
        before, after = self._around(text.plain, start, end)
        if not (_LETTER.search(before) or _LETTER.search(after)):
            return False
        if self.weak and is_mere_number(before, text.plain[start:end], after):
            return False
        around = f"{before}\n{after}"
        if self.unless is not None and text.has(self.unless, around):
            return False
        return text.has(self.words, around)

    def _around(self, plain: str, start: int, end: int) -> tuple[str, str]:
        ends = _CLAUSE_END if self.weak and not self.across else _LINE_END
        before = ends.split(plain[max(0, start - self.before) : start])[-1]
        after = ends.split(plain[end : end + self.after], maxsplit=1)[0]
        return _composed(before), _composed(after)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words)


def _composed(window: str) -> str:
    return unicodedata.normalize("NFC", window).lower()


_HOUR = re.compile("[01][0-9][0-5][0-9]|2[0-3][0-5][0-9]")
_UNIT_SIGNS = "%€$£¥₽₩°元円원块塊万만歩步명개號室層层点點時时시호楼번세회度斤米公斗倍"
_END_OR_OTHER_SCRIPT = r"[^\w\s]|$|[^\x00-\u024f\u0400-\u04ff]"


def is_mere_number(before: str, value: str, after: str) -> bool:
    """Return whether a value is a count, a price, an hour, or the number of another thing.

    `before` and `after` are the words around the value, in lower case.

    >>> is_mere_number("it cost ", "4500", " in all"), is_mere_number("walked ", "4500", " steps")
    (True, True)
    >>> is_mere_number("my pin is ", "4500", " by the way"), is_mere_number("at ", "1730", ", ok?")
    (False, True)
    """
    signs = _signs_of_mere_numbers()
    if signs["counted"].match(value + after) or signs["unit"].match(after):
        return True
    if signs["numbered"].search(before):
        return True
    if not signs["no unit"].match(after) and not signs["told"].search(before):
        return True
    return _HOUR.fullmatch(value) is not None and signs["at an hour"].search(before) is not None


@cache
def _signs_of_mere_numbers() -> dict[str, re.Pattern[str]]:
    """Return patterns of the words next to a number that counts, measures or costs something."""
    signs = {
        "counted": MEASURE,
        "unit": rf"\s?(?:[{_UNIT_SIGNS}]|[km](?![a-z])|(?:{alternatives('unit')})(?![a-zà-ÿа-яё]))",
        "no unit": rf"(?![{_UNIT_SIGNS}])(?!\s?(?:%|€|₽|₩|km|kg|元|円|万))(?:{_END_OR_OTHER_SCRIPT}"
        rf"|\s+(?:{_END_OR_OTHER_SCRIPT}|\d|(?:{alternatives('no_unit')})(?!\w)))",
        "told": rf"(?:{words('telling', 'typed', 'dialled_in_story', 'told_aloud')}"
        rf"|{words('pin', 'password')}[^\n0-9.!?]{{0,20}}|[:=是为はが는은])[\s\"']{{0,2}}$",
        "numbered": rf"(?:{words('numbered')}"
        r"(?:\s(?:no|nr|number|nummer|número|numéro|numero|номер))?[\s.:#]{0,3}|[$€£¥₽₩#@]\s?)$",
        "at an hour": rf"{words('at_an_hour')}\s$",
    }
    return {name: re.compile(pattern) for name, pattern in signs.items()}
