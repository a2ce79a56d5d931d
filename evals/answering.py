"""End to end on a public set: replay its conversations, then answer its questions from recall.

souffleur eval answering locomo locomo.jsonl.gz --conversations 1 --questions 40 --yes

Each conversation goes through the real runtime into a fresh store. Then each question drawn is
asked: `recall`, a reply of the model from the block alone, and a grade against the reference
answer. No request is made before its cost has been estimated, and accepted by --yes or by a limit.
The sets are not shipped: `souffleur.evals.sets` lists those that can be read.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer
from pydantic import BaseModel, ConfigDict
from rich.console import Console

from souffleur.agents.chat import Chat, Message, Request
from souffleur.agents.exchange import clock as as_clock
from souffleur.agents.recording import Recorder, prune
from souffleur.agents.rounds import ask_with_repair
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError, DialogueError, SettingsError
from souffleur.evals.command import (
    Embedder,
    OnlyEstimate,
    Record,
    Recorded,
    SetFile,
    SetName,
    ToJson,
    make_app,
    need_one_mode,
    start,
)
from souffleur.evals.minilm import yardstick
from souffleur.evals.sets.answering_result import GradedAnswer, as_json, report
from souffleur.evals.sets.conversation import Question
from souffleur.evals.sets.estimate import (
    ANSWER_TOKENS,
    BLOCK_TOKENS,
    Cost,
    Estimate,
    Limit,
    replay_estimate,
    show_estimate,
    sum_costs,
    sum_estimates,
)
from souffleur.evals.sets.registry import read_set
from souffleur.evals.sets.set_dialogue import MESSAGE_GAP, Sample, draw, to_dialogue
from souffleur.evals.suite.model_source import open_source, source_settings
from souffleur.evals.suite.scratch import scratch
from souffleur.knowledge.talk.turn import TurnState
from souffleur.prompts import language_of, render
from souffleur.replay import clock_for, replay, settings_for
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from souffleur.whispering.tokens import estimate_tokens

PARALLEL_CONVERSATIONS = 4
"""Number of conversations that are replayed concurrently."""
TRAP_CATEGORIES = {("locomo", "adversarial")}
"""Sets and categories whose answer was never said: the answer they give is the wrong one."""


class Grade(BaseModel):
    """The eval judge's grade of a reply; the argument comes first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: str
    right: bool


@dataclass(frozen=True)
class AnswerSetup:
    """The model and the settings that answer."""

    settings: Settings
    """Settings of the stores; `path` is a folder that holds them all."""
    chat: Chat
    set_name: str


async def run(drawn: Sequence[Sample], setup: AnswerSetup) -> tuple[list[GradedAnswer], list[str]]:
    """Return the answers in order, and the turns that could not be judged.

    Raises RecordingError, and what the model's chat raises for a reply or a grade.
    """
    slots = asyncio.Semaphore(PARALLEL_CONVERSATIONS)

    async def one(index: int, part: Sample) -> tuple[list[GradedAnswer], list[str]]:
        async with slots:
            folder = setup.settings.path / str(index)
            return await _converse(part, setup, setup.settings.model_copy(update={"path": folder}))

    done = await asyncio.gather(*(one(index, part) for index, part in enumerate(drawn)))
    return [one for some, _ in done for one in some], [one for _, some in done for one in some]


def estimate(drawn: Sequence[Sample], settings: Settings) -> Estimate:
    """Estimate the cost by name of request."""
    replays = [replay_estimate(to_dialogue(one.conversation), settings) for one in drawn]
    asked = [question for one in drawn for question in one.questions]
    texts = [f"{one.text}\n{one.answer}" for one in asked]
    said = sum(estimate_tokens(text) for text in texts)
    answer, grade = (estimate_tokens(_rules(name)) for name in ("answer", "grade"))
    count = len(asked)
    asking = {
        "answer": Cost(
            count, said + count * (answer + BLOCK_TOKENS), count * ANSWER_TOKENS["answer"]
        ),
        "grade": Cost(
            count, said + count * (grade + ANSWER_TOKENS["answer"]), count * ANSWER_TOKENS["grade"]
        ),
    }
    return sum_estimates([*replays, asking])


