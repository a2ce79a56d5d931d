"""Texts with sensitive data and their lookalikes, as `texts.toml` has them, with forms filled in.

All data is made by chance, with a seed, from published formats; none is real. In a form, {a36}
stands for 36 letters or digits, {h32} for hexadecimal digits, {l5} for letters: see `_SIGNS`.
"""

import random
import re
import string
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stdnum import luhn
from stdnum.br import cpf
from stdnum.de import idnr
from stdnum.es import dni
from stdnum.fr import nir
from stdnum.in_ import aadhaar
from stdnum.iso7064 import mod_11_10, mod_97_10
from stdnum.jp import in_ as my_number
from stdnum.kr import rrn
from stdnum.pl import pesel

_FILE: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("texts.toml").read_text(encoding="utf-8")
)
SIGNS = {name: signs.replace("~", "") for name, signs in _FILE["signs"].items()}
"""Keys and the like that several texts have."""
SIGNS["JWT"] = SIGNS["JWT"].replace("{KEY}", SIGNS["KEY"])
SIGNS["LONG"] = SIGNS["LONG"].replace("{KEY}", SIGNS["KEY"])
EACH = 5
"""Texts made of each form."""

_SIGNS = {
    "a": string.ascii_letters + string.digits,
    "b": string.ascii_letters + string.digits + "/+",
    "d": string.digits,
    "h": string.digits + "abcdef",
    "l": string.ascii_lowercase,
    "L": string.ascii_letters,
    "n": "123456789",
    "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "t": string.ascii_letters + string.digits + "~._",
    "u": string.ascii_uppercase + string.digits,
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "x": string.ascii_letters + string.digits + "_-",
}
_SLOT = re.compile(r"\{([abdhlLnqtuUx])([0-9]+)\}")
_FRAMES = (
    "here is the one I use: ⟦{}⟧, keep it",
    "SERVICE_VALUE=⟦{}⟧",
    "帮我看看⟦{}⟧这个对不对",
    "これは⟦{}⟧です",
    'config: {{"value": "⟦{}⟧"}}',
)
_EMPTY_FRAMES = (
    "those begin with {}",
    "put {}<yours> there",
    "set it to {}$TOKEN or so",
    "前缀是 {} 的那种",
    "{}… と書いてある",
)


@dataclass(frozen=True)
class Kind:
    """One kind of sensitive data."""

    name: str
    """The kind, in words."""
    texts: tuple[str, ...]
    """Texts that hold such data."""
    lookalikes: tuple[str, ...] = ()
    """Texts that hold none."""


def cases() -> tuple[Kind, ...]:
    """Return texts of the kinds that were found first, a dozen and more of each."""
    return tuple(
        Kind(name, tuple(map(_named, kind["secrets"])), tuple(map(_named, kind["lookalikes"])))
        for name, kind in _FILE["cases"].items()
    )


def kinds() -> tuple[Kind, ...]:
    """Return the kinds of secrets and documents with their texts, always the same ones."""
    chance = random.Random(16)
    return (*_keys(chance), *_told(chance, _FILE["told"]), *_numbers(chance))


def contacts() -> tuple[Kind, ...]:
    """Return the kinds of contact data with their texts, always the same ones."""
    return tuple(_told(random.Random(17), _FILE["contacts"]))


def around() -> tuple[Kind, ...]:
    """Return texts whose secrets are told in passing, far from the words that name them."""
    chance = random.Random(18)
    return tuple(
        Kind(
            name,
            tuple(fill(text, chance) for text in kind.get("secrets", ())),
            tuple(kind.get("lookalikes", ())),
        )
        for name, kind in _FILE["around"].items()
    )


def others() -> tuple[Kind, ...]:
    """Return texts written without the rules at hand, and such about plain passwords."""
    chance = random.Random(20261123)
    return tuple(
        Kind(
            name,
            tuple(fill(text, chance) for text in _FILE[name]["secrets"]),
            tuple(fill(text, chance) for text in _FILE[name]["lookalikes"]),
        )
        for name in ("unseen", "plain")
    )


def hidden(text: str) -> list[str]:
    """Return the data of a text that must be masked."""
    return re.findall("⟦(.*?)⟧", text, flags=re.DOTALL)


def bare(text: str) -> str:
    """Return a text without the marks around its data."""
    return re.sub("[⟦⟧]", "", text)


def fill(form: str, chance: random.Random) -> str:
    """Return the form with its slots filled by chance."""
    return _SLOT.sub(
        lambda slot: "".join(chance.choices(_SIGNS[slot[1]], k=int(slot[2]))),
        form.replace("~", ""),
    )


def _named(text: str) -> str:
    """Return a text with the signs that it names."""
    for name, signs in SIGNS.items():
        text = text.replace(f"{{{name}}}", signs)
    return text


