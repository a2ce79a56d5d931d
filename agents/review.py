"""What the reviewer may answer, and the operation a decision stands for."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.fields import Note, Remark
from souffleur.knowledge.memory import Due
from souffleur.knowledge.operation import Delete, Keep, Promote

MOST_ROUNDS = 3
"""Times a reviewer may think about one memory."""


class Action(StrEnum):
    """What a reviewer may do next."""

    SEARCH = "SEARCH"
    PROMOTE = "PROMOTE"
    KEEP = "KEEP"
    DELETE = "DELETE"


ALLOWED = {
    Due.PROMOTION: frozenset(Action),
    Due.REVIEW: frozenset(Action) - {Action.PROMOTE},
}
"""What may be answered to the question that is due."""


def _capitals(value: Any) -> Any:
    return value.strip().strip("[]【】").upper() if isinstance(value, str) else value


class ReviewAnswer(BaseModel):
    """One round: the thought first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    action: Annotated[Action, BeforeValidator(_capitals)]
    query: Note = None


def fault(answer: ReviewAnswer, question: Due, rounds: int) -> str:
    """What makes the answer unusable; empty: nothing does."""
    allowed = ALLOWED[question] - ({Action.SEARCH} if rounds >= MOST_ROUNDS else set())
    if answer.action not in allowed:
        return f"action: must be one of {', '.join(sorted(allowed))} (was {answer.action})"
    if answer.action is Action.SEARCH and not answer.query:
        return "query: is missing; say what to look for"
    return ""


def to_op(answer: ReviewAnswer, target: str, trail: tuple[str, ...]) -> Promote | Keep | Delete:
    """The operation of a decision; `trail` is what was thought and looked up before."""
    match answer.action:
        case Action.PROMOTE:
            return Promote(target=target, reason=answer.reason, trail=trail)
        case Action.KEEP:
            return Keep(target=target, reason=answer.reason, trail=trail)
        case Action.DELETE:
            return Delete(target=target, reason=answer.reason, quote="", trail=trail)
        case _:
            raise TypeError(f"{answer.action} decides nothing")
