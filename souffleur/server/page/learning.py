"""Whether the companion learns from a user's talk just now; if not, why, and what waits."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from souffleur.api import Souffleur
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.store.engine.collection import Filter, Is
from souffleur.knowledge.turn import TurnState


@dataclass(frozen=True)
class Learning:
    """Whether turns of a user can be judged just now."""

    trouble: Literal["", "no_model", "no_answer", "no_budget", "unusable"]
    """Why they cannot: no model is configured, it does not answer, the budget of the day is used
    up, or turns were set aside, as the model's answers could not be used. Empty if they can."""
    since: datetime | None
    """Since when the model does not answer; `None` if it answers, or there is none."""
    waiting: int
    """The number of the user's turns that wait to be judged, or were set aside."""


async def learning_of(memory: Souffleur, user_id: str) -> Learning:
    """Return whether a user's turns can be judged just now."""

    async def number(state: TurnState) -> int:
        turns = Filter((Is("type", "turn"), Is("state", state), *user_conditions(user_id)))
        return await memory.knowledge.journal.collection.count(turns)

    waiting = await number(TurnState.PENDING)
    budget, outage = memory.parts.budget, memory.parts.endpoints.judging.outage
    if not memory.has_model:
        return Learning("no_model", None, waiting)
    if outage:
        return Learning("no_answer", outage.since, waiting)
    if budget and budget.trouble_of(user_id):
        return Learning("no_budget", None, waiting)
    failed = await number(TurnState.FAILED)
    return Learning("unusable" if failed else "", None, failed or waiting)