def _keys(chance: random.Random) -> Iterator[Kind]:
    for name, forms in _FILE["keys"].items():
        texts = (
            frame.format(fill(forms[index % len(forms)], chance))
            for index, frame in enumerate(_FRAMES)
        )
        prefix = _SLOT.split(forms[0].replace("~", ""))[0].split("1QPZ")[0]
        prefix = "a " if "PRIVATE" in prefix else prefix
        yield Kind(name, tuple(texts), tuple(_empty(prefix, chance)))


def _empty(prefix: str, chance: random.Random) -> Iterator[str]:
    for frame in _EMPTY_FRAMES:
        yield frame.format(prefix)
    yield fill("commit {h40}, see the log", chance)
    yield fill("id {h8}-{h4}-{h4}-{h4}-{h12}", chance)


def _told(chance: random.Random, told: dict[str, Any]) -> Iterator[Kind]:
    for name, kind in told.items():
        forms = kind["secrets"]
        texts = (fill(forms[at % len(forms)], chance) for at in range(max(EACH, len(forms))))
        yield Kind(name, tuple(texts), tuple(fill(one, chance) for one in kind["lookalikes"]))


def _numbers(chance: random.Random) -> Iterator[Kind]:
    for name, kind in _FILE["numbers"].items():
        frames, make = kind["secrets"], _MAKERS[name]
        texts = (frames[at % len(frames)].format(f"⟦{make(chance)}⟧") for at in range(EACH))
        yield Kind(name, tuple(texts), tuple(fill(one, chance) for one in kind["lookalikes"]))


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choices(string.digits, k=count))


def _card(chance: random.Random) -> str:
    body = chance.choice(["4", "51", "55", "62"])
    body += _digits(chance, 15 - len(body))
    return body + luhn.calc_check_digit(body)


def _iban(chance: random.Random) -> str:
    country, count = chance.choice([("DE", 18), ("PL", 24), ("AT", 16), ("SE", 20)])
    for _ in range(10_000):
        body = _digits(chance, count)
        number = f"{country}{mod_97_10.calc_check_digits(body + country)}{body}"
        if chance.random() < 0.5:
            return number
        return " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    raise AssertionError


def _ssn(chance: random.Random) -> str:
    return f"{chance.randint(100, 600)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


def _resident(chance: random.Random) -> str:
    body = f"{chance.choice(['110105', '310115', '440305'])}{chance.randint(1950, 2005)}"
    body += f"{chance.randint(1, 12):02}{chance.randint(1, 28):02}{_digits(chance, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(body, weights, strict=True))
    return body + "10X98765432"[total % 11]


def _dni(chance: random.Random) -> str:
    body = _digits(chance, 8)
    return body + dni.calc_check_digit(body)


def _nir(chance: random.Random) -> str:
    body = f"{chance.choice('12')}{chance.randint(40, 99)}{chance.randint(1, 12):02}75"
    body += _digits(chance, 6)
    return body + nir.calc_check_digits(body)


def _idnr(chance: random.Random) -> str:
    while True:
        body = _digits(chance, 10)
        number = body + str(mod_11_10.calc_check_digit(body))
        if idnr.is_valid(number):
            return number


def _cpf(chance: random.Random) -> str:
    while True:
        body = _digits(chance, 9)
        number = body + cpf._calc_check_digits(body)
        if cpf.is_valid(number):
            return str(cpf.format(number))


def _rrn(chance: random.Random) -> str:
    while True:
        body = f"{chance.randint(60, 99)}{chance.randint(1, 12):02}{chance.randint(1, 28):02}"
        body += f"{chance.choice('12')}{_digits(chance, 5)}"
        number = body + rrn.calc_check_digit(body)
        if rrn.is_valid(number):
            return f"{number[:6]}-{number[6:]}"


def _my_number(chance: random.Random) -> str:
    body = _digits(chance, 11)
    return body + my_number.calc_check_digit(body)


def _aadhaar(chance: random.Random) -> str:
    while True:
        number = chance.choice("23456789") + _digits(chance, 11)
        if aadhaar.is_valid(number):
            return str(aadhaar.format(number))


def _pesel(chance: random.Random) -> str:
    while True:
        number = f"{chance.randint(50, 99)}{chance.randint(1, 12):02}{_digits(chance, 7)}"
        if pesel.is_valid(number):
            return number


def _nino(chance: random.Random) -> str:
    return (
        f"{chance.choice('ABCEG')}{chance.choice('ABCE')} "
        + " ".join(_digits(chance, 2) for _ in range(3))
        + f" {chance.choice('ABCD')}"
    )


_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "payment card number": _card,
    "IBAN": _iban,
    "US social security number": _ssn,
    "Chinese resident identity number": _resident,
    "Spanish DNI": _dni,
    "French NIR": _nir,
    "German tax id": _idnr,
    "Brazilian CPF": _cpf,
    "Korean resident number": _rrn,
    "Japanese My Number": _my_number,
    "Indian Aadhaar": _aadhaar,
    "Polish PESEL": _pesel,
    "UK national insurance number": _nino,
}
"""What makes the numbers that have check digits."""
