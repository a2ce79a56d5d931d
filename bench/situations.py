"""What comes to mind: hand-written situations, and whether what matters is whispered in them.

    python -m bench situations --recorded bench/data/situations.jsonl

Each memory has the cues that a model gave it without knowing the message, and each boundary is
linked with the memories that, by a model, it speaks of. Reported are the share of what must come
that came, what came and must not, and how much of what was whispered bears on the message, as a
model marks it, which sees all that is known and not what was whispered.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from rich.console import Console
from rich.markup import escape
from typer import Argument, Option

from bench.command import Embedder as Named, Record, Recorded, ToJson, open_source, source_settings
from bench.hand_written import USER, WrittenMemory, read_yaml
from souffleur.agents.brief import NONE, clock
from souffleur.agents.fields import Remark
from souffleur.agents.model.chat import Chat
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.api import Souffleur
from souffleur.demo.dialogue import StageClock
from souffleur.errors import InputError, RecordingError
from souffleur.evals.fixture import scratch
from souffleur.evals.script import Patterns, occurs
from souffleur.knowledge.memory import Frozen, Source
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.people import Language, check_zone
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.search.words import terms
from souffleur.knowledge.store.records import put_memories
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from souffleur.prompts import render
from souffleur.recall.compose import Recall
from souffleur.service.jobs import perform
from souffleur.service.run import RunOptions
from souffleur.settings import Settings

FOLDER = Path(__file__).parent / "data" / "situations"


class LifeMemory(WrittenMemory):
    """A memory of the user, and when it was learnt."""

    at: AwareDatetime


class SaidBefore(Frozen):
    """An exchange that is kept word for word."""

    at: AwareDatetime
    user: str
    assistant: str = ""


class Situation(Frozen):
    """A whole file."""

    name: str
    """The file's name, without .yaml."""
    language: Language
    timezone: Annotated[str, AfterValidator(check_zone)]
    now: AwareDatetime
    """The time of the message."""
    user: str
    assistant: str
    topic: str
    """The kind of link between the message and the memories that must come."""
    memories: tuple[LifeMemory, ...]
    said: tuple[SaidBefore, ...] = ()
    """Earlier talk."""
    talk: tuple[SaidBefore, ...] = ()
    """This talk, before the message."""
    message: str = Field(min_length=1)
    must_come: tuple[str, ...] = ()
    must_not_come: tuple[str, ...] = ()
    must_say: Patterns = ()
    """Patterns that must be in what is whispered."""
    must_not_say: Patterns = ()
    """Patterns that must not be in it."""
    why: str = ""

    @model_validator(mode="after")
    def _is_coherent(self) -> "Situation":
        ids = [memory.id for memory in self.memories]
        if len(set(ids)) < len(ids):
            raise ValueError("two memories have the same id")
        if unknown := {*self.must_come, *self.must_not_come} - set(ids):
            raise ValueError(f"no memory has the id {sorted(unknown)[0]!r}")
        if not (self.must_come or self.must_say or self.must_not_come or self.must_not_say):
            raise ValueError("nothing must come, and nothing must not")
        moments = [one.at for one in self.memories] + [one.at for one in (*self.said, *self.talk)]
        if max(moments) > self.now:
            raise ValueError("something is known only after the message")
        return self

    def shares_words(self) -> bool:
        """Return whether the message has a word in common with a memory that must come."""
        said = set(terms(self.message))
        needed = (one.content for one in self.memories if one.id in self.must_come)
        return any(said & set(terms(content)) for content in needed)


def read_situation(path: Path) -> Situation:
    """Return the situation of a YAML file. Raises InputError."""
    return read_yaml(path, Situation, name=path.stem)


def read_situations(folder: Path = FOLDER, only: str = "*") -> list[Situation]:
    """Return the situations in a folder and its folders, by name. Raises InputError."""
    files = sorted(folder.rglob("*.yaml"))
    found = [read_situation(file) for file in files if file.match(f"{only}.yaml")]
    if not found:
        raise InputError(f"no situation in {folder} has a name such as {only!r}")
    return found


DAY = timedelta(days=1)
RECALL_TIMEOUT = 60.0
"""Seconds: many situations share the processor, and only what comes is measured here."""


@dataclass(frozen=True)
class Helps:
    """Further links of a memory, besides its own words."""

    cues: bool = True
    """Each memory has cues, and each boundary is linked with what it speaks of."""
    next: bool = True
    """The talk before the message was judged, so that some memories may be expected."""


