"""A turn: one exchange as it was said, and where its judgement stands."""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, Field

from souffleur.knowledge.language.plain_text import clip
from souffleur.knowledge.memory import Frozen, Speaker, Text
from souffleur.knowledge.operation import Said, derive_id
from souffleur.knowledge.privacy.secrets import mask_together
from souffleur.knowledge.talk.session import WindowEntry

MAX_MESSAGE_LENGTH = 8000
"""Characters of a message that are judged, summarised, embedded and searched; all are kept."""


class TurnState(StrEnum):
    """Where a turn stands."""

    PENDING = "pending"
    JUDGED = "judged"
    FAILED = "failed"
    """Judged in vain three times; waits to be judged again on request."""


class Turn(Frozen):
    """One exchange, as it was said."""

    id: str
    """Derived from user, agent, session and `turn_id`: a turn seen twice is one turn."""
    turn_id: str
    """The host's own id."""
    user_id: str
    agent_id: str = "default"
    session_id: str
    sphere: str = ""
    """Who may know it: see `identity`. Set when it is written, by what its persona knows."""
    seq: int = 0
    """Order of arrival in this journal."""
    place: int = 0
    """Order in its session, from 1; 0: not known."""
    at: AwareDatetime
    user: Text = ""
    assistant: Text = ""
    injected: tuple[str, ...] = ()
    """Ids of the memories whispered before the reply."""
    state: TurnState = TurnState.PENDING
    version: int = 0
    """How often the reply was replaced (swipe, regenerate)."""
    tries: int = 0
    error: Text = ""
    """Why the latest try failed."""
    judged: dict[str, Any] = Field(default_factory=dict)
    """Reason, model, prompt, calls, tokens and cost of the judgement."""
    spent: dict[str, float] = Field(default_factory=dict)
    """What tries that failed have cost: calls, tokens, dollars."""
    digest: str = ""
    """Hash of the words, kept when they expire; another one under the same id is another reply."""
    embedded: bool = False
    """Whether it can be found by its words: its vectors are written in the background."""
    hidden: bool = False
    """It tells of what was to be forgotten: never found, never summarised."""
    expunged: bool = False
    """Its words have expired, or were to be forgotten."""

    @property
    def messages(self) -> int:
        """How many were said: one or two."""
        return bool(self.user) + bool(self.assistant)

    @property
    def words(self) -> str:
        """All that was said: the text it is found by."""
        return "\n".join(text for text in (self.user, self.assistant) if text)

    @property
    def window_entry(self) -> WindowEntry:
        """What the window knows of it."""
        return WindowEntry(id=self.id, at=self.at, messages=self.messages)

    def clipped(self) -> "Turn":
        """Return the turn as it is judged, told and searched: of a long message front and end."""
        both = {
            "user": clip(self.user, MAX_MESSAGE_LENGTH),
            "assistant": clip(self.assistant, MAX_MESSAGE_LENGTH),
        }
        return self.model_copy(update=both)

    def masked(self) -> "Turn":
        """Return the turn with every secret in its words masked: as it is found and shown."""
        user, assistant = mask_together(self.user, self.assistant)
        return self.model_copy(update={"user": user, "assistant": assistant})

    def said(self) -> tuple[Said, ...]:
        """Its messages in order; an empty one was not said."""
        both = ((Speaker.USER, self.user), (Speaker.ASSISTANT, self.assistant))
        return tuple(
            Said(turn_id=self.id, speaker=speaker, text=text, at=self.at)
            for speaker, text in both
            if text
        )


def turn_point_id(user_id: str, agent_id: str, session_id: str, turn_id: str) -> str:
    """The id of a turn's point."""
    return derive_id("turn", user_id, agent_id, session_id, turn_id)


def verdict_id(turns: Sequence[Turn]) -> str:
    """The id of the verdict on these turns as they were said: judged again, it is the same."""
    return derive_id("verdict", *(f"{turn.id}@{turn.version}" for turn in turns))


def digest_of(turn: Turn) -> str:
    """Hash of a turn's words."""
    return hashlib.sha256(f"{turn.user}\x1f{turn.assistant}".encode()).hexdigest()[:16]
