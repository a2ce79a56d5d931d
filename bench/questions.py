"""Questions about the past after a replayed dialogue: what `recall` returns and what is answered.

    python -m bench questions evals/dialogues/three_evenings.yaml \\
        --recorded evals/recordings/three_evenings.jsonl

The questions are in DIALOGUE.questions.yaml beside DIALOGUE.yaml. A question is answerable from the
block if all its expectations, which are regular expressions, match there.
"""

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape

from bench.command import Record, Recorded, need_one_mode, open_source, source_settings
from souffleur.agents.model.chat import Chat, Message, Request
from souffleur.agents.model.recording import Recorder, prune
from souffleur.api import Souffleur
from souffleur.dialogue import Dialogue, clock_for, read_dialogue, replay, settings_for
from souffleur.evals.fixture import scratch
from souffleur.knowledge.memory import Category, Memory
from souffleur.prompts import language_of, render
from souffleur.recall.compose import Recall
from souffleur.settings import Settings


class Question(BaseModel):
    """One question, and what its answer needs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at: AwareDatetime
    session: str = "q"
    ask: str
    expect: list[str] = []
    """Regular expressions; all of them must match."""
    never_said: bool = False
    """True if it was never talked about: the right answer is not to know."""
    about: str = ""


@dataclass(frozen=True)
class Answered:
    """The results of a question."""

    question: Question
    whisper: Recall
    reply: str

    @property
    def answerable(self) -> bool:
        """Whether the block holds all that an answer needs."""
        return all(re.search(sought, self.whisper.text) for sought in self.question.expect)

    @property
    def answered(self) -> bool:
        """Whether the reply holds all that an answer needs."""
        return all(re.search(sought, self.reply) for sought in self.question.expect)


@dataclass(frozen=True)
class Told:
    """The results of a whole run."""

    episodes: list[Memory]
    """Episodes in any state, oldest first."""
    portraits: list[Memory]
    """Portraits, oldest first."""
    answers: list[Answered]


def read_questions(dialogue: Path) -> list[Question]:
    """Return the questions that belong to a dialogue file, in order."""
    file = dialogue.with_suffix(".questions.yaml")
    raw: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [Question.model_validate(part) for part in raw["questions"]]


async def run(
    dialogue: Dialogue, questions: list[Question], settings: Settings, chat: Chat
) -> Told:
    """Replay a dialogue into a fresh store, then ask each question at its time."""
    clock = clock_for(dialogue)
    user_id = dialogue.user.id
    async with Souffleur.open(settings, chat=chat, clock=clock) as memory:
        async for _ in replay(dialogue, memory, clock):
            pass
        answers = []
        for question in questions:
            clock.at = question.at
            await memory.flush()
            answers.append(await _ask(question, memory, chat, user_id))
        episodes = await memory.knowledge.list(user_id, category=Category.EPISODE)
        portraits = await memory.knowledge.portraits(user_id)
        return Told(episodes, portraits[::-1], answers)


def report(told: Told, console: Console) -> None:
    """Print episodes, portraits, and each question with its block and answer."""
    for episode in told.episodes:
        console.print(f"[magenta]EPISODE[/]  {escape(episode.content)}")
        for fact in episode.data["key_facts"]:
            console.print(f"    - {escape(fact)}")
        console.print(f"    [dim]open: {escape(str(episode.data['unresolved']))}[/]")
    for portrait in told.portraits:
        version, changes = portrait.data["version"], portrait.data["changes"]
        console.print(f"\n[magenta]PORTRAIT {version}[/]  {escape(portrait.content)}")
        console.print(f"    [dim]changes: {escape('; '.join(changes))}[/]")
    for index, one in enumerate(told.answers, start=1):
        mark = "[green]answerable[/]" if one.answerable else "[red]not answerable[/]"
        console.rule(f"{index}  {escape(one.question.ask)}  {mark}", align="left")
        console.print(escape(one.whisper.text), style="dim")
        right = "[green]" if one.answered else "[red]"
        console.print(f"{right}answer[/]  {escape(one.reply)}")
    answerable = sum(one.answerable for one in told.answers)
    answered = sum(one.answered for one in told.answers)
    console.rule()
    console.print(f"{answerable} of {len(told.answers)} answerable from the block; ", end="")
    console.print(f"{answered} replies hold what was expected")


async def _ask(question: Question, memory: Souffleur, chat: Chat, user_id: str) -> Answered:
    whisper = await memory.recall(
        user_id=user_id, session_id=question.session, text=question.ask, at=question.at
    )
    language = language_of(question.ask)
    name = memory.settings.assistant_name
    system = render("companion", language, assistant=name, memories=whisper.text)
    messages = (Message("system", system), Message("user", question.ask))
    reply = await chat(Request(messages, "companion"))
    return Answered(question, whisper, reply.text)


def questions(
    dialogue: Annotated[Path, typer.Argument(help="A dialogue file (YAML).")],
    record: Record = None,
    recorded: Recorded = None,
) -> None:
    """Ask questions about the past after a dialogue was replayed."""
    need_one_mode(record, recorded)
    report(asyncio.run(_told(dialogue, record, recorded)), Console(highlight=False, width=120))


async def _told(file: Path, record: Path | None, recorded: Path | None) -> Told:
    dialogue, asked = read_dialogue(file), read_questions(file)
    voiced = source_settings(recorded)
    with scratch() as folder:
        settings = settings_for(dialogue, voiced).model_copy(update={"path": folder})
        async with open_source(voiced, record=record, recorded=recorded) as chat:
            told = await run(dialogue, asked, settings, chat)
    if record and isinstance(chat, Recorder):
        prune(record, chat.used)
    return told