class BearsAnswer(BaseModel):
    """The answer of a marker: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    bears: list[str]
    """Handles of what bears on the message."""


@dataclass(frozen=True)
class CameToMind:
    """The whisper for a message."""

    situation: Situation
    whisper: Recall
    names: tuple[str, ...]
    """Ids of the whispered memories in the situation, in the order of the text."""
    said: tuple[int, ...]
    """Places of the earlier exchanges that were whispered."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids and patterns that should have come and did not."""
        absent = [pattern for pattern in self.situation.must_say if not self._tells(pattern)]
        return (*(id for id in self.situation.must_come if id not in self.names), *absent)

    @property
    def violations(self) -> tuple[str, ...]:
        """Ids and patterns that came and should not have come."""
        spoken = [pattern for pattern in self.situation.must_not_say if self._tells(pattern)]
        return (*(id for id in self.situation.must_not_come if id in self.names), *spoken)

    @property
    def due(self) -> int:
        """The number of ids and patterns that should come."""
        return len(self.situation.must_come) + len(self.situation.must_say)

    @property
    def lines(self) -> int:
        """The number of whispered memories and exchanges."""
        return len(self.names) + len(self.said)

    def bearing(self, bears: frozenset[str]) -> int:
        """Return how many whispered lines are among what bears on the message."""
        known = {one.id: f"m{place}" for place, one in enumerate(self.situation.memories, start=1)}
        handles = [known[name] for name in self.names] + [f"s{place + 1}" for place in self.said]
        needed = {known[id] for id in self.situation.must_come}
        return sum(handle in bears | needed for handle in handles)

    def _tells(self, pattern: str) -> bool:
        return occurs(pattern, self.whisper.text)


async def play(
    situation: Situation,
    settings: Settings,
    *,
    chat: Chat | None = None,
    embedder: Embedder | None = None,
    helps: Helps | None = None,
) -> CameToMind:
    """Put a life into a fresh store and recall its message. Raises RecordingError, StoreError."""
    helps = helps or Helps()
    stage = StageClock(situation.now - DAY)
    with scratch() as folder:
        fresh = _settings(situation, settings, folder)
        async with Souffleur.open(fresh, chat=chat, clock=stage, embedder=embedder) as memory:
            await _put(memory, situation)
            if chat and helps.cues:
                await _prepare(memory)
            await _talk(memory, situation, stage, judged=not (chat and helps.next))
            stage.at = situation.now
            whisper = await memory.recall(
                user_id=USER, session_id="now", text=situation.message, at=situation.now
            )
    known = {_memory_id(situation, one): one.id for one in situation.memories}
    said = {_turn(situation, one, "then").id: at for at, one in enumerate(situation.said)}
    return CameToMind(
        situation,
        whisper,
        names=tuple(known[id] for id in whisper.ids if id in known),
        said=tuple(said[id] for id in whisper.turn_ids if id in said),
    )


async def mark_bearing(situation: Situation, chat: StructuredChat) -> frozenset[str]:
    """Return the handles of what bears on the message: m1 … of memories, s1 … of what was said.

    Raises EndpointError, AnswerError, RecordingError.
    """
    language = "zh" if situation.language == "zh" else "en"
    zone = ZoneInfo(situation.timezone)
    known = "\n".join(f"m{at}: {one.content}" for at, one in enumerate(situation.memories, start=1))
    said = "\n".join(
        f"s{at}: [{one.at.astimezone(zone):%Y-%m-%d}] {_exchange(situation, one)}"
        for at, one in enumerate(situation.said, start=1)
    )
    question = render(
        "bears_question",
        language,
        now=clock(situation.now, zone, language),
        known=known,
        said=said or NONE[language],
        talk="\n".join(_exchange(situation, one) for one in situation.talk) or NONE[language],
        message=f"{situation.user}: {situation.message}",
    )
    rules = render("bears", language, user=situation.user, assistant=situation.assistant)
    answered = await ask_task(chat, Task("bears", rules, language, question, BearsAnswer))
    return frozenset(handle.strip().casefold() for handle in answered.value.bears)


def _settings(situation: Situation, settings: Settings, folder: object) -> Settings:
    return settings.model_copy(
        update={
            "path": folder,
            "policy": "companion",
            "judge_every": 1,
            "user_title": situation.user,
            "assistant_name": situation.assistant,
            "timezone": situation.timezone,
            "language": situation.language,
            "raw_days": 0,
            "qdrant_url": None,
            "schedule": False,
            "recall_timeout": RECALL_TIMEOUT,
        }
    )


async def _put(memory: Souffleur, situation: Situation) -> None:
    """Store the memories as entered by the host, so that the run of cues writes theirs."""
    zone, policy = ZoneInfo(situation.timezone), memory.knowledge.policy
    memories = [
        one.stored(_memory_id(situation, one), one.at, zone, policy) for one in situation.memories
    ]
    entered = [one.model_copy(update={"source": Source.SYSTEM}) for one in memories]
    await put_memories(memory.knowledge, entered)


def _memory_id(situation: Situation, known: LifeMemory) -> str:
    return derive_id("situation", situation.name, known.id)


async def _prepare(memory: Souffleur) -> None:
    """Do the runs that give memories what they have besides their words. Raises RecordingError."""
    for name in ("cues", "boundaries"):
        report = await perform(memory.parts, name, RunOptions(memory.clock(), user_id=USER))
        for line in report.items:
            if line.op == "FAILED":
                raise RecordingError(line.reason)


