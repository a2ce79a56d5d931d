"""Invisible marks around text in a message that the companion itself did not say."""

import re

BEGIN = "\N{INVISIBLE SEPARATOR}\N{INVISIBLE TIMES}\N{INVISIBLE SEPARATOR}"
END = "\N{INVISIBLE SEPARATOR}\N{INVISIBLE PLUS}\N{INVISIBLE SEPARATOR}"
_MARKED = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}", re.DOTALL)


def _in_json(mark: str) -> str:
    """Return a pattern of a mark in JSON, whose characters may be escaped."""
    return "".join(rf"(?:{one}|(?<!\\)\\u{ord(one):04x})" for one in mark)


_MARKED_IN_JSON = re.compile(
    rf'{_in_json(BEGIN)}(?:[^"\\]|\\.)*?{_in_json(END)}'.encode(), re.DOTALL | re.IGNORECASE
)

_FIRST_IN_JSON = (BEGIN[0].encode(), rf"\u{ord(BEGIN[0]):04x}".encode())
"""The possible forms of a mark's first character; a body without these forms has no marks."""


def marked(text: str) -> str:
    """Return a text between marks."""
    return f"{BEGIN}{text}{END}"


def unmarked(text: str) -> str:
    """Return a text without the parts between marks.

    >>> unmarked("Good morning!" + marked("Remembered: tea"))
    'Good morning!'
    """
    return _MARKED.sub("", text)


def unmarked_json(body: bytes) -> bytes:
    r"""Return JSON whose strings have no parts between marks; everything else stays as it is.

    >>> import json
    >>> unmarked_json(json.dumps({"content": "Hi!" + marked('"tea"\n')}).encode())
    b'{"content": "Hi!"}'
    """
    marks = any(form in body for form in _FIRST_IN_JSON)
    return _MARKED_IN_JSON.sub(b"", body) if marks else body
