"""A turn: the words of one exchange, and the state of its judgement."""

import hashlib
from collections.abc import Sequence, Set as AbstractSet
from enum import StrEnum
from typing import Any

from pydantic import Field

from souffleur.knowledge.memory import Frozen, Instant, Number, Speaker, Text
from souffleur.knowledge.operation import Said, derive_id
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import mask_together
from souffleur.knowledge.session import WindowEntry
from souffleur.knowledge.text.plain import clip, name_media

MAX_MESSAGE_LENGTH = 8000
"""Maximum characters of a message for judging, summarising and searching; all are stored."""


def shorten(text: str) -> str:
    """Return a text for judging, summarising and searching: media named, the middle cut if long."""
    return clip(name_media(text), MAX_MESSAGE_LENGTH)


class TurnState(StrEnum):
    """The state of a turn."""

    PENDING = "pending"
    """Waits to be judged."""
    JUDGED = "judged"
    """Judged."""
    FAILED = "failed"
    """Judging failed three times; the turn is judged again only on request."""


class Turn(Frozen):
    """One exchange: a message of the user, the reply, or both."""

    id: str
    """The id derived from user, agent, session and `turn_id`; a repeated turn has the same id."""
    turn_id: str
    """The host's own id of the turn."""
    user_id: str
    """The user who talked."""
    agent_id: str = "default"
    """The persona that replied."""
    session_id: str
    """The host's id of the session."""
    sphere: str = ""
    """Which personas may know it: see `identity`. Set when it is written, by its persona."""
    seq: Number = 0
    """The position in the journal, by arrival."""
    place: Number = 0
    """The position in its session, from 1; 0 means unknown."""
    at: Instant
    """The time when it was said."""
    arrived_at: Instant | None = None
    """When it arrived, if it was said at another time, as in an imported chat."""
    user: Text = ""
    """The words of the user."""
    assistant: Text = ""
    """The words of the reply."""
    injected: tuple[str, ...] = ()
    """The ids of the memories whispered before the reply."""
    state: TurnState = TurnState.PENDING
    """The state of its judgement."""
    version: Number = 0
    """Number of times that the reply was replaced (swipe, regenerate)."""
    tries: Number = 0
    """Number of failed tries to judge it."""
    error: Text = ""
    """The error of the latest failed try."""
    judged: dict[str, Any] = Field(default_factory=dict)
    """The reason, model, prompt, calls, tokens and cost of the judgement."""
    spent: dict[str, float] = Field(default_factory=dict)
    """The cost of failed tries: calls, tokens, dollars."""
    digest: str = ""
    """The hash of the words, kept when they expire; a new reply changes it."""
    embedded: bool = False
    """Whether its vectors are stored; they are written in the background."""
    hidden: bool = False
    """Whether it repeats something forgotten or was taken back; then no search and no summary
    reads it."""
    unread: bool = False
    """Whether it was hidden before it was judged: when it is shown again, it is judged."""
    expunged: bool = False
    """Whether its words have expired or were deleted."""

    @property
    def messages(self) -> int:
        """The number of messages: one or two."""
        return bool(self.user) + bool(self.assistant)

    @property
    def waits_since(self) -> Instant:
        """The time from which on it could be judged."""
        return self.arrived_at or self.at

    @property
    def words(self) -> str:
        """Both messages: the text by which the turn is found."""
        return "\n".join(text for text in (self.user, self.assistant) if text)

    @property
    def window_entry(self) -> WindowEntry:
        """The entry of the turn in a session's window."""
        return WindowEntry(id=self.id, at=self.at, messages=self.messages)

    def clipped(self) -> "Turn":
        """Return the turn for judging and searching: long messages cut in the middle."""
        both = {"user": shorten(self.user), "assistant": shorten(self.assistant)}
        return self.model_copy(update=both)

    def masked(self, groups: AbstractSet[Group] = NEVER_KEPT) -> "Turn":
        """Return the turn with all sensitive data of these groups in its words masked."""
        user, assistant = mask_together(self.user, self.assistant, groups=groups)
        return self.model_copy(update={"user": user, "assistant": assistant})

    def unsaid(self, turn_id: str) -> "Turn":
        """Return a turn without words, for another turn of this session that was taken back."""
        id = turn_point_id(self.user_id, self.agent_id, self.session_id, turn_id)
        bare: dict[str, Any] = {"user": "", "assistant": "", "injected": ()}
        gone = {"hidden": True, "expunged": True}
        return self.model_copy(update={"id": id, "turn_id": turn_id, **bare, **gone})

    def said(self) -> tuple[Said, ...]:
        """Return the messages of the turn in order; skips empty messages."""
        both = ((Speaker.USER, self.user), (Speaker.ASSISTANT, self.assistant))
        return tuple(
            Said(
                turn_id=self.id,
                speaker=speaker,
                text=text,
                at=self.at,
                session_id=self.session_id,
                host_turn_id=self.turn_id,
            )
            for speaker, text in both
            if text
        )


def turn_point_id(user_id: str, agent_id: str, session_id: str, turn_id: str) -> str:
    """Return the id of a turn's point."""
    return derive_id("turn", user_id, agent_id, session_id, turn_id)


def verdict_id(turns: Sequence[Turn]) -> str:
    """Return the id of the verdict on these versions of turns, the same if judged again."""
    return derive_id("verdict", *(f"{turn.id}@{turn.version}" for turn in turns))


def digest_of(turn: Turn) -> str:
    """Return the hash of a turn's words."""
    return hashlib.sha256(f"{turn.user}\x1f{turn.assistant}".encode()).hexdigest()[:16]
