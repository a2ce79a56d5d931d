"""SecondLook: asks which known memories, not shown to the judge, its new sentences would touch.

The agent is one task (see `task`). It is short, as mostly none is touched: only those that it names
are put to the judge, who is then asked again with them in view.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from loguru import logger
from pydantic import BaseModel, ConfigDict

from souffleur.agents.brief import clock, list_known
from souffleur.agents.fields import Handle, Many, Remark, by_handle, not_shown
from souffleur.agents.model.chat import Usage
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Brief, Task, ask_task, rules_for
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render, written_in


class TouchedAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    touched: Many[Handle] = []
    """The handles of the memories that cannot stay as they are."""


@dataclass(frozen=True)
class Seen:
    """What a second look found, and what it cost."""

    touched: Sequence[Memory] = ()
    usage: Usage = field(default_factory=Usage)


async def look_again(
    judge: StructuredChat,
    noted: Sequence[str],
    known: Sequence[Memory],
    brief: Brief,
    now: datetime,
) -> Seen:
    """Return which known memories new sentences touch.

    Without a usable answer there are none, as the turn is judged already: the next audit reads all.
    """
    if not known:
        return Seen()
    language, persona = written_in("touched", brief.language), brief.persona
    question = render(
        "touched_question",
        language,
        now=clock(now, persona.zone, language),
        noted="\n".join(f"- {single_line(one)}" for one in noted),
        known=list_known(known, set(), persona.zone, language),
    )
    rules, shown = rules_for("touched", persona, language), by_handle(known)
    task = Task(
        "touched",
        rules,
        language,
        question,
        TouchedAnswer,
        fault=lambda answer: "\n".join(not_shown(answer.touched, shown)),
        repair="repair_task",
    )
    try:
        answered = await ask_task(judge, task)
    except (AnswerError, EndpointError) as error:
        logger.warning("what the judge was not shown is left to the next audit: {}", error)
        return Seen(usage=Usage.of(error.usage))
    return Seen([shown[one] for one in dict.fromkeys(answered.value.touched)], answered.usage)
