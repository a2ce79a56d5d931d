"""Masking of texts that are too long for the rules, by the form of their values alone.

The rules are hundreds of patterns, and dozens of them read the words around each number. A talk
takes little time. A pasted table of numbers would take a second per ten thousand characters, and
nobody else gets an answer in that time.
"""

import re
from collections.abc import Set as AbstractSet
from functools import cache

from souffleur.knowledge.privacy.groups import Group

MAX_STEPS = 4_000_000
"""Maximum steps for a text, in characters that patterns read: about 0.15 s of processor time."""
SURROUNDINGS = 1_000
"""Steps for reading the words around a value: it takes as long as reading so many characters."""


class TooMuchError(Exception):
    """The text is longer, or holds more values, than the rules may read."""


class Effort:
    """Counts the steps for one text."""

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Count steps before they are taken. Raises TooMuchError if too few are left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchError


_DIGITS = r"(?!(?:19|20)\d\d(?!\d|[ .,/()-]{1,2}+\d))\d(?:[ .,/()-]{0,2}+\d){3,}+"
"""Four digits or more, in groups or not, that are not just a year."""
_NUMERALS = "[〇零一二三四五六七八九]{4,}+"
_SIGN = r"[!-~\u00c0-\u024f\u0400-\u04ff]"


def _run(least: int, *has: str) -> str:
    """Return the pattern of a whole run of signs, with each of `has` among its first hundred."""
    within = "".join(rf"(?=(?:(?!{one}){_SIGN}){{0,99}}+{one})" for one in has)
    return rf"(?<!{_SIGN}){within}{_SIGN}{{{least},}}+"


_KEYS = f"{_run(6, '[A-Za-z]', '[0-9]')}|{_run(80, '[A-Za-z]')}"
"""Six characters or more with a letter and a digit, or a very long run."""
_FORMS = {
    Group.SECRET: (_KEYS, _DIGITS, _NUMERALS),
    Group.DOCUMENT: (_KEYS, _DIGITS),
    Group.CONTACT: (_run(6, "@"), _DIGITS),
}


def mask_coarsely(text: str, mask: str, groups: AbstractSet[Group]) -> str:
    """Return the text with all values that look like a number or a key replaced by the mask.

    >>> mask_coarsely("In 2019 my pin was 4471, my key k7-Xy!2pq", "***", {Group.SECRET})
    'In 2019 my pin was ***, my key ***'
    >>> mask_coarsely("卡号 6222 0202 0000 1234 567，密码是hunter2", "***", {Group.SECRET})
    '卡号 ***，密码是***'
    """
    return _pattern(frozenset(groups)).sub(mask, text)


@cache
def _pattern(groups: frozenset[Group]) -> re.Pattern[str]:
    """Return the pattern for the forms of these groups, each form once."""
    forms = dict.fromkeys(form for group in Group if group in groups for form in _FORMS[group])
    return re.compile("|".join(forms))
