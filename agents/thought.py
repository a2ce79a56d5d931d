"""Thought: the answer to a question that a model has looked up, and what it may say on the way."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.brief import NONE, Persona, both_said
from souffleur.agents.fields import Handle, Many, Note, Remark, in_capitals, shorten
from souffleur.agents.model.chat import Usage
from souffleur.knowledge.search.query import Found, Scope
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn

MAX_NOTE_LENGTH = 800
"""Maximum characters of a note; the rest of a longer one is not shown."""


Look = Callable[[str], Awaitable[Sequence[Found]]]
"""Returns the records that are found for some words, best first."""


@dataclass(frozen=True)
class Question:
    """A question about what is remembered of a user."""

    user_id: str
    """The user who is asked about."""
    agent_id: str
    """The persona that is asked."""
    text: str
    """The question."""
    now: datetime
    """The time of the question."""
    topics: tuple[str, ...]
    """The topics of the user's memories; a search for one of these words finds all that it has."""


@dataclass(frozen=True)
class Thought:
    """The answer of a model that has searched for it."""

    answer: str
    """The answer, in a few sentences; empty if it is not known."""
    known: bool
    """Whether an answer was found. It is not, if it rests on nothing that the model was shown."""
    rounds: int
    """How often the model was asked."""
    usage: Usage
    """The calls, tokens and dollars that it took."""


NOTHING_KNOWN = Thought("", known=False, rounds=0, usage=Usage())
"""The answer without a question to a model."""


class Action(StrEnum):
    """What a model may do in a round."""

    SEARCH = "SEARCH"
    ANSWER = "ANSWER"
    UNKNOWN = "UNKNOWN"


class Step(BaseModel):
    """What a model says in one round, the reason first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    action: Annotated[Action, BeforeValidator(in_capitals)]
    query: Note = None
    answer: Note = None
    ids: Many[Handle] = []


class LastStep(Step):
    """What it may say when no search is left."""

    action: Annotated[Literal[Action.ANSWER, Action.UNKNOWN], BeforeValidator(in_capitals)]


def fault(step: Step) -> str:
    """Return why a step is unusable; empty if it is usable.

    >>> fault(Step(reason="", action=Action.ANSWER, answer="In Oslo."))
    'ids: name the notes that the answer rests on'
    """
    if step.action is Action.SEARCH and not step.query:
        return "query: is missing; say what to look for"
    if step.action is Action.ANSWER and not step.answer:
        return "answer: is missing"
    if step.action is Action.ANSWER and not step.ids:
        return "ids: name the notes that the answer rests on"
    return ""


def list_notes(notes: Mapping[str, Found], persona: Persona, now: datetime, language: str) -> str:
    """List notes, a line for each: id, kind, day, the day on which it ended, and words."""
    lines = []
    for handle, hit in notes.items():
        days = " → ".join(f"{at.astimezone(persona.zone):%Y-%m-%d}" for at in _times(hit, now))
        kind = "turn" if isinstance(hit.item, Turn) else hit.item.kind
        kind = "episode" if hit.scope is Scope.EPISODES else kind
        words = shorten(_words(hit, persona), MAX_NOTE_LENGTH)
        lines.append(f"{handle} [{kind}, {days}] {words}")
    return "\n".join(lines) or NONE[language]


def _times(hit: Found, now: datetime) -> list[datetime]:
    """Return when a record was learned or said, and when it ended, if it has."""
    if isinstance(hit.item, Turn):
        return [hit.at]
    ends = (hit.item.valid_until, hit.item.expires_at)
    return [hit.at, *sorted(end for end in ends if end and end <= now)[:1]]


def _words(hit: Found, persona: Persona) -> str:
    if isinstance(hit.item, Turn):
        return both_said(hit.item, persona)
    return single_line("; ".join((hit.text, *hit.item.data.get("key_facts", ()))))
