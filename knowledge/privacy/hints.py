"""Signs that every text with a secret of a kind has, found faster than the secret itself.

Most messages hold nothing secret, and no pattern is tried on them whose sign they lack. A hint
reads the text in plain ASCII signs and lower case; whether its result is true is what counts.
"""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from souffleur.knowledge.privacy.vocabulary import listed

Hint = Callable[[str], object]


def any_of(*words: str) -> Hint:
    """Return the hint that one of these words is there, with composed or separate marks.

    >>> any_of("paß", "パス")("der pass"), any_of("pass")("der pass")
    (False, True)
    """
    spelt = _spelt(words)

    def has_one(lowered: str) -> bool:
        return any(map(lowered.__contains__, spelt))

    return has_one


def tells_numbers(lowered: str) -> bool:
    """Return whether numbers are told in words, as "seven, two" or "seven 22".

    >>> tells_numbers("four, seven one nine"), tells_numbers("one of us has two cats")
    (True, False)
    """
    if not lowered.isascii() and _OTHER_SCRIPTS(lowered):
        return True
    return not _numbers().isdisjoint(_WORDS(lowered)) and _in_a_row(lowered)


@cache
def _numbers() -> frozenset[str]:
    return frozenset(_spelt(listed("digit")))


def _spelt(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words with composed and with separate marks."""
    return tuple({form for word in words for form in (word, unicodedata.normalize("NFD", word))})


def _in_a_row(lowered: str) -> bool:
    """Return whether two of the words, or one and digits, stand beside each other."""
    words = _WORDS_AND_DIGITS(lowered)
    return any(
        one in _numbers() and (other in _numbers() or other.isdecimal())
        for one, other in pairwise(words)
    )


_WORDS = re.compile(r"[^\s\d,.;:!?()\"'_-]+").findall
_WORDS_AND_DIGITS = re.compile(r"[^\s\d,.;:!?()\"'_-]+|[0-9]+").findall
_OTHER_SCRIPTS = re.compile(
    "[〇零一二三四五六七八九两]{4}|(?:ゼロ|まる)[〇零一二三四五六七八九]"
    "|[〇零一二三四五六七八九](?:ゼロ|まる)"
    "|[공영일이삼사오육칠팔구](?:[ ,]{0,2}[공영일이삼사오육칠팔구]){3}"
    "|(?:(?:ゼロ|れい|いち|に|さん|よん|ご|ろく|なな|しち|はち|きゅう|きゅー)[、, ]{0,2}){4}"
).search

has_digit = re.compile("[0-9]").search


def _with_digit(source: str) -> Hint:
    """Return the hint of a pattern with a digit, which is not tried on texts that have none."""
    search = re.compile(source).search

    def has_one(lowered: str) -> bool:
        return has_digit(lowered) is not None and search(lowered) is not None

    return has_one


has_mixed_token = _with_digit(r"[a-z][!-/:-@\[-`{-~]{0,3}[0-9]|[0-9][!-/:-@\[-`{-~]{0,3}[a-z]")
has_digits = _with_digit(
    "[0-9][a-z ,-]{0,3}[0-9]{2}|[0-9]{2}[a-z ,-]{0,3}[0-9]|-[a-z]{0,9}[0-9]|[0-9][a-z]{0,9}-"
)
has_digits_of_document = _with_digit(
    "(?:[0-9][a-z]{0,2}[ .,/()-]{0,2}[a-z]{0,2}){4}[0-9]|[cfghj-nprtv-z][cfghj-nprtv-z0-9]{8}"
    "|[a-z]{5}[0-9]{4}[a-z]"
)
has_long_run = re.compile(r"[\w./+=:~-]{14}", re.ASCII).search
has_many_digits = re.compile("[0-9](?:[a-z]?[ .,/()-]{0,2}[0-9]){5}").search
_names_country_number = any_of(*listed("country_number_signs"))


def names_country_number(lowered: str) -> bool:
    """Return whether a country's own name of a number is there, and digits of a document.

    >>> names_country_number("moj oib je 44762168275"), names_country_number("44762168275")
    (True, False)
    """
    return bool(has_digits_of_document(lowered) and _names_country_number(lowered))


has_many_words = re.compile(r"(?:[^\s0-9!-/:-@\[-`{-~]{1,12}+[\s,;.):0-9]{1,6}+){11}").search
has_groups = re.compile("[0-9][a-z]{0,3}[ -]?[a-z0-9]{2}").search
has_inner_sign = re.compile("[a-z0-9][!#$%&*+=?^~@|]{1,16}+[a-z0-9]").search
is_assigned = any_of("=", ":")
has_value_sign = any_of("=", "wifi:")
has_at = any_of("@")
has_user = any_of("@", "admin", "root")
has_command = any_of(
    "curl", "http", "wget", "mysql", "mariadb", "redis-cli", "sshpass", "psql", "ldapsearch"
)
names_password = any_of(*listed("password_signs"))
labels_password = any_of(*listed("password_label_signs"))
names_passphrase = any_of(*listed("passphrase_signs"))
opens_something = any_of(*listed("opening_signs"))
names_question = any_of(*listed("question_signs"))
names_seed = any_of(*listed("seed_label_signs"))
tells_seed = any_of(*listed("seed_signs"))
