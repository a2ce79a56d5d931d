"""A year of somebody's life: how much of what is known reaches the prompt, for each message.

python -m bench lives bench/data/lives/en.yaml --out build/en            # asks the model
python -m bench lives bench/data/lives/en.yaml --out build/en --again    # recall alone, no model

A life is written by somebody who knows nothing of the system. Its turns are played through the real
runtime at their times; before each of its messages the store is backed up and a recall is made. The
answers, `blocks.json`, have what each message needs and what would be wrong: a person or a model
marks them, without knowing whose they are. `--again` restores the backups, so that another way to
recall is measured on the same memories without asking the model. With `--system langmem` another
memory system takes the same turns, and brings the results of its search.

It also says how much of the stable part of a block is the same as in the block before, from its
first letter on: a provider's cache spares as much of it. When a life is played, these are the
blocks of its turns, too, as a talk asks for them.
"""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import Field
from rich.console import Console
from typer import Argument, Option

from bench.answering import Meter
from bench.hand_written import read_yaml
from bench.systems import SystemInputs
from bench.systems.contestant import Batch, make_contestant
from souffleur.api import Souffleur
from souffleur.demo.dialogue import (
    AssistantPart,
    Dialogue,
    Exchange,
    SessionPart,
    StageClock,
    UserPart,
)
from souffleur.evals.fixture import scratch
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.store.backup import restore
from souffleur.parts import make_endpoint, make_place, settings_embedder
from souffleur.prompts import Language, render
from souffleur.recall.rendering import estimate_tokens
from souffleur.service.jobs import RUNS
from souffleur.service.run import RunOptions
from souffleur.settings import Settings, load_settings

USER = "person"
TALK_PAUSE = timedelta(hours=1)
"""The pause after which the next turn begins a talk of its own."""
QUESTION = timedelta(days=1)
"""The time from the last turn to the questions about the past."""
NIGHT = timedelta(hours=4)
"""The hour of the day at which runs are made."""
RESULTS = 20
"""Maximum memories that the search of another system brings."""


class LifeTurn(Frozen):
    """An exchange of the life."""

    at: datetime
    """The local time, without a zone."""
    user: str
    companion: str


class LifeMessage(Frozen):
    """A message for which only a recall is made."""

    at: datetime
    text: str
    needed: tuple[str, ...] = ()
    """Facts that a good reply must have in mind."""
    wrong: tuple[str, ...] = ()
    """Statements that were true once or never."""


class LifeQuestion(Frozen):
    """A question about the past, asked at the end."""

    text: str
    answer: str


class WrittenLife(Frozen):
    """A life, as its file has it."""

    language: Literal["en", "zh", "ja"]
    person: str
    companion: str
    timezone: str
    turns: tuple[LifeTurn, ...] = Field(min_length=1)
    messages: tuple[LifeMessage, ...]
    questions: tuple[LifeQuestion, ...]
    held: tuple[str, ...]
    """Facts that must be held at the end."""
    over: tuple[str, ...]
    """Facts that are over or corrected at the end."""


@dataclass(frozen=True)
class Block:
    """A message or question, and the block that a recall brought for it."""

    number: int
    kind: Literal["message", "question"]
    at: str
    text: str
    needed: Sequence[str]
    wrong: Sequence[str]
    tokens: int
    block: str
    error: str = ""


@dataclass(frozen=True)
class Moment:
    """An exchange, message, question or night at its time."""

    at: datetime
    what: LifeTurn | LifeMessage | LifeQuestion | None
    """`None` is a night of runs."""
    number: int = 0


