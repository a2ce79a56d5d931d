"""End to end on a public set: memories take its conversations, then its questions are answered.

python -m bench answering locomo locomo.jsonl.gz --conversations 1 --questions 40
python -m bench answering locomo locomo.jsonl.gz --systems souffleur,mem0,langmem,whole

Each system takes each conversation in the same batches, into a fresh store. Then each question
drawn is asked: what the system brings goes into the prompt, the same model replies from that alone,
and a judge that does not see whose they are grades all replies to a question against the reference
answer. --max-calls limits the requests; with --record, what was answered is not asked again.
The sets are not shipped: `bench.sets` lists those that can be read.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, TypeVar

from rich.console import Console
from typer import Option

from bench.command import (
    Embedder,
    MaxCalls,
    Record,
    Recorded,
    SetFile,
    SetName,
    ToJson,
    open_source,
    source_settings,
)
from bench.sets.asking import (
    Asked,
    GradedAnswer,
    SystemAnswers,
    as_json,
    gold_of,
    grade_replies,
    reply_to,
    report,
)
from bench.sets.conversation import MESSAGE_GAP, Question, Sample, draw, to_dialogue
from bench.sets.registry import read_set
from bench.systems import SystemInputs
from bench.systems.contestant import Contestant, batches, check_contestant, make_contestant
from bench.systems.langchain_adapter import patient
from bench.systems.side_by_side import OURS, version_of
from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.agents.structured_chat import StructuredChat
from souffleur.demo.dialogue import settings_for
from souffleur.errors import AnswerError, InputError
from souffleur.evals.fixture import scratch
from souffleur.parts import settings_embedder
from souffleur.recall.rendering import estimate_tokens
from souffleur.settings import Settings


class Meter:
    """A `Chat` that counts requests to another one; tokens are estimated if no usage is given."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.cost = Usage()

    async def __call__(self, request: Request) -> Reply:
        """Return the other chat's reply. Raises what it raises."""
        try:
            reply = await self._chat(request)
        except AnswerError as error:
            self._note(request, error.answer or "", error.usage or {})
            raise
        self._note(request, reply.text, asdict(reply.usage))
        return reply

    def _note(self, request: Request, answer: str, usage: Mapping[str, Any]) -> None:
        asked = sum(estimate_tokens(message.content) for message in request.messages)
        taken = int(usage.get("input_tokens") or asked)
        given = int(usage.get("output_tokens") or estimate_tokens(answer))
        self.cost += Usage(calls=1, input_tokens=taken, output_tokens=given)


T = TypeVar("T")


@dataclass(frozen=True)
class AnswerSetup:
    """The conditions of a comparison."""

    settings: Settings
    set_name: str
    systems: tuple[str, ...] = (OURS,)
    memories: int = 20
    """Maximum number of memories that another system's search returns: mem0's default."""
    parallel: int = 12
    """Conversations that are written at the same time, and questions that are asked so."""
    write_only: bool = False
    """Whether the conversations are written, and nothing is asked."""

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions that a reader of the numbers must know."""
        return {
            "set": self.set_name,
            "model": self.settings.model,
            "embedder": self.settings.embedder,
            "judge_every": self.settings.judge_every,
            "memories": self.memories,
        }


@dataclass(frozen=True)
class _Written:
    """A conversation in one system's store, and what its questions bring."""

    turns: int
    cost: Usage
    asked: tuple[Asked, ...]
    troubles: tuple[str, ...]


@dataclass(frozen=True)
class _Replied:
    """The replies to all questions from one system's memory."""

    system: str
    written: Sequence[_Written]
    asked: Sequence[Asked]
    replies: Sequence[str]
    cost: Usage

    def graded(self, answers: tuple[GradedAnswer, ...]) -> SystemAnswers:
        """Return what this system wrote and answered, with the grades."""
        return SystemAnswers(
            system=self.system,
            version=version_of(self.system),
            turns=sum(part.turns for part in self.written),
            writing=sum((part.cost for part in self.written), start=Usage()),
            answering=self.cost,
            answers=answers,
            troubles=tuple(trouble for part in self.written for trouble in part.troubles),
        )


async def run(
    drawn: Sequence[Sample], setup: AnswerSetup, chat: Chat, folder: Path
) -> list[SystemAnswers]:
    """Return the answers of each system, in the order of the samples; `folder` holds the stores.

    Raises RecordingError, and the EndpointError that a reply or a grade ends with.
    """
    slots = asyncio.Semaphore(setup.parallel)

    async def write(name: str, index: int) -> _Written:
        async with slots:
            return await _write(drawn[index], name, setup, chat, folder / name / str(index))

    async def replies(name: str) -> _Replied:
        every = range(len(drawn))
        written = await _all_of(write(name, index) for index in every)
        meter = Meter(chat)
        asked = [one for part in written for one in part.asked]

        async def reply(one: Asked) -> str:
            async with slots:
                return await reply_to(one, patient(meter, setup.settings))

        return _Replied(name, written, asked, await _all_of(map(reply, asked)), meter.cost)

    replied = await _all_of(replies(name) for name in setup.systems)
    questions = [(part, one) for part in drawn for one in part.questions]
    judge = StructuredChat(patient(chat, setup.settings), form=setup.settings.answer_form)

    async def grade(index: int) -> list[GradedAnswer]:
        async with slots:
            return await _grade(*questions[index], replied, index, setup, judge)

    asked = 0 if setup.write_only else len(questions)
    graded = await _all_of(grade(index) for index in range(asked))
    by_system = zip(*graded, strict=True) if graded else repeat(())
    return [one.graded(answers) for one, answers in zip(replied, by_system, strict=False)]


