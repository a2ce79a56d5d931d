"""Forms of the numbers of documents and accounts, and the functions that check their digits."""

import re
from functools import cache, partial
from importlib import import_module
from typing import Protocol

from stdnum import luhn
from stdnum.cn import ric
from stdnum.exceptions import ValidationError

from souffleur.knowledge.privacy.rule import Check
from souffleur.knowledge.privacy.surroundings import VALUE, Surroundings, near
from souffleur.knowledge.privacy.vocabulary import spell, words

_SEPARATOR = re.compile("[ ./-]")
_NO_DATE = r"(?!(?:19|20)[0-9]{2}[-./ ]?(?:0[1-9]|1[0-2])[-./ ]?[0-3][0-9](?![0-9]))"
NO_DATE_OF_EIGHT = "(?!(?:19|20)[0-9]{6}(?![0-9]))"
_END = r"(?![A-Za-z0-9]|[.,:-][0-9]|-[0-9a-f]{4}-)"
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

_NO_DIGIT = re.compile("[^0-9Xx]")

# ISO/IEC 7812 issuers by length; 16 digits of an issuer not listed count too, save what begins
# like a year, as order numbers do.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:50|5[6-9]|6\d)\d{11,17}"
    r"|9558\d{15}|(?!0|19|20)\d{16}"
)


def is_card_number(found: str) -> bool:
    """Return whether this may be the number of a payment card: issuer, length, check digit.

    >>> is_card_number("4111 1111 1111 1111"), is_card_number("4111111111111112")
    (True, False)
    """
    digits = _NO_DIGIT.sub("", found)
    return _ISSUED.fullmatch(digits) is not None and luhn.is_valid(digits)


def is_resident_id(found: str) -> bool:
    """Return whether this is a Chinese resident identity number: date of birth, check character.

    The place of birth is not checked: the tables list a county only from its founding year, but
    people born there earlier are registered there too.

    >>> is_resident_id("11010519491231002X"), is_resident_id("110105194912310021")
    (True, False)
    """
    digits = _NO_DIGIT.sub("", found)
    try:
        ric.get_birth_date(digits)
    except ValidationError:
        return False
    return bool(ric.calc_check_digit(digits) == digits[-1].upper())
