"""JSON in parts: elements of a list, or lines of a file, one at a time, as exports are large."""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Any

from souffleur.errors import FileError
from souffleur.integrations.importers.chats import Unread

PIECE = 1 << 20
"""Characters that are read at once."""
MAX_ELEMENT = 64 << 20
"""Characters of one element: a conversation of 10,000 messages of a page has 40 million."""
_MAX_DIGITS = 400
"""Digits of a number; one of more is endless."""
_SPACE = re.compile(r"[ \t\r\n]*")


def _number(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")


_DECODER = JSONDecoder(parse_int=_number)


def read_json(text: str) -> Any:
    """Return what a JSON text says; a number of endless digits is infinite.

    Raises JSONDecodeError, RecursionError.

    >>> read_json('{"id": 7}'), read_json("9" * 5000)
    ({'id': 7}, inf)
    """
    return json.loads(text, parse_int=_number)


def lines_of(file: Path) -> Iterator[tuple[int, dict[str, Any]] | Unread]:
    """Yield the object of each line with its number, and which lines hold none."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not (line := line.removeprefix(BOM_UTF8).strip()):
                continue
            try:
                found = read_json(line.decode())
            except UnicodeDecodeError:
                yield Unread("message", f"line {number}", "this is no UTF-8")
            except (ValueError, RecursionError):
                yield Unread("message", f"line {number}", "this is no JSON")
            else:
                if isinstance(found, dict):
                    yield number, found
                else:
                    yield Unread("message", f"line {number}", "this is no message")


def elements_of(file: IO[str], name: str) -> Iterator[tuple[int, Any]]:
    """Yield each element of a list with its number; the only value, if it is no list.

    Raises FileError where it is no JSON.
    """
    held = _Held(file)
    number, many = 0, held.take("[")
    while held.next not in ("", "]"):
        number += 1
        yield number, held.element(f"{name}, conversation {number}")
        if not many:
            return
        if not held.take(",") and held.next not in ("", "]"):
            raise FileError(f"{name}, conversation {number}, line {held.line}: this is no JSON")
    if many and not held.next:
        raise FileError(f"{name} ends after conversation {number}: it was cut")


class _Held:
    """What of a file is read and not used yet."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text, self._place, self._lines = "", 0, 1

    @property
    def next(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._place)
            self._place = space.end() if space else self._place
            if self._place < len(self._text) or not self._read_on():
                return self._text[self._place : self._place + 1]

    @property
    def line(self) -> int:
        """The number of the line."""
        return self._lines + self._text.count("\n", 0, self._place)

    def take(self, mark: str) -> bool:
        """Go past a character, if it is the next; return whether it is."""
        found = self.next == mark
        self._place += found
        return found

    def element(self, where: str) -> Any:
        """Return the value that begins here. Raises FileError."""
        while True:
            try:
                found, self._place = _DECODER.raw_decode(self._text, self._place)
            except JSONDecodeError as error:
                if len(self._text) - self._place > MAX_ELEMENT:
                    size = f"{MAX_ELEMENT >> 20} million characters"
                    raise FileError(f"{where}: this is no JSON, or more than {size}") from None
                if not self._read_on():
                    line = self._lines + error.lineno - 1
                    raise FileError(f"{where}, line {line}: this is no JSON") from None
            except RecursionError:
                raise FileError(f"{where}: nested too deeply") from None
            else:
                return found

    def _read_on(self) -> bool:
        """Read as much again as is held; return whether there was more."""
        self._lines = self.line
        self._text, self._place = self._text[self._place :], 0
        more = self._file.read(max(PIECE, len(self._text)))
        self._text += more
        return bool(more)
