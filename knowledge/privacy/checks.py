"""Checks of a value that a pattern has found: whether it looks like a password, or is valid.

Each check is a function with an example; other modules read the words around the value.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol

from stdnum import luhn
from stdnum.cn import ric
from stdnum.exceptions import ValidationError

Check = Callable[[str], bool]
"""Returns whether the found value may be sensitive data of its kind."""

_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")
_NO_PASSWORD = re.compile(
    "(?i:"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"  # a date
    r"|[0-9]+(?:[.,:x-][0-9]+)*-?[a-z%]{1,12}|[0-9:.,+%&=*-]+"  # a measure, an hour, a sum
    r"|[a-z0-9]+:sha[0-9]+|[a-z0-9]+[*_]{2}"
    r"|[a-z][a-z0-9+.-]*://.*|www\..*|[\w.+-]+@[\w-]+\.[\w.-]+"  # an address
    r"|.*\.(?:[a-z]{2,4}|mp[34]|7z|html|json|docx|xlsx|pptx|jpeg)|.*[\\/].*"  # a file
    r"|[#@].*"  # a tag, a user
    r"|aaaa[bce][0-9]nza.*|sha(?:1|256|512):.*"  # a public key, the sum of a file or a key
    r"|(?:[a-z]+[_-]?)?v?[0-9]+(?:\.[0-9a-z]+)+"  # a version
    r"|[a-z]+-?[0-9]{1,2}(?:-?(?:pro|max|plus|mini|ultra|x|s))?"  # a device
    r"|(?:[a-z]+-)+(?:[0-9]{1,3}|(?:19|20)[0-9]{2})|[0-9]{1,4}(?:-[a-z]+)+"  # "top-10", "8-digit"
    r"|(?:sha|md|aes|rsa|base|utf|wpa|wep|tls|oauth|rfc|iso|bip|1password|office|windows|android"
    r"|iphone|ios|fritz!?box|bitwarden|keepass)[-_ ]?[0-9]*.{0,4}"
    r"|[a-z]+(?:[&+!?*'=~]+[a-z]*)*"  # "Rock&Roll"
    r"|.*[a-z]\(.*|[a-z_]+=.*|\$.*|.*\$[a-z_]{3,}|%[a-z]+%?|<.*|\{.*|\[.*"  # code
    r"|[0-9a-f:-]{7,64}"  # hexadecimal digits
    ")"
)
_PREFIXED = re.compile(
    r"[A-Za-z][A-Za-z0-9]{0,11}(?:[-_.~][A-Za-z0-9]{1,8}){0,3}[-_.~]([A-Za-z0-9]{20,})"
)
_ID_PREFIX = re.compile(
    r"(?i:(?:sha[0-9]*|md5|commit|rev|hash|blake2?[bs]?|cid|uuid|id|cus|price|prod|pi|po|re|pm|seti|src|ch|in|sub|evt|acct|txn|req"
    r"|user|usr|org|d|tpl|batch|ftjob|resp|msg|run|thread|asst|file|chatcmpl|call|order|build|img|image|video|post|item)[-_.])"
)
"""Prefixes of ids, which are random but open nothing."""


def has_many_sorts(found: str) -> bool:
    """Return whether the characters are of many kinds, unlike a name in code.

    >>> has_many_sorts("BkBIDac43a+MEz"), has_many_sorts("my_secret_name1")
    (True, False)
    """
    if not _DIGIT.search(found) or _NO_PASSWORD.fullmatch(found):
        return False
    return re.fullmatch("[a-z]+(?:[_.-][a-z]+)*[0-9]?", found) is None


def has_both(found: str) -> bool:
    """Return whether the value has both letters and digits.

    >>> has_both("K4V7P"), has_both("HELLO")
    (True, False)
    """
    return _LETTER.search(found) is not None and _DIGIT.search(found) is not None


def is_random(found: str) -> bool:
    """Return whether the characters look random: of all kinds, and with few repetitions.

    >>> is_random("cfxV7V40RY7AQbPENDZ1vMYF"), is_random("internationalisation-2024-Overview")
    (True, False)
    >>> is_random("run_Fi7PgIMUUhkRqIsp9OdBuBfS")
    False
    """
    sorts = sum(bool(re.search(sort, found)) for sort in ("[a-z]", "[A-Z]", "[0-9]"))
    changes = len(
        re.findall("(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])", found)
    )
    if _ID_PREFIX.match(found):
        return False
    return sorts == 3 and changes >= len(found) / 6 and _entropy(found) >= 3.4


def is_prefixed_key(found: str) -> bool:
    """Return whether many random characters follow a short name.

    >>> is_prefixed_key("tgp_v1_" + "8f3k2m9q7x1z" * 3), is_prefixed_key("ab1-" + "A1B2C3D4" * 4)
    (True, True)
    >>> is_prefixed_key("sha256-" + "8f3k2m9q7x1z" * 3), is_prefixed_key("my_long_name_of_2024")
    (False, False)
    """
    match = _PREFIXED.fullmatch(found)
    if match is None or _ID_PREFIX.match(found):
        return False
    made = match[1]
    changes = len(re.findall("(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])", made))
    return changes >= len(made) / 5 and len(_DIGIT.findall(made)) >= len(made) / 8


def _entropy(found: str) -> float:
    """Return the entropy of the characters, in bits per character."""
    shares = [count / len(found) for count in Counter(found).values()]
    return -sum(share * math.log2(share) for share in shares)


_SEPARATOR = re.compile("[ ./-]")


class _Numbers(Protocol):
    def is_valid(self, number: str) -> bool: ...


def valid(*names: str) -> Check:
    """Return a check that accepts a number if one of these modules of stdnum accepts it.

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


_NO_DIGIT = re.compile("[^0-9Xx]")

# ISO/IEC 7812 issuers by length; 16 digits of an unknown issuer count too, unless they begin
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


_BETWEEN = re.compile(r"[\s,;.):0-9]+")
"""The text between words, which may be numbered."""


def are_seed_words(found: str) -> bool:
    """Return whether all words are from the same list. The order of a real wallet is not required.

    https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki

    >>> are_seed_words("legal winner thank year"), are_seed_words("we like the old mill")
    (True, False)
    >>> are_seed_words("relevo duro fértil inmune"), are_seed_words("爆 颗 仰 崇")
    (True, True)
    """
    words = set(_BETWEEN.split(_spelt(found)))
    return any(words <= listed for listed in _lists())


@cache
def _lists() -> tuple[frozenset[str], ...]:
    from mnemonic import Mnemonic

    languages = Mnemonic.list_languages()
    return tuple(frozenset(map(_spelt, Mnemonic(one).wordlist)) for one in languages)


def _spelt(text: str) -> str:
    return unicodedata.normalize("NFKD", text).lower()


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        are_seed_words,
        has_both,
        has_many_sorts,
        is_card_number,
        is_prefixed_key,
        is_random,
        is_resident_id,
    )
}
"""The checks by the names that rules use."""
