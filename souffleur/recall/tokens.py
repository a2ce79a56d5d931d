"""The length of a text in tokens, estimated: no tokenizer is needed, and none is fetched."""

from collections.abc import Callable

Count = Callable[[str], int]
"""Returns the length of a text in tokens."""

_ASCII = 26
"""Hundredths of a token that a character of ASCII costs; rather too many, as `_OTHER`."""
_OTHER = 35
"""Hundredths that a byte of any other character costs; Chinese and kana take three bytes each."""


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text, for any model: rather too many than too few.

    >>> estimate_tokens("主人喜欢拉面"), estimate_tokens("The user likes ramen.")
    (7, 6)
    """
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "replace")) - plain
    return -(-(_ASCII * plain + _OTHER * other) // 100)
