"""End to end on a public set: its talk replayed, its questions answered from what is whispered.

python -m souffleur.evals.answering locomo locomo.jsonl.gz --conversations 1 --questions 40 --yes

Each conversation goes through the real runtime into a fresh store; after it, each question drawn
is asked: `recall`, a reply of the model from the block alone, and a grade beside the reference
answer. The model is asked for nothing before its cost has been estimated, and agreed to by --yes
or by a limit. The sets are not shipped: `souffleur.evals.sets` says which can be read.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict
from rich.console import Console

from souffleur.agents.chat import Chat, Message, Request
from souffleur.agents.exchange import clock as as_clock
from souffleur.agents.judge import Judge
from souffleur.agents.recording import Recorder, prune
from souffleur.errors import AnswerError, SettingsError, SouffleurError
from souffleur.evals.minilm import yardstick
from souffleur.evals.sets.answering_result import Answered, as_json, report
from souffleur.evals.sets.estimate import (
    ANSWERS,
    BLOCK,
    Cost,
    Estimate,
    Limit,
    replay_estimate,
    show_estimate,
    together,
    total,
)
from souffleur.evals.sets.form import Question
from souffleur.evals.sets.known import SETS, read_set
from souffleur.evals.sets.set_dialogue import STEP, Drawn, draw, to_dialogue
from souffleur.evals.suite.scratch import scratch
from souffleur.evals.suite.voice import opened_voice, voice_settings
from souffleur.knowledge.talk.turn import TurnState
from souffleur.prompts import language_of, render
from souffleur.replay import clock_for, replay, settings_for
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from souffleur.whispering.tokens import estimate_tokens

PARALLEL = 4
"""Conversations side by side."""
TRAPS = {("locomo", "adversarial")}
"""Sets and categories whose answer was never said: what stands as answer is the wrong one."""


class Grade(BaseModel):
    """What the eval judge says of a reply: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    right: bool


@dataclass(frozen=True)
class Cast:
    """Who answers, and by which settings."""

    settings: Settings
    """Those of the stores; `path` is a folder that holds them all."""
    chat: Chat
    set_name: str


async def run(drawn: Sequence[Drawn], cast: Cast) -> tuple[list[Answered], list[str]]:
    """Answers in order, and which turns could not be judged.

    Raises RecordingError, and what the model's chat raises for a reply or a grade.
    """
    slots = asyncio.Semaphore(PARALLEL)

    async def one(place: int, part: Drawn) -> tuple[list[Answered], list[str]]:
        async with slots:
            folder = cast.settings.path / str(place)
            return await _converse(part, cast, cast.settings.model_copy(update={"path": folder}))

    done = await asyncio.gather(*(one(place, part) for place, part in enumerate(drawn)))
    return [one for some, _ in done for one in some], [one for _, some in done for one in some]


def estimate(drawn: Sequence[Drawn], settings: Settings) -> Estimate:
    """Requests by name."""
    replays = [replay_estimate(to_dialogue(one.conversation), settings) for one in drawn]
    asked = [question for one in drawn for question in one.questions]
    texts = [f"{one.text}\n{one.answer}" for one in asked]
    said = sum(estimate_tokens(text) for text in texts)
    answer, grade = (estimate_tokens(_rules(name)) for name in ("answer", "grade"))
    count = len(asked)
    asking = {
        "answer": Cost(count, said + count * (answer + BLOCK), count * ANSWERS["answer"]),
        "grade": Cost(count, said + count * (grade + ANSWERS["answer"]), count * ANSWERS["grade"]),
    }
    return together([*replays, asking])


async def _converse(
    part: Drawn, cast: Cast, settings: Settings
) -> tuple[list[Answered], list[str]]:
    dialogue = to_dialogue(part.conversation)
    clock = clock_for(dialogue)
    named = settings_for(dialogue, settings)
    async with Souffleur.open(
        named, chat=cast.chat, clock=clock, embedder=yardstick(named.embedder)
    ) as memory:
        troubles = [
            f"{dialogue.user.id}, {played.session_id} at {played.exchange.at}: {played.turn.error}"
            async for played in replay(dialogue, memory, clock)
            if played.turn.state is not TurnState.JUDGED
        ]
        clock.at += STEP
        judge = Judge(cast.chat, form=settings.answer_form)
        answered = [
            await _ask(question, part.conversation.conv_id, memory, judge, cast, clock.at)
            for question in part.questions
        ]
    return answered, troubles


