"""What stands around a value: the words of its sentence that say whether it is a secret.

People name a secret before or after its value, and often not beside it: "7350 is, by the way, the
PIN of my card". So the value is found by its form, and the words around it decide.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from souffleur.knowledge.privacy.effort import SURROUNDINGS, Effort
from souffleur.knowledge.privacy.mere_numbers import is_mere_number
from souffleur.knowledge.privacy.stated_values import HIDDEN

VALUE = r"\n"
"""Stands for the value where words are searched before and after it."""

_LETTER = re.compile(r"[^\W\d_]")
_LINE_END = re.compile(rf"[\n{HIDDEN}]")
_CLAUSE_END = re.compile(rf"[\n{HIDDEN}。]|[.!?…]+(?=\s|$|[^\x00-\x7f])|[0-9]{{3}}")
"""The end of a sentence, or another number, which the words beyond it may belong to."""


class SearchedText:
    """A text in plain ASCII signs, and what was already found out about parts of it."""

    def __init__(self, plain: str, effort: Effort) -> None:
        self.plain = plain
        self.effort = effort
        self.lowered = plain.lower()
        self._has: dict[tuple[str, str], bool] = {}
        self._first: dict[int, re.Match[str] | None] = {}
        self._matches: dict[int, tuple[re.Match[str], ...]] = {}

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first match of a pattern; several rules share one."""
        key = id(pattern)  # to hash a pattern is to read all of it
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
        """Return whether the pattern is there; long tables repeat the same surroundings."""
        asked = words, around
        if asked not in self._has:
            self.effort.spend(len(around))
            self._has[asked] = _compiled(words).search(around) is not None
        return self._has[asked]


@dataclass(frozen=True)
class Surroundings:
    """The words that must stand around a value, in lower case."""

    words: str
    """The pattern of what names it, searched before and after; `VALUE` stands for the value."""
    before: int = 60
    """So many characters are read before it."""
    after: int = 50
    """So many characters are read after it."""
    weak: bool = False
    """Whether the value is a mere number: then a count, a price and the like are none, and the
    words must be in its sentence, without another number between."""
    across: bool = False
    """Whether the words of a weak value may also be in a neighbouring sentence."""
    unless: str | None = None
    """The pattern of what says that it is something else."""

    def may_hold(self, text: SearchedText) -> bool:
        """Return whether the text has the words anywhere, so that a value may."""
        return VALUE in self.words or text.has(self.words, text.lowered)

    def hold(self, text: SearchedText, start: int, end: int) -> bool:
        """Return whether the words around the value at these places of the text name it."""
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


def near(
    *words: str,
    before: int = 60,
    after: int = 50,
    weak: bool = False,
    across: bool = False,
    unless: str | None = None,
) -> Surroundings:
    """Return the surroundings that hold one of these words, given as patterns."""
    return Surroundings("|".join(words), before, after, weak, across, unless)


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words)


def _composed(window: str) -> str:
    return unicodedata.normalize("NFC", window).lower()