async def _converse(
    part: Sample, setup: AnswerSetup, settings: Settings
) -> tuple[list[GradedAnswer], list[str]]:
    dialogue = to_dialogue(part.conversation)
    clock = clock_for(dialogue)
    named = settings_for(dialogue, settings)
    async with Souffleur.open(
        named, chat=setup.chat, clock=clock, embedder=yardstick(named.embedder)
    ) as memory:
        troubles = [
            f"{dialogue.user.id}, {played.session_id} at {played.exchange.at}: {played.turn.error}"
            async for played in replay(dialogue, memory, clock)
            if played.turn.state is not TurnState.JUDGED
        ]
        clock.at += MESSAGE_GAP
        judge = StructuredChat(setup.chat, form=settings.answer_form)
        answered = [
            await _ask(question, part.conversation.conv_id, memory, judge, setup, clock.at)
            for question in part.questions
        ]
    return answered, troubles


async def _ask(
    question: Question,
    user_id: str,
    memory: Souffleur,
    judge: StructuredChat,
    setup: AnswerSetup,
    now: datetime,
) -> GradedAnswer:
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
    reply = await _reply(setup.chat, rules, asked)
    trap = (setup.set_name, question.category) in TRAP_CATEGORIES
    gold = render("grade_unknown", language, trap=question.answer) if trap else question.answer
    grade = await _grade(judge, asked, gold, reply)
    return GradedAnswer(
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
    """Return the reply; empty if the model gave no usable one."""
    messages = (Message("system", rules), Message("user", asked))
    try:
        return (await chat(Request(messages, "answer"))).text.strip()
    except AnswerError:
        return ""


async def _grade(judge: StructuredChat, asked: str, gold: str, reply: str) -> Grade | None:
    """Return the grade; `None` if the model gave no usable one twice. No reply counts as wrong."""
    if not reply:
        return Grade(reason="there was no reply", right=False)
    language = language_of(asked)
    question = render("grade_question", language, question=asked, gold=gold, reply=reply)
    rules = render("grade", language)
    try:
        return await ask_with_repair(judge, rules, question, Grade, name="grade", language=language)
    except AnswerError:
        return None


def _rules(name: str) -> str:
    empty = dict.fromkeys(("user", "assistant", "now", "memories"), "")
    return render(name, "en", **empty)


def answering(
    set_name: SetName,
    path: SetFile,
    conversations: Annotated[
        int | None, typer.Option(help="Conversations to draw; default: all.")
    ] = None,
    questions: Annotated[int | None, typer.Option(help="Questions to draw; default: all.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    embedder: Embedder = "hash:512",
    judge_every: Annotated[
        int, typer.Option(min=0, max=20, help="Turns that one request judges; 0 for a session.")
    ] = 1,
    record: Record = None,
    recorded: Recorded = None,
    only_estimate: OnlyEstimate = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept any cost.")] = False,
    max_calls: Annotated[int | None, typer.Option(help="Maximum number of requests.")] = None,
    max_dollars: Annotated[float | None, typer.Option(help="Maximum cost in dollars.")] = None,
    to_json: ToJson = False,
) -> None:
    """Replay the conversations of a public set, and answer its questions from recall."""
    need_one_mode(record, recorded, only_estimate)
    drawn = draw(
        read_set(set_name, path),
        max_conversations=conversations,
        max_questions=questions,
        seed=seed,
    )
    if not drawn:
        raise DialogueError(f"No question of {path} was drawn: there is nothing to ask.")
    settings = source_settings(recorded, embedder=embedder, judge_every=judge_every)
    console = Console(highlight=False, width=140)
    if not recorded:
        cost = estimate(drawn, settings)
        if only_estimate or not to_json:
            show_estimate(cost, settings, console)
        if only_estimate:
            return
        if not yes:
            _agree(cost, Limit(max_calls, max_dollars), settings)
    answered, troubles = asyncio.run(_run(drawn, settings, set_name, record, recorded))
    if to_json:
        print(as_json(answered, troubles))
    else:
        report(answered, troubles, console)


def _agree(cost: Estimate, limit: Limit, settings: Settings) -> None:
    """Raise SettingsError unless the limit allows the cost."""
    whole = sum_costs(cost.values())
    if not limit.allows(whole, settings):
        raise SettingsError(
            f"this would take about {whole.calls} requests: say --yes, or set --max-calls or,"
            " with prices, --max-dollars to what may be spent"
        )


async def _run(
    drawn: Sequence[Sample],
    settings: Settings,
    set_name: str,
    record: Path | None,
    recorded: Path | None,
) -> tuple[list[GradedAnswer], list[str]]:
    with scratch() as folder:
        placed = settings.model_copy(update={"path": folder})
        async with open_source(settings, record=record, recorded=recorded) as chat:
            answered, troubles = await run(drawn, AnswerSetup(placed, chat, set_name))
    if record and isinstance(chat, Recorder) and not troubles:
        prune(record, chat.used)
    return answered, troubles


app = make_app(answering)

if __name__ == "__main__":
    start(app)
