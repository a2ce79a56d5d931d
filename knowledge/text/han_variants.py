"""Traditional and simplified Chinese characters: a search for 绿 also finds 綠."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path

_TABLE = Path(__file__).with_name("han_variants.txt")


def to_simplified(text: str) -> str:
    """Return the text in simplified characters, each replaced by a single character; also Japanese.

    >>> to_simplified("我的貓喝綠茶"), to_simplified("green tea")
    ('我的猫喝绿茶', 'green tea')
    """
    return text if text.isascii() else text.translate(_simplified())


def spellings(text: str) -> Iterator[str]:
    """Yield a short text with each of its characters in all variants.

    >>> sorted(spellings("绿茶")), sorted(spellings("發")), list(spellings("tea"))
    (['綠茶', '緑茶', '绿茶'], ['发', '發', '髮'], ['tea'])
    """
    every = _variants()
    for chars in product(*(every.get(char, char) for char in text)):
        yield "".join(chars)


@cache
def _simplified() -> Mapping[int, str]:
    lines = _TABLE.read_text(encoding="utf-8").splitlines()
    pairs = (pair for line in lines if not line.startswith("#") for pair in line.split())
    return {ord(pair[0]): pair[1] for pair in pairs}


@cache
def _variants() -> Mapping[str, str]:
    """Return the variants of each character that has variants, including the character itself."""
    same = defaultdict[str, list[str]](list)
    for traditional, simplified in _simplified().items():
        same[simplified].append(chr(traditional))
    groups = ("".join((simplified, *others)) for simplified, others in same.items())
    return {char: group for group in groups for char in group}
