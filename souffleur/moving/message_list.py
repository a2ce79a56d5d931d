"""Message lists: messages with role and content, as hosts keep them, in a file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from souffleur.errors import MessageError, TransferError
from souffleur.knowledge.operation import derive_id
from souffleur.messages import Exchanged, to_turns
from souffleur.moving.chats import Chat, ChatMessage


def looks_like(head: bytes) -> bool:
    """Return whether a file that begins like this may be a list of messages."""
    return head.startswith((b"{", b"[")) and b'"role"' in head and b'"content"' in head


def read_messages(file: Path) -> Iterator[Chat]:
    """Yield the sessions of a list of messages, by their `session_id` if they have one.

    The file is a list, an object with `messages`, or one message a line; see docs/messages.md for
    what a message may be. Raises TransferError, which names the line or the message.
    """
    sessions: dict[str | None, list[Any]] = {}
    for message in _messages(file):
        named = message.get("session_id") if isinstance(message, dict) else None
        sessions.setdefault(None if named is None else str(named), []).append(message)
    for name, messages in sessions.items():
        whose = f"{file}, session {name!r}" if name else str(file)
        try:
            turns = to_turns(messages)
        except MessageError as error:
            raise TransferError(f"{whose}: {error}") from None
        if turns:
            first = turns[0]
            session_id = name or f"messages-{derive_id('messages', first.user, first.assistant)}"
            yield Chat(session_id, tuple(one for turn in turns for one in _said(turn)))


def _messages(file: Path) -> list[Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
        found = [*_lines(text, file)] if _is_lines(text) else json.loads(text)
    except UnicodeDecodeError:
        raise TransferError(f"{file} is no JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise TransferError(f"{file}, line {error.lineno}: this is no JSON") from None
    except RecursionError:
        raise TransferError(f"{file} is nested too deeply") from None
    except ValueError:  # of more digits than Python reads
        raise TransferError(f"{file}: a number is too long") from None
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list):
        raise TransferError(f"{file} holds no list of messages")
    return found


def _is_lines(text: str) -> bool:
    """Return whether the first line is a whole message."""
    try:
        first = json.loads(text.lstrip().partition("\n")[0])
    except ValueError:
        return False
    return isinstance(first, dict) and "messages" not in first


def _lines(text: str, file: Path) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError:
                raise TransferError(f"{file}, line {number}: this is no JSON") from None


def _said(turn: Exchanged) -> tuple[ChatMessage, ChatMessage]:
    both = ((True, turn.user), (False, turn.assistant))
    one, other = (ChatMessage(turn.turn_id, by_user, text, turn.at) for by_user, text in both)
    return one, other
