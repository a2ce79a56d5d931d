"""Numbers of accounts and documents of identity, with the functions that check their digits.

A number whose form and check digits say little counts only soon after a word that names it.
"""

import re
from collections.abc import Callable
from typing import Protocol

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.cn import ric
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.exceptions import ValidationError
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.it import codicefiscale
from stdnum.jp import in_ as my_number
from stdnum.kr import rrn
from stdnum.nl import bsn
from stdnum.pl import pesel
from stdnum.us import ssn

from souffleur.knowledge.privacy.code_phrases import labelled

Check = Callable[[str], bool]
_NO_DIGIT = re.compile("[^0-9Xx]")
_SEPARATOR = re.compile("[ .-]")

# ISO/IEC 7812 issuers by length; 16 digits of an issuer not listed count too, save what begins
# like a year, as order numbers do.
_ISSUED = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:50|5[6-9]|6\d)\d{11,17}"
    r"|9558\d{15}|(?!0|19|20)\d{16}"
)


class _Numbers(Protocol):
    def is_valid(self, number: str) -> bool: ...


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


def _valid(*numbers: _Numbers) -> Check:
    """Return the check by these modules of stdnum: one of them must accept it."""
    return lambda found: any(one.is_valid(_SEPARATOR.sub("", found)) for one in numbers)


_L, _R = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_ELEVEN = r"[0-9](?:[ .-]?+[0-9]){10}+"
_TWELVE = r"[0-9](?:[ .-]?+[0-9]){11}+"

CHECKED: tuple[tuple[str, str, Check | None], ...] = (
    (
        "a bank account number",
        rf"{_L}([A-Z]{{2}}[0-9]{{2}}(?:[ -][A-Z0-9]{{4}}){{2,7}}(?:[ -][A-Z0-9]{{1,3}})?){_R}",
        _valid(iban),
    ),
    (
        "a bank account number",
        rf"{_L}((?i:[A-Z]{{2}}[0-9]{{2}}[A-Z0-9]{{11,30}})){_R}",
        _valid(iban),
    ),
    (
        "a social security number",
        labelled(r"ssn|social\s(?:security|is|number|no)", r"[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}"),
        _valid(ssn),
    ),
    (
        "a national identity number",
        labelled(r"dni|nie|nif", r"(?:[xyz][0-9]{7}|[0-9]{8})[ -]?[a-z]"),
        _valid(dni, nie),
    ),
    (
        "a social security number",
        labelled(r"nir|sécu|sécurité\ssociale", r"[12](?:[ .-]?+[0-9AB]){14}+"),
        _valid(nir),
    ),
    (
        "a tax number",
        labelled(r"steuer-?id|(?:steuer|steuerliche\s)identifikationsnummer|idnr", _ELEVEN),
        _valid(idnr),
    ),
    (
        "a tax number",
        rf"{_L}(?<![0-9]\.)([0-9]{{3}}\.[0-9]{{3}}\.[0-9]{{3}}-[0-9]{{2}}){_R}",
        _valid(cpf),
    ),
    ("a tax number", labelled("cpf", _ELEVEN), _valid(cpf)),
    (
        "a national identity number",
        rf"{_L}(?<![0-9]-)([0-9]{{6}}-[1-8][0-9]{{6}}){_R}(?!-[0-9])",
        _valid(rrn),
    ),
    (
        "a national identity number",
        r"(?i:주민(?:등록)? ?번호|resident\sregistration\snumber)"
        rf"[^\n0-9\x00]{{0,12}}?([0-9]{{6}}[ -]?[1-8][0-9]{{6}}){_R}",
        None,  # since October 2020 the digits after the dash are given by chance
    ),
    (
        "a national identity number",
        rf"(?i:マイナンバー|個人番号|my\snumber(?:\scard)?(?![a-z]))[^\n0-9\x00]{{0,12}}?({_TWELVE}){_R}",
        _valid(my_number),
    ),
    (
        "a national identity number",
        rf"(?i:aadhaa?r|आधार)[^\n0-9\x00]{{0,16}}?({_TWELVE}){_R}",
        _valid(aadhaar),
    ),
    ("a national identity number", labelled("pesel", _ELEVEN), _valid(pesel)),
    (
        "a national identity number",
        labelled(r"bsn|burgerservicenummer", r"[0-9](?:[ .]?[0-9]){8}"),
        _valid(bsn),
    ),
    (
        "a national identity number",
        rf"{_L}((?i:[A-Z]{{6}}[0-9LMNPQRSTUV]{{2}}[ABCDEHLMPRST][0-9LMNPQRSTUV]{{2}}"
        rf"[A-Z][0-9LMNPQRSTUV]{{3}}[A-Z])){_R}",
        _valid(codicefiscale),
    ),
    (
        "a social security number",
        labelled(
            r"national\sinsurance|nino|ni\s(?:number|no)",
            r"[a-ceghj-prtw-z][a-ceghj-nprtw-z](?: ?[0-9]{2}){3} ?[a-d]",
        ),
        None,
    ),
    (
        "a social security number",
        labelled(r"social\sinsurance", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}"),
        _valid(luhn),
    ),
    (
        "a national identity number",
        labelled(
            r"nric|fin\snumber|hkid|身分證|身份證",
            r"[a-z]{1,2}+[0-9]{6,9}+(?:[a-z]|\([0-9a]\))?",
        ),
        None,
    ),
)
"""Name, pattern and check of each kind of number; the group matches the number."""
