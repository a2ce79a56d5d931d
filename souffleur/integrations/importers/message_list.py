"""Message lists: messages with role and content, as hosts keep them, in a file."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from souffleur.errors import FileError, InputError
from souffleur.integrations.importers.chats import Chat, ChatMessage, Unread
from souffleur.integrations.importers.json_parts import lines_of, read_json
from souffleur.knowledge.operation import derive_id
from souffleur.messages import TIMES, Exchanged, to_turns
from souffleur.times import is_moment


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins like this may be a list of messages."""
    return head.startswith((b"{", b"[")) and b'"role"' in head and b'"content"' in head


def read_messages(file: Path, called: Collection[str] = ()) -> Iterator[Chat | Unread]:
    """Yield the sessions of a list of messages, by their `session_id` if they have one.

    The file is a list, an object with `messages`, or one message a line; see docs/messages.md for
    what a message may be. One that is none is named, and left out. `called` is what the user is
    called. Raises FileError if the file is no list of messages.
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
            yield Chat(session_id, tuple(one for turn in turns for one in _said(turn)))


def _messages(file: Path) -> Iterator[tuple[str, Any] | Unread]:
    """Yield each message with what it is called in the file. Raises FileError."""
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
    """Return a message without a time that cannot be read: it was said with the one before it."""
    if not isinstance(message, dict):
        return message
    return {key: one for key, one in message.items() if key not in TIMES or is_moment(one)}


def _said(turn: Exchanged) -> tuple[ChatMessage, ...]:
    each = (
        ChatMessage(turn.turn_id, True, turn.user, turn.at),
        ChatMessage(turn.turn_id, False, turn.others, turn.at, by_other=True),
        ChatMessage(turn.turn_id, False, turn.reply, turn.at),
    )
    return tuple(one for one in each if one.text)
