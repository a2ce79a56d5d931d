"""Rounds: a model is asked, its answer is checked, and once it may be asked again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import BaseModel

from souffleur.agents.chat import Message, Usage
from souffleur.agents.judge import Judge
from souffleur.errors import AnswerError

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Round(Generic[T]):
    """What one question brought."""

    answer: T | None
    """None: it was unusable."""
    messages: list[Message]
    """The conversation, with the answer as it was said."""
    problem: str = ""
    """Why it was unusable."""
    usage: Usage = field(default_factory=Usage)
    model: str = ""


async def ask(judge: Judge, messages: Sequence[Message], answer: type[T], name: str) -> Round[T]:
    """Ask once; an unusable answer is a problem, an endpoint that fails an error."""
    try:
        judged = await judge.ask(messages, answer, name=name)
    except AnswerError as error:
        said = Message("assistant", error.answer or "(empty)")
        return Round(None, [*messages, said], problem=str(error))
    said = Message("assistant", judged.text)
    return Round(judged.value, [*messages, said], usage=judged.usage, model=judged.model)