async def _talk(
    memory: Souffleur, situation: Situation, stage: StageClock, *, judged: bool
) -> None:
    for session, exchanges in (("then", situation.said), ("now", situation.talk)):
        for one in exchanges:
            stage.at = one.at
            turn = _turn(situation, one, session)
            if judged or session == "then":
                memory.knowledge.journal.record(turn)
            else:
                memory.observe(
                    user_id=USER,
                    session_id=session,
                    user=one.user,
                    assistant=one.assistant,
                    turn_id=turn.turn_id,
                    at=one.at,
                )
                await memory.flush()
    await memory.knowledge.embed_turns()


def _turn(situation: Situation, one: SaidBefore, session: str) -> Turn:
    turn_id = one.at.isoformat()
    return Turn(
        id=turn_point_id(USER, "default", session, turn_id),
        turn_id=turn_id,
        user_id=USER,
        session_id=session,
        at=one.at,
        user=one.user,
        assistant=one.assistant,
        state=TurnState.JUDGED,
    )


def _exchange(situation: Situation, one: SaidBefore) -> str:
    sides: Mapping[str, str] = {situation.user: one.user, situation.assistant: one.assistant}
    return " / ".join(f"{name}: {words}" for name, words in sides.items() if words)


AT_ONCE = 12
"""Situations played side by side."""


@dataclass(frozen=True)
class Marked:
    """A situation's whisper, and the handles of all that bears on its message."""

    came: CameToMind
    bears: frozenset[str] | None
    """The handles; `None` without a marker."""


def summarize(marked: Sequence[Marked]) -> dict[str, Any]:
    """Return the figures: shares from 0 to 1, counts otherwise."""
    due = sum(one.came.due for one in marked)
    missing = sum(len(one.came.missing) for one in marked)
    rated = [one for one in marked if one.bears is not None]
    lines = sum(one.came.lines for one in rated)
    bearing = sum(one.came.bearing(one.bears or frozenset()) for one in rated)
    return {
        "situations": len(marked),
        "due": due,
        "came": round((due - missing) / due, 3) if due else None,
        "violations": sum(len(one.came.violations) for one in marked),
        "lines": round(lines / len(rated), 1) if rated else None,
        "precision": round(bearing / lines, 3) if lines else None,
        "tokens": round(sum(one.came.whisper.tokens for one in marked) / len(marked)),
    }


def situations(
    folder: Annotated[Path, Argument(help="A folder of situations.")] = FOLDER,
    record: Record = None,
    recorded: Recorded = None,
    embedder: Named = "hash:512",
    only: Annotated[str, Option(help="Names that fit this pattern.")] = "*",
    cues: Annotated[bool, Option(help="Give memories cues; link boundaries.")] = True,
    next: Annotated[bool, Option(help="Judge the talk before the message.")] = True,
    mark: Annotated[bool, Option(help="Mark what bears on the messages.")] = True,
    as_json: ToJson = False,
) -> None:
    """Recall in hand-written situations, and say what came to mind and what did not."""
    found = read_situations(folder, only)
    marked = asyncio.run(
        _mark_all(found, record, recorded, embedder, Helps(cues=cues, next=next), mark)
    )
    if as_json:
        print(json.dumps(_by_language(marked), indent=1, ensure_ascii=False))
    else:
        _show(marked, Console(highlight=False, width=120))


async def _mark_all(
    found: Sequence[Situation],
    record: Path | None,
    recorded: Path | None,
    embedder: str,
    helps: Helps,
    mark: bool,
) -> list[Marked]:
    settings = source_settings(record, recorded, embedder=embedder)
    slots = asyncio.Semaphore(AT_ONCE)
    async with open_source(settings, record, recorded) as chat:

        async def brought(situation: Situation) -> CameToMind:
            async with slots:
                return await play(situation, settings, chat=chat, helps=helps)

        async def bearing(situation: Situation) -> frozenset[str] | None:
            async with slots:
                marker = StructuredChat(chat, form=settings.answer_form)
                return await mark_bearing(situation, marker) if mark else None

        # Cues come first: whoever writes them must not have seen a message.
        came = await asyncio.gather(*map(brought, found))
        bears = await asyncio.gather(*map(bearing, found))
    return [Marked(*both) for both in zip(came, bears, strict=True)]


def _by_language(marked: Sequence[Marked]) -> dict[str, Any]:
    parts: dict[str, list[Marked]] = {}
    for one in sorted(marked, key=lambda one: one.came.situation.language):
        parts.setdefault(one.came.situation.language, []).append(one)
    parts["all"] = list(marked)
    if apart := [one for one in marked if not one.came.situation.shares_words()]:
        parts["without a shared word"] = apart
    return {name: summarize(part) for name, part in parts.items()}


def _show(marked: Sequence[Marked], console: Console) -> None:
    for one in marked:
        came, situation = one.came, one.came.situation
        for what, names in (("missing", came.missing), ("must not", came.violations)):
            for name in names:
                content = next((m.content for m in situation.memories if m.id == name), name)
                console.print(f"[red]{what}[/] {situation.language}/{situation.name}: ", end="")
                console.print(f"{escape(situation.message)} [dim]<- {escape(content)}[/]")
    for name, figures in _by_language(marked).items():
        console.print(f"{name}: {json.dumps(figures)}")
