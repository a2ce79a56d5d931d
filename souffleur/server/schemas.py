"""The JSON of requests and answers that the signatures of methods do not tell."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from souffleur.knowledge.memory import Memory
from souffleur.service.run import RunItem


class Body(BaseModel):
    """The body of a request; no other fields may be in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Page:
    """A page of a user's memories."""

    items: list[Memory]
    """The memories."""
    total: int
    """The number on all pages."""
    next: str | None
    """The `cursor` of the next page; `None` if this is the last."""


@dataclass(frozen=True)
class RunAnswer:
    """The result of a run."""

    name: str
    """The name of the run."""
    now: datetime
    """The time of the run."""
    due: int
    """Number of memories that were due when it began."""
    items: list[RunItem]
    """The changes, memory by memory."""
    calls: int
    """Number of calls of the model."""
    tokens: int
    """Number of tokens, of prompts and answers."""
    cost: float
    """Dollars."""
    stopped: str
    """Why it ended before everything was done; empty if everything is."""
    outages: int
    """Number of failures in a row that were caused by an outage."""
    error: str
    """The error that ended it, as `Name: message`; empty if there was none."""
    data: dict[str, Any]
    """Numbers from a run that counts."""


@dataclass(frozen=True)
class Answered:
    """A yes or no."""

    value: bool
    """Whether it is so."""


@dataclass(frozen=True)
class Counted:
    """A number."""

    value: int
    """The number."""


@dataclass(frozen=True)
class Alive:
    """The server answers."""

    status: Literal["ok"] = "ok"
    """Always this."""