def moments(life: WrittenLife, *, runs: bool) -> list[Moment]:
    """Return what happens in a life, in order; with `runs`, a night of them each week."""
    zone = ZoneInfo(life.timezone)
    found = [Moment(one.at.replace(tzinfo=zone), one) for one in life.turns]
    first, last = found[0].at, found[-1].at + QUESTION
    found += [
        Moment(one.at.replace(tzinfo=zone), one, number)
        for number, one in enumerate(life.messages, start=1)
    ]
    found += [Moment(last, one, n) for n, one in enumerate(life.questions, start=101)]
    if runs:
        midnight = first.replace(hour=0, minute=0)
        weeks = range(1, (last - first).days // 7 + 1)
        found += [Moment(midnight + timedelta(weeks=week) + NIGHT, None) for week in weeks]
    return sorted(found, key=lambda one: one.at)


class Performance:
    """Plays one life in one store."""

    def __init__(self, life: WrittenLife, memory: Souffleur, clock: StageClock, out: Path) -> None:
        self.life, self.memory, self.clock, self.out = life, memory, clock, out
        self.blocks: list[Block] = []
        self.recalled: list[str] = []
        """The blocks of turns, messages and questions, in order of time."""
        self.runs: list[dict[str, Any]] = []
        self._talks = _talks(life.turns)

    async def play(self, moment: Moment) -> None:
        """Let one thing happen at its time."""
        self.clock.at = moment.at
        await self.memory.flush()  # talks that have ended meanwhile are summarised
        if moment.what is None:
            await self._run()
        elif isinstance(moment.what, LifeTurn):
            await self._say(moment.what)
        else:
            await self.memory.backup(self.out / f"{moment.number:03d}.backup")
            self.blocks.append(await recalled(self.memory, moment))
            self.recalled.append(self.blocks[-1].block)

    async def _say(self, turn: LifeTurn) -> None:
        session, place = next(self._talks)
        said: Any = {"user_id": USER, "session_id": session}
        self.recalled.append((await self.memory.recall(**said, text=turn.user)).text)
        self.memory.observe(
            **said, user=turn.user, assistant=turn.companion, turn_id=f"{session}-{place}"
        )
        await self.memory.flush()

    async def _run(self) -> None:
        for name in RUNS:
            result = await self.memory.run(name, RunOptions(self.clock.at))
            ops = sorted(item.op for item in result.items)
            self.runs.append({"run": name, "calls": result.calls, "ops": ops})


def _talks(turns: Sequence[LifeTurn]) -> Iterator[tuple[str, int]]:
    """Yield for each turn the name of its talk and its place in it."""
    number = place = 0
    for before, turn in zip([None, *turns], turns, strict=False):
        new = before is None or turn.at - before.at > TALK_PAUSE
        number, place = (number + 1, 1) if new else (number, place + 1)
        yield f"talk-{number:03d}", place


async def recalled(memory: Souffleur, moment: Moment) -> Block:
    """Return what a message or question brings."""
    assert isinstance(moment.what, LifeMessage | LifeQuestion)
    session = f"asked-{moment.number}"
    brought = await memory.recall(user_id=USER, session_id=session, text=moment.what.text)
    return _block(moment, brought.tokens, brought.text, brought.error)


def _block(moment: Moment, tokens: int, text: str, error: str = "") -> Block:
    asked = moment.what
    assert isinstance(asked, LifeMessage | LifeQuestion)
    kind: Literal["message", "question"] = "message"
    if isinstance(asked, LifeQuestion):
        asked = LifeMessage(at=moment.at, text=asked.text, needed=(asked.answer,))
        kind = "question"
    return Block(
        *(moment.number, kind, moment.at.isoformat(), asked.text, asked.needed, asked.wrong),
        *(tokens, text, error),
    )


def lives(
    path: Annotated[Path, Argument(help="The file of the life.")],
    out: Annotated[Path, Option(help="The folder for blocks and backups.")],
    again: Annotated[
        bool, Option("--again", help="Recall anew over the backups in that folder.")
    ] = False,
    runs: Annotated[bool, Option("--runs", help="Make all runs once a week.")] = False,
    embedder: Annotated[str, Option(help="hash:512, fastembed:MODEL …")] = "hash:512",
    system: Annotated[str, Option(help="Another system instead: mem0 or langmem.")] = "",
) -> None:
    """Play a year of a life, and keep what each of its messages brings."""
    life = read_yaml(path, WrittenLife)
    out.mkdir(parents=True, exist_ok=True)
    for old in () if again else out.glob("*.backup"):
        old.unlink()
    named: dict[str, Any] = {"user_title": life.person, "assistant_name": life.companion}
    named |= {"timezone": life.timezone, "embedder": embedder}
    settings = load_settings(**named)
    if system:
        work = _play_other(system, life, settings)
    else:
        work = _again(life, settings, out) if again else _play(life, settings, out, runs=runs)
    blocks, texts = asyncio.run(work)
    name = "blocks-again.json" if again else "blocks.json"
    _write(out / name, [asdict(one) for one in blocks])
    size, same = median(one.tokens for one in blocks), share_of_beginnings(texts)
    Console().print(f"{len(blocks)} blocks, median {size:.0f} tokens: {out / name}")
    Console().print(f"{same:.0%} of the stable part is as in the block before")


def share_of_beginnings(texts: Sequence[str]) -> float:
    """Return which share of the stable parts begins like the block before, from 0 to 1."""
    stable = list(map(stable_part, texts))
    same = [_same_letters(*pair) for pair in pairwise(stable)]
    return sum(same) / (sum(map(len, stable[1:])) or 1)


def _same_letters(one: str, other: str) -> int:
    """Return how many letters at the beginning of two texts are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def stable_part(block: str) -> str:
    """Return the text of a block before what goes with its message."""
    names, languages = ("more", "episodes", "due", "related", "past"), get_args(Language)
    heads = [
        render(f"whisper_{name}", language, lines="") for name in names for language in languages
    ]
    return block[: min((at for head in heads if (at := block.find(head)) >= 0), default=len(block))]


Brought = tuple[list[Block], list[str]]
"""The blocks of messages and questions; the texts of all blocks, in order of time."""


async def _play(life: WrittenLife, settings: Settings, out: Path, *, runs: bool) -> Brought:
    each = moments(life, runs=runs)
    clock = StageClock(each[0].at)
    with scratch() as folder:
        fresh = settings.model_copy(update={"path": folder})
        async with Souffleur.open(fresh, clock=clock) as memory:
            show = Performance(life, memory, clock, out)
            for moment in each:
                await show.play(moment)
            held = [one.model_dump(mode="json") for one in await memory.list(user_id=USER)]
            ledger = await memory.ledger(user_id=USER, limit=10_000)
            told = [one.model_dump(mode="json") for one in ledger]
    for name, what in (("memories", held), ("ledger", told), ("runs", show.runs)):
        _write(out / f"{name}.json", what)
    return show.blocks, show.recalled


async def _play_other(name: str, life: WrittenLife, settings: Settings) -> Brought:
    """Let another system take each turn by itself, and bring what its search finds."""
    endpoint, blocks = make_endpoint(settings), list[Block]()
    meter, dialogue = Meter(endpoint), to_dialogue(life)
    inputs = SystemInputs(dialogue, settings, meter, settings_embedder(settings))
    contestant = make_contestant(name, inputs, dialogue, RESULTS)
    exchanges = (Batch(part.id, (one,)) for part in dialogue.sessions for one in part.turns)
    await contestant.open()
    try:
        for moment in moments(life, runs=False):
            if isinstance(moment.what, LifeTurn):
                await contestant.write(next(exchanges))
            elif moment.what is not None:
                text = await contestant.bring(moment.what.text, moment.at)
                blocks.append(_block(moment, estimate_tokens(text), text))
    finally:
        await contestant.close()
        await endpoint.aclose()
    Console().print(meter.cost, *contestant.troubles, sep="\n")
    return blocks, [one.block for one in blocks]


def to_dialogue(life: WrittenLife) -> Dialogue:
    """Return the turns of a life as a dialogue: a session for each talk."""
    zone, sessions = ZoneInfo(life.timezone), dict[str, list[Exchange]]()
    for (session, _), turn in zip(_talks(life.turns), life.turns, strict=True):
        at = turn.at.replace(tzinfo=zone)
        said = Exchange(at=at, user=turn.user, assistant=turn.companion)
        sessions.setdefault(session, []).append(said)
    return Dialogue(
        user=UserPart(id=USER, title=life.person),
        assistant=AssistantPart(name=life.companion),
        timezone=life.timezone,
        sessions=tuple(SessionPart(id=id, turns=tuple(told)) for id, told in sessions.items()),
    )


def _write(file: Path, data: object) -> None:
    file.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")


async def _again(life: WrittenLife, settings: Settings, out: Path) -> Brought:
    """Recall for each message over the memories of its time."""
    blocks = []
    for moment in moments(life, runs=False):
        if not moment.number:
            continue
        with scratch() as folder:
            there = settings.model_copy(update={"path": folder / "store"})
            await restore(out / f"{moment.number:03d}.backup", make_place(there))
            clock = StageClock(moment.at.astimezone(UTC))
            async with Souffleur.open(there.model_copy(update={"judge": False}), clock=clock) as m:
                blocks.append(await recalled(m, moment))
    return blocks, [one.block for one in blocks]
