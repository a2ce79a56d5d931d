"""The portraits of a scripted year: asked again how often, how long, what was lost, what is right.

    python -m bench portraits --recorded bench/data/portraits.jsonl

A life is a YAML file, written by hand before anything was measured: what is learnt, ends and is
talked about, step by step, and what must be right. After each step the real narrator and profile
writer write the next portrait, from the former one.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer import Argument

from bench.command import Record, Recorded, ToJson, open_source, source_settings
from bench.hand_written import USER, WrittenMemory, read_yaml
from souffleur.agents.auditor import Auditor
from souffleur.agents.brief import Persona
from souffleur.agents.forgetting_judge import ForgettingJudge
from souffleur.agents.model.chat import Chat, Form, Reply, Request
from souffleur.agents.portrait_writer import ProfileWriter
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.summarizer import ConversationSummarizer
from souffleur.agents.task import Context, Task, ask_task
from souffleur.demo.dialogue import StageClock
from souffleur.errors import AnswerError
from souffleur.evals.fixture import scratch, stored_memory
from souffleur.evals.llm_judge import REQUEST_NAME, EntailmentAnswer
from souffleur.evals.script import Known, occurs
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Frozen, Kind, Memory, MemoryState
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.people import check_zone
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge
from souffleur.knowledge.store.records import put_memories
from souffleur.prompts import language_of, render
from souffleur.service.summaries import Summaries


class Talked(Frozen):
    """An episode."""

    line: str = Field(min_length=1)
    facts: tuple[str, ...] = ()
    open: str | None = None
    """A matter that was still open at the end of the talk."""


class LifeStep(Frozen):
    """The changes before a portrait."""

    day: date
    learn: tuple[WrittenMemory, ...] = ()
    end: tuple[str, ...] = ()
    """Ids of memories that are over or corrected."""
    told: tuple[Talked, ...] = Field(min_length=1)


class Mention(Frozen):
    """Something that a portrait mentions."""

    about: str
    says: str
    """A pattern."""

    def within(self, text: str) -> bool:
        """Return whether a text mentions it, in whatever case."""
        return occurs(self.says, text)


class Statement(Frozen):
    """Something that a reader of the last portrait would say of the person, or would not."""

    says: str
    holds: bool


class LifeEnd(Frozen):
    """Demands on the last portrait."""

    says: tuple[Mention, ...] = ()
    never: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()


class Life(Frozen):
    """A whole file."""

    user: str
    assistant: str
    timezone: Annotated[str, AfterValidator(check_zone)]
    steps: tuple[LifeStep, ...] = Field(min_length=1)
    keep: tuple[Mention, ...] = ()
    """Facts that at some time only the portrait holds, and that must not be lost then."""
    end: LifeEnd = LifeEnd()

    @model_validator(mode="after")
    def _is_coherent(self) -> "Life":
        if sorted({step.day for step in self.steps}) != [step.day for step in self.steps]:
            raise ValueError("the steps are not in order")
        known: set[str] = set()
        for step in self.steps:
            if unknown := set(step.end) - known:
                raise ValueError(f"{step.day}: no memory has the id {sorted(unknown)[0]!r}")
            new = [one.id for one in step.learn]
            if len({*new, *known}) < len(new) + len(known):
                raise ValueError(f"{step.day}: two memories have the same id")
            known |= set(new)
        return self


EVENING = time(20)
"""The time of day at which portraits are written; talk ended an hour before."""
EPISODE_AGE = timedelta(days=14)
"""The age at which an episode fades, with all that only this episode knew."""


@dataclass(frozen=True)
class Written:
    """A portrait after a step."""

    day: date
    text: str
    """The text in force: the former one if no new one could be written."""
    dropped: tuple[str, ...]
    """Details of the former one that the model let go, with a reason."""
    asked_again: tuple[str, ...]
    """The complaints with which the model was asked again."""
    error: str
    """The reason why no new portrait could be written; empty if it was written."""
    held: str
    """The words of memories and episodes in force, besides the portrait."""

    @property
    def words(self) -> int:
        """The number of words."""
        return len(self.text.split())


@dataclass
class _Listener:
    """A `Chat` that notes with which words another one was asked again."""

    chat: Chat
    again: list[str] = field(default_factory=list)

    async def __call__(self, request: Request) -> Reply:
        """Pass a request on. Raises what the other chat raises."""
        if any(message.role == "assistant" for message in request.messages):
            self.again.append(request.messages[-1].content)
        return await self.chat(request)


async def write_portraits(life: Life, chat: Chat, form: Form) -> list[Written]:
    """Return the portraits of a life, in order. Raises EndpointError, RecordingError."""
    stage, listener = StageClock(_evening(life, life.steps[0])), _Listener(chat)
    persona = Persona(life.user, life.assistant, ZoneInfo(life.timezone))
    written: list[Written] = []
    with scratch() as folder:
        place, embedder = StoreLocation(folder=folder), make_embedder("hash:512")
        base = await open_knowledge(place, embedder, COMPANION)
        try:
            context = Context(StructuredChat(listener, form=form), base, persona)
            summaries = Summaries(
                base,
                ConversationSummarizer(context),
                ProfileWriter(context),
                Auditor(context),
                ForgettingJudge(context).judge_later,
                pause=0,
                clock=stage,
            )
            for step in life.steps:
                stage.at = _evening(life, step)
                await _live(base, life, step)
                written.append(await _write(base, summaries, listener, step, stage.at))
        finally:
            await base.close()
    return written


async def find_wrong(
    life: Life, statements: Sequence[Statement], portrait: str, chat: StructuredChat
) -> list[Statement]:
    """Return the statements on which a reader of the portrait, a model, thinks otherwise.

    Raises EndpointError, AnswerError, RecordingError.
    """
    language = language_of(portrait)
    rules = render("entailment", language, user=life.user, assistant=life.assistant)

    async def holds(one: Statement) -> bool:
        question = render("entailment_question", language, sentence=one.says, content=portrait)
        task = Task(REQUEST_NAME, rules, language, question, EntailmentAnswer)
        return (await ask_task(chat, task)).value.says

    found = await asyncio.gather(*map(holds, statements))
    return [one for one, said in zip(statements, found, strict=True) if one.holds != said]


def find_lost(life: Life, written: Sequence[Written]) -> list[tuple[date, str]]:
    """Return when the portrait lost something to keep that was known nowhere else by then."""
    return [
        (one.day, mention.about)
        for former, one in pairwise(written)
        for mention in life.keep
        if mention.within(former.text)
        and not mention.within("\n".join((one.text, one.held, *one.dropped)))
    ]


async def _write(
    base: KnowledgeBase, summaries: Summaries, listener: _Listener, step: LifeStep, now: datetime
) -> Written:
    error, listener.again = "", []
    try:
        await summaries.write_portrait(USER, "a step")
    except AnswerError as failed:
        error = str(failed)
    portrait = await base.portrait(USER)
    held = [one for one in await base.list(USER, now=now) if one.category is not Category.PROFILE]
    return Written(
        day=step.day,
        text=portrait.content if portrait else "",
        dropped=tuple(one["detail"] for one in portrait.data["dropped"]) if portrait else (),
        asked_again=tuple(listener.again),
        error=error,
        held="\n".join(one.searchable for one in held),
    )


async def _live(base: KnowledgeBase, life: Life, step: LifeStep) -> None:
    over = await base.get_many(USER, [_id(id) for id in step.end])
    gone = [one.model_copy(update={"state": MemoryState.SUPERSEDED}) for one in over]
    episodes = await base.list(USER, category=Category.EPISODE)
    old = [one for one in episodes if one.created_at < _evening(life, step) - EPISODE_AGE]
    gone += [one.model_copy(update={"state": MemoryState.FORGOTTEN}) for one in old]
    zone, at = ZoneInfo(life.timezone), _talked_at(life, step)
    learnt = [one.stored(_id(one.id), at, zone, COMPANION) for one in step.learn]
    told = [_episode(life, step, one) for one in step.told]
    await put_memories(base, [*gone, *learnt, *told])


def _episode(life: Life, step: LifeStep, one: Talked) -> Memory:
    at = _talked_at(life, step)
    known = Known(
        content=f"[{at:%Y-%m-%d %H:%M}] {one.line}",
        kind=Kind.MOMENT,
        category=Category.EPISODE,
        at=at,
    )
    episode = stored_memory(known, COMPANION, id=_id(one.line), user_id=USER)
    data = {"key_facts": list(one.facts), "unresolved": one.open}
    return episode.model_copy(update={"data": data})


def _evening(life: Life, step: LifeStep) -> datetime:
    return datetime.combine(step.day, EVENING, ZoneInfo(life.timezone))


def _talked_at(life: Life, step: LifeStep) -> datetime:
    return _evening(life, step) - timedelta(hours=1)


def _id(name: str) -> str:
    return derive_id("life", name)


YEAR = Path(__file__).parent / "data" / "portraits.yaml"
TOLD_WORDS = 300
TOLD_CHARACTERS = 1800
"""The limits that the rules tell the model; tests compare them with the rules."""


@dataclass(frozen=True)
class Year:
    """A life, its portraits, and what is wrong with them."""

    life: Life
    written: tuple[Written, ...]
    lost: tuple[tuple[date, str], ...]
    """The lost facts that were known nowhere else, each with its day."""
    wrong: tuple[Statement, ...]
    """The statements on which a reader of the last portrait thinks otherwise."""

    @property
    def too_long(self) -> list[Written]:
        """The portraits longer than the rules tell."""
        return [
            one for one in self.written if one.words > TOLD_WORDS or len(one.text) > TOLD_CHARACTERS
        ]

    @property
    def unmet(self) -> list[str]:
        """Facts that the last portrait lacks, and facts that it should not mention."""
        end, last = self.life.end, self.written[-1].text
        absent = [f"not told: {one.about}" for one in end.says if not one.within(last)]
        return absent + [f"told: {one.about}" for one in end.never if one.within(last)]

    @property
    def figures(self) -> dict[str, Any]:
        """The counts."""
        return {
            "portraits": len(self.written),
            "requests": len(self.written) + sum(len(one.asked_again) for one in self.written),
            "asked again": sum(bool(one.asked_again) for one in self.written),
            "failed": sum(bool(one.error) for one in self.written),
            "too long": len(self.too_long),
            "most words": max(one.words for one in self.written),
            "most characters": max(len(one.text) for one in self.written),
            "lost": len(self.lost),
            "wrong at the end": len(self.unmet) + len(self.wrong),
        }


async def play_year(life: Life, record: Path | None, recorded: Path | None) -> Year:
    """Write the portraits of a life, and mark them. Raises EndpointError, RecordingError."""
    settings = source_settings(record, recorded)
    async with open_source(settings, record, recorded) as chat:
        written = await write_portraits(life, chat, settings.answer_form)
        reader = StructuredChat(chat, form=settings.answer_form)
        wrong = await find_wrong(life, life.end.statements, written[-1].text, reader)
    return Year(life, tuple(written), tuple(find_lost(life, written)), tuple(wrong))


def portraits(
    life: Annotated[Path, Argument(help="A scripted life (YAML).")] = YEAR,
    record: Record = None,
    recorded: Recorded = None,
    as_json: ToJson = False,
) -> None:
    """Write the portraits of a scripted life one after the other, and mark them."""
    year = asyncio.run(play_year(read_yaml(life, Life), record, recorded))
    if as_json:
        print(json.dumps({**year.figures, "last": year.written[-1].text}, ensure_ascii=False))
    else:
        report(year, Console(highlight=False, width=120))


def report(year: Year, console: Console) -> None:
    """Print one line for each portrait, what is wrong, the last portrait, and the counts."""
    table = Table("written", "words", "characters", "asked again", "failed", box=box.SIMPLE_HEAD)
    for one in year.written:
        again = " / ".join(escape(" ".join(words.split())) for words in one.asked_again)
        row = (str(one.day), str(one.words), str(len(one.text)), again, escape(one.error))
        table.add_row(*row)
    console.print(table)
    console.print(escape(year.written[-1].text), "")
    lost = [f"{day}: lost {about}" for day, about in year.lost]
    misread = [f"a reader says otherwise: {one.says} ({one.holds})" for one in year.wrong]
    for problem in (*lost, *year.unmet, *misread):
        console.print(f"[red]{escape(problem)}[/]")
    console.print(json.dumps(year.figures))
