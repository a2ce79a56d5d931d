"""The LLM judge: a model that answers questions which no pattern can decide.

It decides whether a content entails a sentence. It also classifies each unexpected op: whether the
talk supports it, whether it is new, and whether it is worth keeping. It evaluates the memory's own
model, so its calls are not counted as calls of the memory.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from souffleur.agents.brief import NONE, clock
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.evals.result import ErrorType, Mark, OpRecord, OpStatus, Step
from souffleur.evals.scoring import WRITING_OPS, Entailments
from souffleur.evals.script import Op, Script
from souffleur.prompts import language_of, render

REQUEST_NAME = "referee"
"""Name of the judge's requests; recorded answers are keyed by it."""
EARLIER_TURNS = 6
"""Number of earlier turns of the same session that the judge sees for reference."""

T = TypeVar("T", bound=BaseModel)


class EntailmentAnswer(BaseModel):
    """Whether a memory entails a sentence; the argument comes first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    says: bool


class OpAnswer(BaseModel):
    """The classification of an unexpected memory; the argument comes first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    supported: bool
    """Whether the talk supports the memory."""
    known: bool
    """Whether the memory was known before."""
    worth: bool
    """Whether the memory is worth keeping."""


@dataclass(frozen=True)
class OpContext:
    """The turn or run that an op resulted from, and its context."""

    script: Script
    earlier: Sequence[Step]
    """Earlier steps of the same session."""
    step: Step
    known: Sequence[str]
    """Contents of the memories that were known before."""


async def find_entailments(
    judge: StructuredChat, script: Script, pairs: Sequence[tuple[str, str]]
) -> Entailments:
    """Return, for each pair (sentence, content), whether the content entails the sentence.

    The pairs are asked concurrently. Raises the judge's errors; AnswerError after asking twice.
    """

    async def one(sentence: str, content: str) -> bool:
        language = script.user.language or language_of(content)
        question = render("entailment_question", language, sentence=sentence, content=content)
        return (await _ask(judge, "entailment", question, language, EntailmentAnswer, script)).says

    said = await asyncio.gather(*(one(*pair) for pair in pairs))
    return dict(zip(pairs, said, strict=True))


async def classify_unexpected(
    judge: StructuredChat, context: OpContext, marks: Sequence[Mark]
) -> tuple[Mark, ...]:
    """Return the marks, with an error type for each unexpected op that wrote something."""
    return tuple(
        [
            await _classify(judge, context, done, mark)
            if mark.standing is OpStatus.WRONG and mark.nature is ErrorType.NONE
            else mark
            for done, mark in zip(context.step.ops, marks, strict=True)
        ]
    )


def error_type(answer: OpAnswer) -> ErrorType:
    """Return the error type that follows from the LLM judge's answer.

    >>> error_type(OpAnswer(reason="", supported=False, known=False, worth=True)).value
    'invented'
    """
    if not answer.supported:
        return ErrorType.INVENTED
    if answer.known:
        return ErrorType.DUPLICATE
    return ErrorType.UNFORESEEN if answer.worth else ErrorType.NOISE


def known_before(script: Script, steps: Sequence[Step]) -> list[str]:
    """Return the contents of the memories that exist after these steps, according to their ops."""
    known = dict.fromkeys(memory.content for memory in script.known)
    for done in (done for step in steps for done in step.ops if not done.refused):
        if done.op in WRITING_OPS | {Op.DELETE, Op.FORGET, Op.ARCHIVE}:
            for old in done.olds:
                known.pop(old, None)
        if done.op in WRITING_OPS:
            known[done.content] = None
    return list(known)


async def _classify(judge: StructuredChat, context: OpContext, done: OpRecord, mark: Mark) -> Mark:
    script, step = context.script, context.step
    language = script.user.language or language_of(step.user or done.content)
    nothing = NONE[language]
    sources = "\n".join(done.olds) if not step.user else ""
    question = render(
        "unexpected_op_question",
        language,
        now=clock(datetime.fromisoformat(step.at), ZoneInfo(script.timezone), language),
        known="\n".join(f"- {one}" for one in context.known) or nothing,
        earlier="\n".join(_talk(script, one) for one in context.earlier[-EARLIER_TURNS:])
        or nothing,
        exchange=sources or _talk(script, step) or nothing,
        content=done.content,
    )
    answer = await _ask(judge, "unexpected_op", question, language, OpAnswer, script)
    why = " · ".join(part for part in (mark.why, answer.reason) if part)
    return mark.model_copy(update={"nature": error_type(answer), "why": why})


def _talk(script: Script, step: Step) -> str:
    said = ((script.user.title, step.user), (script.assistant.name, step.assistant))
    return "\n".join(f"{name}: {text}" for name, text in said if text)


async def _ask(
    judge: StructuredChat, rules: str, question: str, language: str, answer: type[T], script: Script
) -> T:
    names: Mapping[str, str] = {"user": script.user.title, "assistant": script.assistant.name}
    task = Task(REQUEST_NAME, render(rules, language, **names), language, question, answer)
    return (await ask_task(judge, task)).value
