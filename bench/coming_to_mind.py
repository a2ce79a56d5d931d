"""What comes to mind in a situation: its life is put into a store, and its message recalled.

A situation is a YAML file: a small life, a message, and what must come to mind for the reply to
it. What must come was written by hand, before anything was measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import yaml
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from souffleur.agents.brief import NONE, clock
from souffleur.agents.fields import Remark
from souffleur.agents.model.chat import Chat
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.api import Souffleur
from souffleur.dialogue import StageClock
from souffleur.errors import InputError, RecordingError
from souffleur.evals.fixture import scratch, stored_memory
from souffleur.evals.script import Known, Patterns, occurs
from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Frozen, Kind, Memory
from souffleur.knowledge.operation import Importance, derive_id
from souffleur.knowledge.people import Language, check_zone
from souffleur.knowledge.policy import Policy
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


class LifeMemory(Frozen):
    """Something known of the user."""

    id: str
    """Its name within the situation."""
    content: str = Field(min_length=1)
    kind: Kind
    importance: Importance
    at: AwareDatetime
    """When it was learnt."""
    until: date | None = None
    """The day on which it ends or happens, if there is one."""
    core: bool = False


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
    """When the message is sent."""
    user: str
    assistant: str
    topic: str
    """What kind of link there is between the message and what must come."""
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
    """Return the situation of a YAML file; InputError says where it is wrong."""
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Situation.model_validate({**raw, "name": path.stem})
    except (OSError, UnicodeError, TypeError, yaml.YAMLError) as error:
        raise InputError(f"{path} is no situation: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"{path}, at {where}: {said}") from error


def read_situations(folder: Path = FOLDER, only: str = "*") -> list[Situation]:
    """Return the situations in a folder and its folders, by name. Raises InputError."""
    files = sorted(folder.rglob("*.yaml"))
    found = [read_situation(file) for file in files if file.match(f"{only}.yaml")]
    if not found:
        raise InputError(f"no situation in {folder} has a name such as {only!r}")
    return found


USER = "user"
DAY = timedelta(days=1)
RECALL_TIMEOUT = 60.0
"""Seconds: many situations share the processor, and only what comes is measured here."""


@dataclass(frozen=True)
class Helps:
    """What a memory has besides the words of what it knows."""

    cues: bool = True
    """Each memory has cues, and each boundary is linked with what it speaks of."""
    next: bool = True
    """The talk before the message was judged, so that some memories may be expected."""


class BearsAnswer(BaseModel):
    """What a marker answers: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    bears: list[str]
    """Handles of what bears on the message."""


@dataclass(frozen=True)
class CameToMind:
    """What a message brought."""

    situation: Situation
    whisper: Recall
    names: tuple[str, ...]
    """Of the memories that were whispered: their ids in the situation, in the text's order."""
    said: tuple[int, ...]
    """Of the earlier exchanges that were whispered: their places."""

    @property
    def missing(self) -> tuple[str, ...]:
        """What should have come, and did not: ids and patterns."""
        absent = [pattern for pattern in self.situation.must_say if not self._tells(pattern)]
        return (*(id for id in self.situation.must_come if id not in self.names), *absent)

    @property
    def violations(self) -> tuple[str, ...]:
        """What came and should not have: ids and patterns."""
        spoken = [pattern for pattern in self.situation.must_not_say if self._tells(pattern)]
        return (*(id for id in self.situation.must_not_come if id in self.names), *spoken)

    @property
    def due(self) -> int:
        """How many things should come."""
        return len(self.situation.must_come) + len(self.situation.must_say)

    @property
    def lines(self) -> int:
        """How many memories and exchanges were whispered."""
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
    policy = memory.knowledge.policy
    memories = [known_memory(situation, one, policy) for one in situation.memories]
    await put_memories(memory.knowledge, memories)


def known_memory(situation: Situation, known: LifeMemory, policy: Policy) -> Memory:
    """Return a memory as it would lie in the store, had it been learnt when the life says."""
    zone = ZoneInfo(situation.timezone)
    end = datetime.combine(known.until, time(), zone) if known.until else None
    value = decay.initial_importance(known.kind, known.importance, policy)
    fields = Known(
        content=known.content,
        kind=known.kind,
        category=Category.CORE if known.core else None,
        at=known.at,
        value=max(value, policy.core_value) if known.core else value,
        expires_at=decay.plan_expiry(end) if end else None,
    )
    return stored_memory(fields, policy, id=_memory_id(situation, known), user_id=USER)


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
