"""What the reviewer may answer, and the operation a decision stands for."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.fields import Note, Remark
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import Delete, Keep, Promote, derive_id

MAX_REVIEW_ROUNDS = 3
"""Maximum number of rounds in which a reviewer thinks about one memory."""


def review_id(memory: Memory) -> str:
    """Return the id of the verdict on this revision of a memory; a second review has the same."""
    return derive_id("review", memory.id, memory.revision)


class Action(StrEnum):
    """What a reviewer may do next."""

    SEARCH = "SEARCH"
    PROMOTE = "PROMOTE"
    KEEP = "KEEP"
    DELETE = "DELETE"


UNDECIDED = f"no decision within {MAX_REVIEW_ROUNDS} rounds: it stays"


def _capitals(value: Any) -> Any:
    return value.strip().strip("[]【】").upper() if isinstance(value, str) else value


class ReviewAnswer(BaseModel):
    """The answer of one round, the reason first; on a promotion every action is allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    action: Annotated[Action, BeforeValidator(_capitals)]
    query: Note = None


class DecayAnswer(ReviewAnswer):
    """The answer on a faded memory, which cannot be promoted."""

    action: Annotated[
        Literal[Action.SEARCH, Action.KEEP, Action.DELETE], BeforeValidator(_capitals)
    ]


class LastPromotionAnswer(ReviewAnswer):
    """The answer of the last round on a promotion, in which nothing can be looked up."""

    action: Annotated[
        Literal[Action.PROMOTE, Action.KEEP, Action.DELETE], BeforeValidator(_capitals)
    ]


class LastDecayAnswer(ReviewAnswer):
    """The answer of the last round on a faded memory: neither search nor promotion."""

    action: Annotated[Literal[Action.KEEP, Action.DELETE], BeforeValidator(_capitals)]


def answer_type(question: Due, round_: int) -> type[ReviewAnswer]:
    """Return the type of the answer to a question, whose schema offers what this round allows.

    >>> answer_type(Due.PROMOTION, 1).__name__, answer_type(Due.REVIEW, MAX_REVIEW_ROUNDS).__name__
    ('ReviewAnswer', 'LastDecayAnswer')
    """
    if question is Due.PROMOTION:
        return ReviewAnswer if round_ < MAX_REVIEW_ROUNDS else LastPromotionAnswer
    return DecayAnswer if round_ < MAX_REVIEW_ROUNDS else LastDecayAnswer


def fault(answer: ReviewAnswer) -> str:
    """Return what makes the answer unusable; empty if nothing does."""
    if answer.action is Action.SEARCH and not answer.query:
        return "query: is missing; say what to look for"
    return ""


def to_op(answer: ReviewAnswer, target: str, trail: tuple[str, ...]) -> Promote | Keep | Delete:
    """Return the operation of a decision; `trail` holds the earlier reasons and searches."""
    match answer.action:
        case Action.PROMOTE:
            return Promote(target=target, reason=answer.reason, trail=trail)
        case Action.KEEP:
            return Keep(target=target, reason=answer.reason, trail=trail)
        case Action.DELETE:
            return Delete(target=target, reason=answer.reason, quote="", trail=trail)
        case _:
            raise TypeError(f"{answer.action} decides nothing")
