"""Chats: conversations held elsewhere, and the turns as which they are told again, in order."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any

from souffleur.knowledge.text.plain import is_blank, mend


@dataclass(frozen=True)
class ChatMessage:
    """One message of a chat."""

    id: str
    """What it is called in its chat; the same each time the chat is read."""
    by_user: bool
    text: str
    at: datetime | None = None
    """When it was said; without a zone if the file names none; `None` if it cannot be read."""
    by_other: bool = False
    """Whether neither the user nor the companion said it; then the text begins with who did."""


@dataclass(frozen=True)
class Unread:
    """A part of a file that cannot be read: it is left out, and what is around it is taken."""

    kind: str
    """What it is: conversation, message, memory."""
    name: str
    """Which one it is, without the name of the file."""
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


@dataclass(frozen=True)
class Chat:
    """A conversation."""

    session_id: str
    """The session as which it is told again."""
    messages: tuple[ChatMessage, ...]
    """What was said, in order."""
    begun: datetime | None = None
    """When it began, for messages without a time."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What of it is not told, by kind and reason."""
    former: "Chat | None" = None
    """The same with the ids that earlier versions gave it, if they are others."""


@dataclass(frozen=True)
class ChatTurn:
    """What the user says, with the replies that follow."""

    session_id: str
    turn_id: str
    """The id of its first message."""
    at: datetime
    user: str
    assistant: str = ""


NAMED = 60
"""Characters of a title or an id by which a part is named."""
MAX_LISTED = 1000
"""Parts that cannot be read which are named; all are counted."""
NO_QUESTION = "message: before the user says anything"
"""What is left out: greetings, which are the same in every chat."""


def listed(unread: Sequence[Unread]) -> tuple[str, ...]:
    """Return what could not be read, in words; half of a character is mended."""
    return tuple(mend(str(one)) for one in unread[:MAX_LISTED])


def fields_of(value: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; none of anything else.

    >>> fields_of({"id": 7}), fields_of("id")
    ({'id': 7}, {})
    """
    return value if isinstance(value, dict) else {}


def turns_of(chat: Chat, *, zone: tzinfo, now: datetime) -> tuple[list[ChatTurn], Counter[str]]:
    """Return the turns of a chat, and what was left out.

    Times never run backward within a chat, and none is after `now`; those without a zone are in
    `zone`. A message without a time was said with the one before it.

    >>> from datetime import UTC
    >>> said = [("1", False, "Welcome!"), ("2", True, "hi"), ("3", False, "ho"), ("4", True, "so")]
    >>> chat = Chat("s", tuple(ChatMessage(*one) for one in said))
    >>> turns, left_out = turns_of(chat, zone=UTC, now=datetime(2026, 1, 3, tzinfo=UTC))
    >>> [(turn.turn_id, turn.user, turn.assistant) for turn in turns], left_out.total()
    ([('2', 'hi', 'ho'), ('4', 'so', '')], 1)
    """
    left_out = Counter(chat.left_out)
    turns: list[ChatTurn] = []
    latest, replied = _placed(_first_time(chat), zone, now), True
    for message in chat.messages:
        if is_blank(message.text):
            continue
        at = latest if message.at is None else max(latest, _placed(message.at, zone, now))
        is_reply = not (message.by_user or message.by_other)
        if is_reply and not turns:
            left_out[NO_QUESTION] += 1
            continue
        if replied and not is_reply:
            turns.append(ChatTurn(chat.session_id, message.id, at, ""))
        turns[-1] = _longer(turns[-1], message)
        latest, replied = at, is_reply
    return turns, left_out


def in_order(chats: Iterable[Sequence[ChatTurn]]) -> Iterator[ChatTurn]:
    """Yield the turns of all chats as they were said, one chat's in its own order."""
    return heapq.merge(*chats, key=lambda turn: turn.at)


def _first_time(chat: Chat) -> datetime | None:
    times = (message.at for message in chat.messages if message.at is not None)
    return next(times, chat.begun)


def _placed(at: datetime | None, zone: tzinfo, now: datetime) -> datetime:
    if at is None:
        return now
    return min(at if at.utcoffset() is not None else at.replace(tzinfo=zone), now)


def _longer(turn: ChatTurn, message: ChatMessage) -> ChatTurn:
    if message.by_user:
        return replace(turn, user="\n".join(filter(None, (turn.user, mend(message.text)))))
    return replace(turn, assistant="\n".join(filter(None, (turn.assistant, mend(message.text)))))
