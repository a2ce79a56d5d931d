"""A turn: one exchange as it was said, and the state of its judgement."""

import hashlib
from collections.abc import Sequence, Set as AbstractSet
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import Field

from souffleur.knowledge.memory import Frozen, Instant, Number, Speaker, Text
from souffleur.knowledge.operation import Said, derive_id
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import mask_together
from souffleur.knowledge.session import WindowEntry
from souffleur.knowledge.text.plain import clip, name_media

MAX_MESSAGE_LENGTH = 8000
"""Characters of a message that are judged, summarised and searched; the whole is stored."""


def shorten(text: str) -> str:
    """Return a text as it is judged, summarised and searched: media named, cut in the middle."""
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
    """One exchange, as it was said."""

    id: str
    """The id derived from user, agent, session and `turn_id`: a turn seen twice is one turn."""
    turn_id: str
    """The host's own id of the turn."""
    user_id: str
    """Who said it."""
    agent_id: str = "default"
    """The persona that replied."""
    session_id: str
    """The host's id of the session."""
    sphere: str = ""
    """Which personas may know it: see `identity`. Set when it is written, by its persona."""
    seq: Number = 0
    """The position by arrival in this journal."""
    place: Number = 0
    """The position in its session, from 1; 0 means unknown."""
    at: Instant
    """When it was said."""
    user: Text = ""
    """What the user said."""
    assistant: Text = ""
    """What the companion replied."""
    injected: tuple[str, ...] = ()
    """The ids of the memories whispered before the reply."""
    state: TurnState = TurnState.PENDING
    """Whether it is judged."""
    version: Number = 0
    """How often the reply was replaced (swipe, regenerate)."""
    tries: Number = 0
    """Failed tries to judge it."""
    error: Text = ""
    """The error of the latest failed try."""
    judged: dict[str, Any] = Field(default_factory=dict)
    """The reason, model, prompt, calls, tokens and cost of the judgement."""
    spent: dict[str, float] = Field(default_factory=dict)
    """The cost of failed tries: calls, tokens, dollars."""
    digest: str = ""
    """The hash of the words, kept when they expire; another hash means that a reply is new."""
    embedded: bool = False
    """Whether its vectors, which are written in the background, are stored."""
    hidden: bool = False
    """Whether it repeats something forgotten on request, or was taken back: never found, never
    summarised."""
    unread: bool = False
    """Whether it was hidden before it was judged: if it is shown again, it is judged."""
    expunged: bool = False
    """Whether its words have expired or were deleted."""

    @property
    def messages(self) -> int:
        """The number of messages: one or two."""
        return bool(self.user) + bool(self.assistant)

    @property
    def words(self) -> str:
        """Both messages: the text by which the turn is found."""
        return "\n".join(text for text in (self.user, self.assistant) if text)

    @property
    def window_entry(self) -> WindowEntry:
        """The entry of the turn in a session's window."""
        return WindowEntry(id=self.id, at=self.at, messages=self.messages)

    def clipped(self) -> "Turn":
        """Return the turn as it is judged and searched: long messages cut in the middle."""
        both = {"user": shorten(self.user), "assistant": shorten(self.assistant)}
        return self.model_copy(update=both)

    def masked(self, groups: AbstractSet[Group] = NEVER_KEPT) -> "Turn":
        """Return the turn with all sensitive data of these groups in its words masked."""
        user, assistant = mask_together(self.user, self.assistant, groups=groups)
        return self.model_copy(update={"user": user, "assistant": assistant})

    def unsaid(self, turn_id: str) -> "Turn":
        """Return another turn of the same session as one that was taken back: it has no words."""
        id = turn_point_id(self.user_id, self.agent_id, self.session_id, turn_id)
        bare: dict[str, Any] = {"user": "", "assistant": "", "injected": ()}
        gone = {"hidden": True, "expunged": True}
        return self.model_copy(update={"id": id, "turn_id": turn_id, **bare, **gone})

    def said(self) -> tuple[Said, ...]:
        """Return its messages in order; empty ones are left out."""
        return _messages_of(self)


class Words(Frozen):
    """What was said in a turn, without its judgement, which a reader of the talk need not decode.

    See `Turn` for the fields.
    """

    id: str
    turn_id: str
    session_id: str
    at: Instant
    user: Text = ""
    assistant: Text = ""

    @cached_property
    def said(self) -> tuple[Said, ...]:
        """Its messages in order, each as it is judged; empty ones are left out."""
        both = {"user": shorten(self.user), "assistant": shorten(self.assistant)}
        return _messages_of(self.model_copy(update=both))


def _messages_of(turn: Turn | Words) -> tuple[Said, ...]:
    both = ((Speaker.USER, turn.user), (Speaker.ASSISTANT, turn.assistant))
    return tuple(
        Said(
            turn_id=turn.id,
            speaker=speaker,
            text=text,
            at=turn.at,
            session_id=turn.session_id,
            host_turn_id=turn.turn_id,
        )
        for speaker, text in both
        if text
    )


def turn_point_id(user_id: str, agent_id: str, session_id: str, turn_id: str) -> str:
    """Return the id of a turn's point."""
    return derive_id("turn", user_id, agent_id, session_id, turn_id)


def verdict_id(turns: Sequence[Turn]) -> str:
    """Return the id of the verdict on these versions of turns; judging them again repeats it."""
    return derive_id("verdict", *(f"{turn.id}@{turn.version}" for turn in turns))


def digest_of(turn: Turn) -> str:
    """Return the hash of a turn's words."""
    return hashlib.sha256(f"{turn.user}\x1f{turn.assistant}".encode()).hexdigest()[:16]