async def _ask(
    question: Question,
    user_id: str,
    memory: Souffleur,
    judge: Judge,
    cast: Cast,
    now: datetime,
) -> Answered:
    whisper = await memory.recall(user_id=user_id, session_id="asked", text=question.text, at=now)
    language = language_of(question.text)
    settings = memory.settings
    rules = render(
        "answer",
        language,
        user=settings.user_title,
        assistant=settings.assistant_name,
        now=as_clock(now, ZoneInfo(settings.timezone), language),
        memories=whisper.text,
    )
    asked = "\n".join((*question.before, question.text))
    reply = await _reply(cast.chat, rules, asked)
    trap = (cast.set_name, question.category) in TRAPS
    gold = render("grade_unknown", language, trap=question.answer) if trap else question.answer
    grade = await _grade(judge, asked, gold, reply)
    return Answered(
        conversation=user_id,
        id=question.id,
        category=question.category,
        question=question.text,
        gold=gold,
        block=whisper.text,
        reply=reply,
        right=grade.right if grade else None,
        reason=grade.reason if grade else "",
    )


async def _reply(chat: Chat, rules: str, asked: str) -> str:
    """Empty where the model said nothing usable."""
    messages = (Message("system", rules), Message("user", asked))
    try:
        return (await chat(Request(messages, "answer"))).text.strip()
    except AnswerError:
        return ""


async def _grade(judge: Judge, asked: str, gold: str, reply: str) -> Grade | None:
    """None where no usable grade was to be had, asked twice; without a reply it is wrong."""
    if not reply:
        return Grade(reason="there was no reply", right=False)
    language = language_of(asked)
    question = render("grade_question", language, question=asked, gold=gold, reply=reply)
    messages = [Message("system", render("grade", language)), Message("user", question)]
    for _ in range(2):
        try:
            return (await judge.ask(messages, Grade, name="grade")).value
        except AnswerError as error:
            repair = render("repair", language, problem=str(error))
            said = Message("assistant", error.answer or "(empty)")
            messages = [*messages, said, Message("user", repair)]
    return None


def _rules(name: str) -> str:
    empty = dict.fromkeys(("user", "assistant", "now", "memories"), "")
    return render(name, "en", **empty)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command; None: as it was called."""
    given = _parser().parse_args(arguments)
    console = Console(highlight=False, width=140)
    try:
        drawn = draw(
            read_set(given.set, given.path),
            most_conversations=given.conversations,
            most_questions=given.questions,
            seed=given.seed,
        )
        if not drawn:
            sys.exit(f"No question of {given.path} was drawn: there is nothing to ask.")
        chosen = {"embedder": given.embedder, "judge_every": given.judge_every}
        settings = voice_settings(given.recorded, **chosen)
        if not given.recorded and not _agreed(drawn, settings, given, console):
            return
        answered, troubles = asyncio.run(_run(drawn, settings, given))
    except SouffleurError as error:
        sys.exit(str(error))
    if given.json:
        print(as_json(answered, troubles))
    else:
        report(answered, troubles, console)


def _agreed(
    drawn: Sequence[Drawn], settings: Settings, given: argparse.Namespace, console: Console
) -> bool:
    """Whether to go on: False where only the estimate was asked for; SettingsError where not."""
    cost = estimate(drawn, settings)
    if given.estimate or not given.json:
        show_estimate(cost, settings, console)
    if given.estimate:
        return False
    limit = Limit(given.most_calls, given.most_dollars)
    if not given.yes and not limit.allows(total(cost.values()), settings):
        calls = total(cost.values()).calls
        raise SettingsError(
            f"this would take about {calls} requests: say --yes, or set --most-calls or, with"
            " prices, --most-dollars to what may be spent"
        )
    return True


async def _run(
    drawn: Sequence[Drawn], settings: Settings, given: argparse.Namespace
) -> tuple[list[Answered], list[str]]:
    with scratch() as folder:
        placed = settings.model_copy(update={"path": folder})
        async with opened_voice(settings, record=given.record, recorded=given.recorded) as chat:
            answered, troubles = await run(drawn, Cast(placed, chat, given.set))
    if isinstance(chat, Recorder) and not troubles:
        prune(given.record, chat.used)
    return answered, troubles


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("set", choices=SETS)
    parser.add_argument("path", type=Path, help="the set's file")
    parser.add_argument("--conversations", type=int, help="draw so many; else all")
    parser.add_argument("--questions", type=int, help="draw so many of theirs; else all")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn")
    parser.add_argument("--embedder", default="hash:512")
    parser.add_argument(
        "--judge-every",
        type=int,
        default=1,
        choices=range(21),
        metavar="N",
        help="turns a request judges; 0: a session",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--record", type=Path, help="keep the model's answers here")
    mode.add_argument("--recorded", type=Path, help="take the answers from here")
    mode.add_argument("--estimate", action="store_true", help="only say what it would cost")
    parser.add_argument("--yes", action="store_true", help="whatever it costs")
    parser.add_argument("--most-calls", type=int, help="go on below so many requests")
    parser.add_argument("--most-dollars", type=float, help="go on below so many dollars")
    parser.add_argument("--json", action="store_true", help="print JSON, with every answer")
    return parser


if __name__ == "__main__":
    main()
