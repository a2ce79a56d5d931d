"""ForgettingJudge: decides whether lines with words of a forgotten subject are about it."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from loguru import logger
from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import Handle, Remark
from souffleur.agents.model.chat import on_behalf_of
from souffleur.agents.task import Context, Task, ask_task, rules_for
from souffleur.errors import AnswerError, EndpointError, RecordingError, is_outage
from souffleur.knowledge.forgetting.request import Doubt
from souffleur.knowledge.text.plain import clip, single_line
from souffleur.prompts import render, spoken_in, written_in

LINES_PER_CALL = 30
"""Maximum lines in one call."""
MAX_LINE = 300
"""Maximum characters of a line that the model sees."""
SECONDS = 30.0
"""Maximum seconds that a forgetting waits for the answer; then all lines stay hidden, and the queue
asks again."""


class JudgedLine(BaseModel):
    """One line, and whether it tells of what was forgotten."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Handle
    tells: bool


class ToldAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    lines: list[JudgedLine]


class ForgettingJudge:
    """Asks about up to 30 lines in a call, in the user's language; all calls run at once."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def judge(self, doubt: Doubt) -> Sequence[bool] | None:
        """Return for each line whether it tells of the forgotten subject.

        Returns `None` if no usable answer came in time, or if no model may read this user's data.
        """
        if not (await self._context.knowledge.choices.find(doubt.user_id)).memory:
            return None
        bound = logger.bind(user=doubt.user_id)
        try:
            with on_behalf_of(doubt.user_id):
                async with asyncio.timeout(SECONDS):
                    return await self._ask_all(doubt)
        except (EndpointError, AnswerError, RecordingError, TimeoutError) as error:
            then = "the model is asked again when it answers"
            bound.warning("{}; {}: {}", stay_hidden(len(doubt.lines)), then, type(error).__name__)
            return None

    async def judge_later(self, doubt: Doubt) -> Sequence[bool] | None:
        """Return the same for a doubt that got no answer: now an unusable answer settles it.

        Then each line counts as telling, so it stays hidden. Raises EndpointError for an outage.
        """
        if not (await self._context.knowledge.choices.find(doubt.user_id)).memory:
            return None
        try:
            return await self._ask_all(doubt)
        except (EndpointError, AnswerError, RecordingError) as error:
            if is_outage(error):
                raise
            bound = logger.bind(user=doubt.user_id)
            then = "until the forgetting is undone"
            bound.warning("{} {}: {}", stay_hidden(len(doubt.lines)), then, type(error).__name__)
            return [True] * len(doubt.lines)

    async def _ask_all(self, doubt: Doubt) -> list[bool]:
        starts = range(0, len(doubt.lines), LINES_PER_CALL)
        parts = [replace(doubt, lines=doubt.lines[at : at + LINES_PER_CALL]) for at in starts]
        return [tells for told in await asyncio.gather(*map(self._ask, parts)) for tells in told]

    async def _ask(self, doubt: Doubt) -> list[bool]:
        persona = await self._context.persona_of(doubt.user_id, doubt.agent_id)
        spoken = "\n".join((*doubt.forgotten, *doubt.lines))
        language = written_in("forgotten", persona.language or spoken_in(spoken))
        shown = {f"l{place}": line for place, line in enumerate(doubt.lines, start=1)}
        question = render(
            "forgotten_question",
            language,
            forgotten="\n".join(f"- {single_line(one)}" for one in doubt.forgotten),
            lines="\n".join(f"{id} {_shown(line)}" for id, line in shown.items()),
        )
        rules = rules_for("forgotten", persona, language)
        task = Task(
            "forgotten",
            rules,
            language,
            question,
            ToldAnswer,
            fault=lambda answer: faults(answer, shown),
        )
        answer = (await ask_task(self._context.judge, task)).value
        told = {one.id: one.tells for one in answer.lines}
        return [told[id] for id in shown]


def stay_hidden(lines: int) -> str:
    """Return in words that lines in doubt stay hidden.

    >>> stay_hidden(1)
    '1 line that may tell of something forgotten stays hidden'
    >>> stay_hidden(2)
    '2 lines that may tell of something forgotten stay hidden'
    """
    what, stay = ("line", "stays") if lines == 1 else ("lines", "stay")
    return f"{lines} {what} that may tell of something forgotten {stay} hidden"


def _shown(line: str) -> str:
    return clip(single_line(line), MAX_LINE)


def faults(answer: ToldAnswer, shown: Mapping[str, str]) -> str:
    """Return a line for each fault that makes an answer unusable.

    >>> answer = ToldAnswer(reason="r", lines=[JudgedLine(id="l1", tells=True)])
    >>> faults(answer, {"l1": "a"}), faults(answer, {"l1": "a", "l2": "b"})
    ('', '- l2 is missing')
    """
    named = Counter(one.id for one in answer.lines)
    found = [f"- {id} is none of the lines that were shown" for id in sorted(named.keys() - shown)]
    found += [f"- {id} is missing" for id in shown if id not in named]
    found += [f"- {id} is named more than once" for id in shown if named[id] > 1]
    return "\n".join(found)
