"""JSON as text: where a value stands in it, so that it can be changed without touching the rest."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def parse_object(data: str | bytes | bytearray) -> dict[str, Any] | None:
    """Return the JSON object; `None` if it is anything else.

    >>> parse_object('{"a": 1}'), parse_object("[1]"), parse_object("{")
    ({'a': 1}, None, None)
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Span:
    """A value, and where it stands in the text."""

    value: Any
    """The value."""
    begin: int
    """Position of its first character."""
    end: int
    """Position after its last character."""


def find_members(text: str, begin: int = 0) -> dict[str, Span]:
    """Return the members of the object that begins there; of two with one name, the last.

    >>> find_members('{"a": 1, "b": [2]}')["b"]
    Span(value=[2], begin=14, end=17)
    """
    found = {}
    at = _skip(text, text.index("{", begin) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        begins = _skip(text, text.index(":", at) + 1)
        value, at = _DECODER.raw_decode(text, begins)
        found[name] = Span(value, begins, at)
        at = _next(text, at)
    return found


def find_items(text: str, begin: int) -> Iterator[Span]:
    """Yield the items of the array that begins there.

    >>> [item.value for item in find_items('[1, {"a": 2}]', 0)]
    [1, {'a': 2}]
    """
    at = _skip(text, begin + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield Span(value, at, end)
        at = _next(text, end)


def insert(text: str, at: int, more: str) -> str:
    """Return the text with more at a position.

    >>> insert("ac", 1, "b")
    'abc'
    """
    return f"{text[:at]}{more}{text[at:]}"


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _next(text: str, at: int) -> int:
    """Return where the next member or item begins, or where the object or array ends."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
