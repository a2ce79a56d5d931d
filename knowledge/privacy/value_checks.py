"""Forms of values: what looks like a password or a key by itself.

Each is a function with an example; what stands around the value is read elsewhere.
"""

import math
import re
from collections import Counter

from souffleur.knowledge.privacy.vocabulary import listed

_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")
_SIGN_INSIDE = re.compile(r"[A-Za-z0-9)](?:[!#$%&*+=?^~@|\\]+)(?=[A-Za-z0-9])|[!#$%&*?^~]$")
_NO_PASSWORD = re.compile(
    "(?i:"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"  # a date
    r"|[0-9]+(?:[.,:x-][0-9]+)*-?[a-z%]{1,12}|[0-9:.,+%&=*-]+"  # a measure, an hour, a sum
    r"|[a-z0-9]+:sha[0-9]+|[a-z0-9]+[*_]{2}"
    r"|[a-z][a-z0-9+.-]*://.*|www\..*|[\w.+-]+@[\w-]+\.[\w.-]+"  # an address
    r"|.*\.(?:[a-z]{2,4}|mp[34]|7z|html|json|docx|xlsx|pptx|jpeg)|.*[\\/].*"  # a file
    r"|[#@].*"  # a tag, a user
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
_READ = re.compile(
    r".*[\w\]][\[(].*|[a-z_.]+=.*|\$.*|<.*|\{.*|\[.*|%[a-z]+%?|.*://.*|[^@]*@[a-z-]+\.[a-z.]+"
)
"""Code that reads a value, and addresses."""
_CAPITALS = re.compile("[A-Z0-9._-]+")


def is_password_like(found: str) -> bool:
    """Return whether these signs are such as people make a password of, and few other words.

    >>> is_password_like("Tea4two&Milk"), is_password_like("sunny-hill_77")
    (True, False)
    >>> is_password_like("anna@example.org"), is_password_like("Rock&Roll")
    (False, False)
    """
    return _is_made(found) and _SIGN_INSIDE.search(found) is not None


def may_be_password(found: str) -> bool:
    """Return whether the signs may be a password, but also a name or a number of something.

    >>> may_be_password("sunny_hill77"), may_be_password("teekanne4471")
    (True, True)
    >>> may_be_password("TL-WR841N"), may_be_password("MacBook-2019")
    (False, False)
    """
    if len(found) < 8 or not _is_made(found) or _CAPITALS.fullmatch(found):
        return False
    joined = len(found) >= 10 and re.search("[a-z][_.][a-z]", found) is not None
    return joined or len(_DIGIT.findall(found)) >= 2


def has_inner_sign(found: str) -> bool:
    """Return whether a sign joins parts of it, as in few words but passwords.

    >>> has_inner_sign("milk%Bari"), has_inner_sign("milk-Bari"), has_inner_sign("well-known")
    (True, False, False)
    """
    return (
        len(found) >= 8
        and re.search("[A-Za-z0-9][!#$%&*+=?^~@|]+[A-Za-z0-9]", found) is not None
        and not _READ.fullmatch(found)
    )


def is_mixed(found: str) -> bool:
    """Return whether it has letters and digits, and is not the name of a device or a standard.

    >>> is_mixed("Teddy-Nebel-64"), is_mixed("wpa2-psk"), is_mixed("MacBook-2019")
    (True, False, False)
    """
    if re.fullmatch("(?:[A-Z][a-z]+-){2,}[0-9]{1,4}", found):
        return True
    return _is_made(found) and not _CAPITALS.fullmatch(found)


def has_many_sorts(found: str) -> bool:
    """Return whether it is no name: not only small letters, nor words that are joined.

    >>> has_many_sorts("BkBIDac43a+MEz"), has_many_sorts("my_secret_name1")
    (True, False)
    """
    if not _DIGIT.search(found) or _NO_PASSWORD.fullmatch(found):
        return False
    return re.fullmatch("[a-z]+(?:[_.-][a-z]+)*[0-9]?", found) is None


def has_both(found: str) -> bool:
    """Return whether there are letters and digits.

    >>> has_both("K4V7P"), has_both("HELLO")
    (True, False)
    """
    return _LETTER.search(found) is not None and _DIGIT.search(found) is not None


def is_no_count(found: str) -> bool:
    """Return whether numbers told in words are more than counted up.

    >>> is_no_count("four seven one nine"), is_no_count("One, two, three, four")
    (True, False)
    """
    told = re.sub("[ ,-]+", " ", found.lower())
    return not any(told in counted for counted in listed("counting"))


def _is_made(found: str) -> bool:
    made = _LETTER.search(found) and _DIGIT.search(found) and not _NO_PASSWORD.fullmatch(found)
    return bool(made)


def is_random(found: str) -> bool:
    """Return whether the signs were made by chance: of all sorts, and hardly one of them twice.

    >>> is_random("cfxV7V40RY7AQbPENDZ1vMYF"), is_random("internationalisation-2024-Overview")
    (True, False)
    """
    sorts = sum(bool(re.search(sort, found)) for sort in ("[a-z]", "[A-Z]", "[0-9]"))
    changes = len(
        re.findall("(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])", found)
    )
    return sorts == 3 and changes >= len(found) / 6 and _entropy(found) >= 3.4


def _entropy(found: str) -> float:
    """Return the entropy of the signs, in bits a sign."""
    shares = [count / len(found) for count in Counter(found).values()]
    return -sum(share * math.log2(share) for share in shares)
