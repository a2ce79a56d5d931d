"""Messages as chat hosts keep them, and the turns made of them."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from souffleur.contents import content_of, is_unsaid, look_up, read_content
from souffleur.errors import MessageError
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.language.thinking import without_thinking
from souffleur.moments import read_moment

Messages = Sequence[Any]
"""Messages as OpenAI or LangChain give them, or pairs of role and text: see docs/messages.md."""

_ROLES = {
    "user": "user",
    "human": "user",
    "humanmessagechunk": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
}
_LEFT_OUT = frozenset(
    {"system", "developer", "tool", "function", "remove"}
    | {"systemmessagechunk", "toolmessagechunk", "functionmessagechunk"}
)
TIMES = ("at", "timestamp", "created_at")
"""Fields that say when a message was said."""
_FORMS = "{'role': 'user', 'content': …}, ('user', …) or a LangChain message"


@dataclass(frozen=True)
class Exchanged:
    """A turn made of messages."""

    turn_id: str
    """An id derived from position and text: the same messages make the same turns."""
    user: str
    assistant: str
    at: datetime | None
    """When its first message was said; without a zone if the message names none."""


def to_turns(messages: Messages) -> list[Exchanged]:
    """Return the turns of messages: what the user says, with the replies that follow.

    System, developer and tool messages, and replies that only call tools, are left out. Raises
    MessageError, which names the message, for anything that is no message.

    >>> turns = to_turns([("user", "hi"), ("assistant", "ho"), ("human", "so"), ("human", "so")])
    >>> [(turn.user, turn.assistant) for turn in turns]
    [('hi', 'ho'), ('so\\nso', '')]
    """
    single = isinstance(messages, str | bytes | Mapping) or hasattr(messages, "content")
    if single or not isinstance(messages, Iterable):
        raise MessageError("messages must be a list: [{'role': …, 'content': …}, …]")
    turns: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        try:
            role, content, at = _read(message)
        except MessageError as error:
            raise MessageError(f"message {index}: {error}") from None
        if not content.strip():
            continue
        begins = role == "user" and (not turns or bool(turns[-1]["assistant"]))
        if begins or not turns:
            turns.append({"user": [], "assistant": [], "at": at})
        turns[-1][role].append(content)
    return [_exchanged(turn, index) for index, turn in enumerate(turns)]


def _read(message: Any) -> tuple[str, str, datetime | None]:
    """Return who speaks, the text, which is empty if it is left out, and when it was said."""
    message = _unpacked(message)
    role = _role(message)
    if not role:
        return "", "", None
    content = content_of(message)
    if content is None and role == "user":
        raise MessageError(f"it has no content: write {_FORMS}, or leave it out")
    times = (look_up(message, name) for name in TIMES)
    at = next((time for time in times if time is not None), None)
    text = mend(read_content(content))
    said = without_thinking(text) if role == "assistant" else text
    return role, said, None if at is None else read_moment(at)


def _unpacked(message: Any) -> Any:
    """Return a message with its fields at the top: from a pair, or as LangChain stores it."""
    if isinstance(message, list | tuple):
        if len(message) != 2:
            raise MessageError(f"it is no pair of role and text: write {_FORMS}")
        return {"role": message[0], "content": message[1]}
    if isinstance(message, Mapping) and "content" not in message:
        for name in ("data", "kwargs"):
            if isinstance(stored := message.get(name), Mapping):
                return {"type": message.get("type"), **stored}
    return message


def _role(message: Any) -> str:
    """Return `user` or `assistant`; nothing if such messages are left out."""
    role = look_up(message, "role") or look_up(message, "type")
    if not isinstance(role, str):
        raise MessageError(f"{type(message).__name__} without a role is no message: write {_FORMS}")
    if role.lower() in _LEFT_OUT or is_unsaid(role):
        return ""
    if role.lower() not in _ROLES:
        raise MessageError(
            f"{role[:40]!r} is no role: write user or assistant, human or ai; messages of system, "
            "developer, tool and function are left out"
        )
    return _ROLES[role.lower()]


def _exchanged(turn: dict[str, Any], index: int) -> Exchanged:
    user, assistant = "\n".join(turn["user"]), "\n".join(turn["assistant"])
    digest = hashlib.sha256(f"{user}\x1f{assistant}".encode()).hexdigest()[:12]
    return Exchanged(f"{index:04d}-{digest}", user, assistant, turn["at"])
