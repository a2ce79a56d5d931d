"""Messages as chat hosts keep them, and the turns made of them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from souffleur.errors import MessageError
from souffleur.knowledge.language.plain_text import mend

Messages = Sequence[Mapping[str, Any]]
"""Mappings with `role` (user or assistant), `content` and optionally `at` (aware datetime)."""


@dataclass(frozen=True)
class Exchanged:
    """A turn made of messages."""

    turn_id: str
    """An id derived from position and text: the same messages make the same turns."""
    user: str
    assistant: str
    at: datetime | None


def to_turns(messages: Messages) -> list[Exchanged]:
    """Return the turns of messages: what the user says, with the replies that follow.

    System and tool messages are left out. Raises MessageError for an invalid message.

    >>> said = [("user", "hi"), ("assistant", "ho"), ("user", "so"), ("user", "so")]
    >>> turns = to_turns([{"role": role, "content": text} for role, text in said])
    >>> [(turn.user, turn.assistant) for turn in turns]
    [('hi', 'ho'), ('so\\nso', '')]
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise MessageError("messages must be a list: [{'role': …, 'content': …}, …]")
    turns: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        role, content, at = _read(message, index)
        if role not in ("user", "assistant") or not content.strip():
            continue
        begins = role == "user" and (not turns or bool(turns[-1]["assistant"]))
        if begins or not turns:
            turns.append({"user": [], "assistant": [], "at": at})
        turns[-1][role].append(content)
    return [_exchanged(turn, index) for index, turn in enumerate(turns)]


def _read(message: Mapping[str, Any], index: int) -> tuple[str, str, datetime | None]:
    if not isinstance(message, Mapping):
        raise MessageError(f"message {index} is no mapping: write {{'role': …, 'content': …}}")
    role, content = message.get("role"), message.get("content")
    at = message.get("at")
    if not isinstance(role, str) or not isinstance(content, str):
        raise MessageError(f"message {index} needs a role and a text: {{'role': …, 'content': …}}")
    if at is not None and (not isinstance(at, datetime) or at.tzinfo is None):
        raise MessageError(f"message {index}: `at` must be a datetime with a time zone")
    return role, mend(content), at


def _exchanged(turn: dict[str, Any], index: int) -> Exchanged:
    user, assistant = "\n".join(turn["user"]), "\n".join(turn["assistant"])
    digest = hashlib.sha256(f"{user}\x1f{assistant}".encode()).hexdigest()[:12]
    return Exchanged(f"{index:04d}-{digest}", user, assistant, turn["at"])
