"""Chats: conversations of other programs, their turns, and readers of JSON."""

import heapq
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Any

from souffleur.errors import FileError, InputError
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.text.plain import is_blank, mend
from souffleur.messages import TIMES, Exchanged, to_turns
from souffleur.times import is_moment


@dataclass(frozen=True)
class ChatMessage:
    """A message of a chat."""

    id: str
    """The id within the chat; the same each time the chat is read."""
    by_user: bool
    text: str
    at: datetime | None = None
    """The time, without a zone if the file has none; `None` if it cannot be read."""
    by_other: bool = False
    """Whether a third person wrote it; then the text begins with the person's name."""


@dataclass(frozen=True)
class Unread:
    """A part of a file that cannot be read; the other parts are imported."""

    kind: str
    """conversation, message or memory."""
    name: str
    """The title or number, without the name of the file."""
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True)
class Chat:
    """A conversation."""

    session_id: str
    """The session in which its turns are observed."""
    messages: tuple[ChatMessage, ...]
    begun: datetime | None = None
    """The time of messages without one."""
    left_out: Counter[str] = field(default_factory=Counter)
    """The number of messages that are not imported, by kind and reason."""


@dataclass(frozen=True)
class ChatTurn:
    """Messages of the user, with the replies that follow."""

    session_id: str
    turn_id: str
    """The id of the first message."""
    at: datetime
    user: str
    assistant: str = ""


MAX_NAME = 60
"""Maximum number of characters of a title or an id in an error."""
MAX_LISTED = 1000
"""Maximum number of unread parts that are listed; all are counted."""
NO_QUESTION = "message: before the user says anything"
"""The reason why greetings are left out: they are the same in every chat."""


def listed(unread: Sequence[Unread]) -> tuple[str, ...]:
    """Return a line for each unread part; lone surrogates are replaced."""
    return tuple(mend(str(one)) for one in unread[:MAX_LISTED])


