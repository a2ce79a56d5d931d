"""Forms of the numbers of documents and accounts, and the functions that check their digits."""

import re
from functools import cache, partial
from importlib import import_module
from typing import Protocol

from souffleur.knowledge.privacy.rule import Check
from souffleur.knowledge.privacy.surroundings import VALUE, Surroundings, near
from souffleur.knowledge.privacy.vocabulary import spell, words

_SEPARATOR = re.compile("[ ./-]")
_NO_DATE = r"(?!(?:19|20)[0-9]{2}[-./ ]?(?:0[1-9]|1[0-2])[-./ ]?[0-3][0-9](?![0-9]))"
NO_DATE_OF_EIGHT = "(?!(?:19|20)[0-9]{6}(?![0-9]))"
_END = r"(?![A-Za-z0-9]|[.,:-][0-9])"
_NOT_OF_OTHERS = rf"{words('other_number')}[^\n]{{0,12}}{VALUE}"


class _Numbers(Protocol):
    def is_valid(self, number: str) -> bool: ...


def exactly(form: str) -> str:
    """Return the pattern of a number of this form that is no date and no part of another."""
    return rf"(?<![A-Za-z0-9])(?<![0-9][.,-]){_NO_DATE}({form}){_END}"


def digits(least: int, most: int, between: str = " .-") -> str:
    """Return the pattern of so many digits, in groups or not.

    >>> re.search(digits(9, 9), "my sin: 123-456-782").groups()
    ('123-456-782',)
    """
    return exactly(rf"[0-9](?:[{between}]?[0-9]){{{least - 1},{most - 1}}}+")


def valid(*names: str) -> Check:
    """Return the check by these modules of stdnum: one of them must accept the number.

    >>> is_tax_number = valid("de.idnr")
    >>> is_tax_number("36 574 261 809"), is_tax_number("36 574 261 808")
    (True, False)
    """

    def is_valid(found: str) -> bool:
        bare = _SEPARATOR.sub("", found)
        return any(_module(name).is_valid(one) for name in names for one in (found, bare))

    return is_valid


@cache
def _module(name: str) -> _Numbers:
    module: _Numbers = import_module(f"stdnum.{name}")
    return module


def named(*lines: str) -> Surroundings:
    """Return the surroundings of a number that one of these words names."""
    return near(spell(*lines))


def wide(*lines: str) -> Surroundings:
    """Return the wide surroundings of a number that its digits prove, and one of these words."""
    return near(spell(*lines), before=150, after=80)


unlike_others = partial(near, unless=_NOT_OF_OTHERS)
"""The surroundings of a number that is named, and not as that of an order or a telephone."""