async def _all_of(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results; if one fails, end the others, and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return [task.result() for task in tasks]


async def _write(part: Sample, name: str, setup: AnswerSetup, chat: Chat, folder: Path) -> _Written:
    dialogue = to_dialogue(part.conversation)
    meter = Meter(chat)
    settings = settings_for(dialogue, setup.settings.model_copy(update={"path": folder}))
    embedder = settings_embedder(settings)
    inputs = SystemInputs(dialogue, settings, meter, embedder)
    contestant = make_contestant(name, inputs, dialogue, setup.memories)
    try:
        await contestant.open()
        for batch in batches(dialogue, settings.judge_every, settings.window_rule.idle):
            await contestant.write(batch)
        await contestant.finish()
        cost, now = meter.cost, dialogue.sessions[-1].turns[-1].at + MESSAGE_GAP
        asked = () if setup.write_only else await _bring(part, contestant, settings, now)
    finally:
        await contestant.close()
    troubles = tuple(f"{dialogue.user.id}, {trouble}" for trouble in contestant.troubles)
    return _Written(len(dialogue), cost, tuple(asked), troubles)


async def _bring(
    part: Sample, contestant: Contestant, settings: Settings, now: datetime
) -> list[Asked]:
    return [
        Asked(question, await contestant.bring(question.text, now), now, settings)
        for question in part.questions
    ]


async def _grade(
    part: Sample,
    question: Question,
    replied: Sequence[_Replied],
    index: int,
    setup: AnswerSetup,
    judge: StructuredChat,
) -> list[GradedAnswer]:
    """Return what each system answered to the question at `index`, graded side by side."""
    gold = gold_of(question, setup.set_name)
    asked = [one.asked[index] for one in replied]
    replies = [one.replies[index] for one in replied]
    grades = await grade_replies(asked[0].text, gold, replies, judge)
    return [
        GradedAnswer(
            conversation=part.conversation.conv_id,
            id=question.id,
            category=question.category,
            question=question.text,
            gold=gold,
            block=one.block,
            reply=reply,
            right=grade.right if grade else None,
            reason=grade.reason if grade else "",
            tokens=estimate_tokens(one.block),
        )
        for one, reply, grade in zip(asked, replies, grades, strict=True)
    ]


RECALL_TIMEOUT = 600.0
"""Seconds that recall may wait for the embedder: a busy machine must not change the result."""


def answering(
    set_name: SetName,
    path: SetFile,
    systems: Annotated[
        str, Option(help="Systems to compare: souffleur, mem0, langmem, whole.")
    ] = OURS,
    named: Annotated[str, Option(help="Ids of the conversations; default: drawn.")] = "",
    conversations: Annotated[
        int | None, Option(help="Conversations to draw; default: all.")
    ] = None,
    questions: Annotated[int | None, Option(help="Questions to draw; default: all.")] = None,
    seed: Annotated[int, Option(help="Seed of the draw.")] = 0,
    embedder: Embedder = "hash:512",
    judge_every: Annotated[
        int, Option(min=0, max=20, help="Turns written in one go; 0 for a session.")
    ] = 1,
    memories: Annotated[
        int, Option(min=1, help="Memories that another system's search returns.")
    ] = 20,
    parallel: Annotated[
        int, Option(min=1, help="Conversations, and then questions, at the same time.")
    ] = 12,
    write_only: Annotated[
        bool, Option("--write-only", help="Write the conversations, and ask nothing.")
    ] = False,
    record: Record = None,
    recorded: Recorded = None,
    max_calls: MaxCalls = None,
    to_json: ToJson = False,
) -> None:
    """Write the conversations of a public set into memories, and answer its questions from them."""
    contestants = tuple(dict.fromkeys(name.strip() for name in systems.split(",")))
    for name in contestants:
        check_contestant(name)
    drawn = draw(
        read_set(set_name, path),
        named=[name.strip() for name in named.split(",") if name.strip()],
        max_conversations=conversations,
        max_questions=questions,
        seed=seed,
    )
    if not drawn:
        raise InputError(f"No question of {path} was drawn: there is nothing to ask.")
    chosen = {"embedder": embedder, "judge_every": judge_every, "recall_timeout": RECALL_TIMEOUT}
    setup = AnswerSetup(
        source_settings(record, recorded, **chosen),
        set_name,
        contestants,
        memories=memories,
        parallel=parallel,
        write_only=write_only,
    )
    found = asyncio.run(_run(drawn, setup, record, recorded, max_calls))
    if to_json:
        print(as_json(found, setup.conditions))
    else:
        report(found, Console(highlight=False, width=140))


async def _run(
    drawn: Sequence[Sample],
    setup: AnswerSetup,
    record: Path | None,
    recorded: Path | None,
    most: int | None,
) -> list[SystemAnswers]:
    found: list[SystemAnswers] = []

    def is_whole() -> bool:
        return not setup.write_only and not any(one.troubles for one in found)

    source = open_source(setup.settings, record, recorded, most=most, is_whole=is_whole)
    with scratch() as folder:
        async with source as chat:
            found += await run(drawn, setup, chat, folder)
    return found