def fields_of(value: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; empty for any other value.

    >>> fields_of({"id": 7}), fields_of("id")
    ({'id': 7}, {})
    """
    return value if isinstance(value, dict) else {}


def turns_of(chat: Chat, *, zone: tzinfo, now: datetime) -> tuple[list[ChatTurn], Counter[str]]:
    """Return the turns of a chat, and the number of messages left out by reason.

    The times of a chat are in order and not after `now`; times without a zone are in `zone`. A
    message without a time has the time of the message before.

    >>> from datetime import UTC
    >>> said = [("1", False, "Welcome!"), ("2", True, "hi"), ("3", False, "ho"), ("4", True, "so")]
    >>> chat = Chat("s", tuple(ChatMessage(*one) for one in said))
    >>> turns, left_out = turns_of(chat, zone=UTC, now=datetime(2026, 1, 3, tzinfo=UTC))
    >>> [(turn.turn_id, turn.user, turn.assistant) for turn in turns], left_out.total()
    ([('2', 'hi', 'ho'), ('4', 'so', '')], 1)
    """
    left_out = Counter(chat.left_out)
    turns: list[ChatTurn] = []
    first = next((one.at for one in chat.messages if one.at is not None), chat.begun)
    latest, replied = _in_zone(first, zone, now), True
    for message in chat.messages:
        if is_blank(message.text):
            continue
        at = latest if message.at is None else max(latest, _in_zone(message.at, zone, now))
        is_reply = not (message.by_user or message.by_other)
        if is_reply and not turns:
            left_out[NO_QUESTION] += 1
            continue
        if replied and not is_reply:
            turns.append(ChatTurn(chat.session_id, message.id, at, ""))
        part = "user" if message.by_user else "assistant"
        text = "\n".join(filter(None, (getattr(turns[-1], part), mend(message.text))))
        changed: dict[str, Any] = {part: text}
        turns[-1] = replace(turns[-1], **changed)
        latest, replied = at, is_reply
    return turns, left_out


def in_order(chats: Iterable[Sequence[ChatTurn]]) -> Iterator[ChatTurn]:
    """Yield the turns of all chats by time, those of each chat in its own order."""
    return heapq.merge(*chats, key=lambda turn: turn.at)


def _in_zone(at: datetime | None, zone: tzinfo, now: datetime) -> datetime:
    if at is None:
        return now
    return min(at if at.utcoffset() is not None else at.replace(tzinfo=zone), now)


PIECE = 1 << 20
"""Number of characters that are read at once."""
MAX_ELEMENT = 64 << 20
"""Maximum number of characters of an element; 10,000 messages of a page have 40 million."""
_MAX_DIGITS = 400
"""Maximum number of digits of an integer; a longer one is read as infinity."""
_SPACE = re.compile(r"[ \t\r\n]*")


def _number(digits: str) -> float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")


_DECODER = JSONDecoder(parse_int=_number)


def read_json(text: str) -> Any:
    """Return the value of a JSON text; an integer of too many digits is infinity.

    Raises JSONDecodeError, RecursionError.

    >>> read_json('{"id": 7}'), read_json("9" * 5000)
    ({'id': 7}, inf)
    """
    return json.loads(text, parse_int=_number)


def lines_of(file: Path) -> Iterator[tuple[int, dict[str, Any]] | Unread]:
    """Yield the object and the number of each line, or an Unread."""
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
    """Yield each element of a JSON list with its number, without loading the whole file.

    A value that is no list is yielded itself. Raises FileError for invalid JSON.
    """
    buffer = _Buffer(file)
    number, many = 0, buffer.take("[")
    while buffer.next not in ("", "]"):
        number += 1
        yield number, buffer.element(f"{name}, conversation {number}")
        if not many:
            return
        if not buffer.take(",") and buffer.next not in ("", "]"):
            raise FileError(f"{name}, conversation {number}, line {buffer.line}: this is no JSON")
    if many and not buffer.next:
        raise FileError(f"{name} ends after conversation {number}: it was cut")


class _Buffer:
    """The text of a file that was read and not parsed yet."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text, self._place, self._lines = "", 0, 1

    @property
    def next(self) -> str:
        """The next character that is no space; empty at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._place)
            self._place = space.end() if space else self._place
            if self._place < len(self._text) or not self._read_more():
                return self._text[self._place : self._place + 1]

    @property
    def line(self) -> int:
        """The number of the next line."""
        return self._lines + self._text.count("\n", 0, self._place)

    def take(self, mark: str) -> bool:
        """Skip a character if it is the next; return whether it was."""
        found = self.next == mark
        self._place += found
        return found

    def element(self, where: str) -> Any:
        """Return the next value. Raises FileError."""
        while True:
            try:
                found, self._place = _DECODER.raw_decode(self._text, self._place)
            except JSONDecodeError as error:
                if len(self._text) - self._place > MAX_ELEMENT:
                    size = f"{MAX_ELEMENT >> 20} million characters"
                    raise FileError(f"{where}: this is no JSON, or more than {size}") from None
                if not self._read_more():
                    line = self._lines + error.lineno - 1
                    raise FileError(f"{where}, line {line}: this is no JSON") from None
            except RecursionError:
                raise FileError(f"{where}: nested too deeply") from None
            else:
                return found

    def _read_more(self) -> bool:
        """Double the buffer; return whether the file had more text."""
        self._lines = self.line
        self._text, self._place = self._text[self._place :], 0
        more = self._file.read(max(PIECE, len(self._text)))
        self._text += more
        return bool(more)


def is_message_list(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of a list of messages."""
    return head.startswith((b"{", b"[")) and b'"role"' in head and b'"content"' in head


def read_messages(file: Path, called: Collection[str] = ()) -> Iterator[Chat | Unread]:
    """Yield the sessions of a list of messages by `session_id`, and unreadable messages.

    The file is a list, an object with `messages`, or one message per line, in the formats of
    docs/python.md. `called` has the names of the user. Raises FileError for any other file.
    """
    sessions: dict[str | None, list[Any]] = {}
    for found in _messages(file):
        if isinstance(found, Unread):
            yield found
            continue
        where, message = found
        try:
            to_turns([_timed(message)])
        except InputError as error:
            yield Unread("message", where, str(error).removeprefix("message 0: "))
            continue
        named = message.get("session_id") if isinstance(message, dict) else None
        sessions.setdefault(None if named is None else str(named), []).append(_timed(message))
    for name, messages in sessions.items():
        if turns := to_turns(messages, called):
            first = turns[0]
            session_id = name or f"messages-{derive_id('messages', first.user, first.assistant)}"
            yield Chat(session_id, tuple(one for turn in turns for one in _messages_of(turn)))


def _messages(file: Path) -> Iterator[tuple[str, Any] | Unread]:
    """Yield each message with its place in the file. Raises FileError."""
    try:
        found = read_json(file.read_text(encoding="utf-8-sig"))
    except RecursionError:
        raise FileError(f"{file} is nested too deeply") from None
    except ValueError as error:
        lines = [*lines_of(file)]
        if sum(isinstance(one, Unread) for one in lines) * 2 > len(lines):
            if isinstance(error, json.JSONDecodeError):
                raise FileError(f"{file}, line {error.lineno}: this is no JSON") from None
            raise FileError(f"{file} is no JSON in UTF-8") from None
        yield from (one if isinstance(one, Unread) else (f"line {one[0]}", one[1]) for one in lines)
        return
    if isinstance(found, dict):
        found = found.get("messages", [found])
    if not isinstance(found, list):
        raise FileError(f"{file} holds no list of messages")
    yield from ((f"message {number}", one) for number, one in enumerate(found))


def _timed(message: Any) -> Any:
    """Return a message without a time that cannot be read."""
    if not isinstance(message, dict):
        return message
    return {key: one for key, one in message.items() if key not in TIMES or is_moment(one)}


def _messages_of(turn: Exchanged) -> Iterator[ChatMessage]:
    if turn.user:
        yield ChatMessage(turn.turn_id, True, turn.user, turn.at)
    if turn.others:
        yield ChatMessage(turn.turn_id, False, turn.others, turn.at, by_other=True)
    if turn.reply:
        yield ChatMessage(turn.turn_id, False, turn.reply, turn.at)
