"""Hints: fast checks of a text; a rule is tried only if its hint is true.

Most messages hold nothing sensitive; then all hints are false and no pattern is tried. A hint reads
the text in plain ASCII characters and lower case. Only the truth of its result counts.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

from souffleur.knowledge.privacy.vocabulary import listed

Hint = Callable[[str], object]

_PATTERNS = {
    "digit": "[0-9]",
    "groups": "[0-9][a-z]{0,3}[ -]?[a-z0-9]{2}",
    "long_run": r"(?a:[\w./+=:~-]{14})",
    "many_digits": "[0-9](?:[a-z]?[ .,/()-]{0,2}[0-9]){5}",
    "many_words": r"(?:[^\s0-9!-/:-@\[-`{-~]{1,12}+[\s,;.):0-9]{1,6}+){11}",
}
_WITH_DIGIT = {
    "digits": (
        "[0-9][a-z ,-]{0,3}[0-9]{2}|[0-9]{2}[a-z ,-]{0,3}[0-9]|-[a-z]{0,9}[0-9]|[0-9][a-z]{0,9}-"
    ),
    "digits_of_document": (
        "(?:[0-9][a-z]{0,2}[ .,/()-]{0,2}[a-z]{0,2}){4}[0-9]|[cfghj-nprtv-z][cfghj-nprtv-z0-9]{8}"
        "|[a-z]{5}[0-9]{4}[a-z]"
    ),
}
"""Patterns with a digit; they are not tried on texts without digits."""
_has_digit = re.compile(_PATTERNS["digit"]).search


def hint_of(said: str | Sequence[str]) -> Hint:
    """Return the hint that a section of rules names; the same name always gives the same object.

    For a list, one of its words must be in the text; for "words CONCEPT", one of the concept's
    words. Any other name is that of a hint in this module.

    >>> hint_of("digits")("1 of 22"), hint_of(["=", ":"])("pin = 1"), hint_of("groups")("tea")
    (False, True, None)
    """
    return _hint(said if isinstance(said, str) else tuple(said))


@cache
def _hint(said: str | tuple[str, ...]) -> Hint:
    if isinstance(said, tuple):
        return any_of(*said)
    concept = said.removeprefix("words ")
    if concept != said:
        return any_of(*listed(concept))
    if said in _WITH_DIGIT:
        return _with_digit(_WITH_DIGIT[said])
    if said in _PATTERNS:
        return re.compile(_PATTERNS[said]).search
    return {"country_number": names_country_number}[said]


def any_of(*words: str) -> Hint:
    """Return the hint that any of these words is in the text, with composed or separate marks.

    >>> any_of("paß", "パス")("der pass"), any_of("pass")("der pass")
    (False, True)
    """
    spelt = _spelt(words)

    def has_one(lowered: str) -> bool:
        return any(map(lowered.__contains__, spelt))

    return has_one


def _with_digit(source: str) -> Hint:
    search = re.compile(source).search

    def has_one(lowered: str) -> bool:
        return _has_digit(lowered) is not None and search(lowered) is not None

    return has_one


def names_country_number(lowered: str) -> bool:
    """Return whether the text has a country's name for a document number, and enough digits.

    >>> names_country_number("moj oib je 44762168275"), names_country_number("44762168275")
    (True, False)
    """
    named = _hint("words country_number_signs")
    return bool(_hint("digits_of_document")(lowered) and named(lowered))


def _spelt(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words with composed and with separate marks."""
    return tuple({form for word in words for form in (word, unicodedata.normalize("NFD", word))})
