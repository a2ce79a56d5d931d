"""Surroundings of a value: the words of its sentence that say whether it is a secret.

People name a number before or after its digits, and often far from them: "36574261809 is, by the
way, my German tax ID". So the form finds the value, and the words around it decide.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from souffleur.knowledge.privacy.long_texts import SURROUNDINGS, Effort

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
        around = f"{before}\n{after}"
        if self.unless is not None and text.has(self.unless, around):
            return False
        return text.has(self.words, around)

    def _around(self, plain: str, start: int, end: int) -> tuple[str, str]:
        before = _LINE_END.split(plain[max(0, start - self.before) : start])[-1]
        after = _LINE_END.split(plain[end : end + self.after], maxsplit=1)[0]
        return _composed(before), _composed(after)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words)


def _composed(window: str) -> str:
    return unicodedata.normalize("NFC", window).lower()
