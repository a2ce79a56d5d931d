"""Dialogue files (a user, a persona, their turns with times), and their replay turn by turn."""

import dataclasses
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from souffleur.agents.model.recording import Player
from souffleur.api import Souffleur
from souffleur.errors import InputError, RecordingError
from souffleur.knowledge.memory import Category, Frozen, Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from souffleur.recall.compose import Recall
from souffleur.service.run import RunOptions, RunResult
from souffleur.settings import Settings


class UserPart(Frozen):
    """The user."""

    id: str = "user"
    title: str = "the user"
    """The user's display name in memories."""
    language: Literal["en", "zh"] | None = None
    """The language of the prompts; `None` means the language of the talk."""


class AssistantPart(Frozen):
    """The persona."""

    id: str = "default"
    name: str = "the assistant"


class Exchange(Frozen):
    """A turn as it was said."""

    at: AwareDatetime
    user: str = ""
    assistant: str = ""
    note: str = ""
    """A sentence about the details that a reader should notice."""


class SessionPart(Frozen):
    """A session: consecutive turns."""

    id: str
    turns: tuple[Exchange, ...] = Field(min_length=1)


class NightPart(Frozen):
    """Scheduled runs at a moment between two turns."""

    id: str
    at: AwareDatetime
    runs: tuple[str, ...] = Field(min_length=1)
    """Names of the runs, in order."""
    note: str = ""
    """A sentence about the details that a reader should notice."""


class ScenePart(Frozen):
    """A turn or a night to show, and which parts of it."""

    title: str
    at: str
    """A session and the number of the turn, like `s01.5`; or the id of a night."""
    about: str = ""
    """A sentence that the reader should know."""
    reply: bool = True
    """Whether the reply is shown."""
    whispered: str = ""
    """A regular expression for the whispered lines to show."""
    done: str = ""
    """A regular expression for the changes to show; empty shows all changes."""
    gone: str = ""
    """A regular expression that no memory may match after this turn."""


class Dialogue(Frozen):
    """A whole dialogue file."""

    title: str = ""
    user: UserPart = UserPart()
    assistant: AssistantPart = AssistantPart()
    timezone: str = "UTC"
    sessions: tuple[SessionPart, ...] = Field(min_length=1)
    nights: tuple[NightPart, ...] = ()
    """The nights, in order of time; runs are done at no other moment."""
    scenes: tuple[ScenePart, ...] = ()
    """The scenes that `souffleur demo` shows."""

    @model_validator(mode="after")
    def _runs_forward(self) -> "Dialogue":
        ZoneInfo(self.timezone)
        last = None
        for session in self.sessions:
            for turn in session.turns:
                if last and turn.at <= last:
                    raise ValueError(f"time runs backward at {turn.at.isoformat()}")
                last = turn.at
        if list(self.nights) != sorted(self.nights, key=lambda night: night.at):
            raise ValueError("time runs backward in the nights")
        places = {night.id for night in self.nights} | {
            f"{session.id}.{place}"
            for session in self.sessions
            for place in range(1, len(session.turns) + 1)
        }
        for scene in self.scenes:
            if scene.at not in places:
                raise ValueError(f"the scene {scene.title!r} is at {scene.at!r}, which is nowhere")
        return self

    def __len__(self) -> int:
        return sum(len(session.turns) for session in self.sessions)


def read_dialogue(path: Path) -> Dialogue:
    """Read a dialogue from a YAML file. Raises InputError, which names the faulty place."""
    try:
        return Dialogue.model_validate(read_yaml(path))
    except ValidationError as error:
        raise fault(error, path) from error


def read_yaml(path: Path) -> Any:
    """Return the value of a YAML file. Raises InputError."""
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {error}") from error


def fault(error: ValidationError, path: Path) -> InputError:
    """Return the error that names the first faulty place of a file."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    return InputError(f"{path}, at {where}: {first['msg'].removeprefix('Value error, ')}")


MIN_SILENCE = timedelta(minutes=5)
"""Minimum pause between two turns after which work can be due."""


@dataclass(frozen=True)
class Played:
    """A replayed turn, and its results."""

    session_id: str
    exchange: Exchange
    whisper: Recall
    turn: Turn
    """The judged turn: `failed` if no usable answer came, `pending` during an outage."""
    outcomes: tuple[LedgerEntry, ...]
    narratives: tuple[Memory, ...] = ()
    """Episodes and portraits written since the previous turn."""


@dataclass(frozen=True)
class PlayedNight:
    """The runs of a night, and their results."""

    night: NightPart
    results: tuple[RunResult, ...]
    outcomes: tuple[LedgerEntry, ...]
    narratives: tuple[Memory, ...] = ()
    """Episodes and portraits written since the previous turn."""


class StageClock:
    """A clock that shows the time of the turn that is being replayed."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """Return the time that the clock is set to."""
        return self.at


def clock_for(dialogue: Dialogue) -> StageClock:
    """Return a clock set to the first turn; pass it to `Souffleur.open` and to `replay`."""
    return StageClock(dialogue.sessions[0].turns[0].at)


def settings_for(dialogue: Dialogue, settings: Settings) -> Settings:
    """Return the settings with the names and the time zone of the dialogue."""
    return settings.model_copy(
        update={
            "user_title": dialogue.user.title,
            "assistant_name": dialogue.assistant.name,
            "timezone": dialogue.timezone,
            "language": dialogue.user.language or settings.language,
        }
    )


AS_SAID: dict[str, Any] = {
    "redact": (),
    "refuse": ("secrets", "documents"),
}
"""Settings of recordings. Turns are stored with their secrets, so that they test the judge."""


def as_recorded(player: Player) -> dict[str, Any]:
    """Return the settings with which a recording must be replayed, else it looks outdated.

    They are the form of the answers, the model (its name decides how tokens are counted), and
    `AS_SAID`: the model saw the talk with its secrets.
    """
    return {"answer_form": player.form, "model": player.model, **AS_SAID}


async def replay(dialogue: Dialogue, memory: Souffleur, clock: StageClock) -> AsyncIterator[Played]:
    """Recall, observe and judge each turn before the next turn; sessions end as in the file.

    A turn observed in an earlier, interrupted replay of the same store is not judged again.
    Raises RecordingError if a recorded model has no answer for a turn, an episode or a portrait.
    """
    async for played in replay_all(dialogue, memory, clock):
        if isinstance(played, Played):
            yield played


async def replay_all(
    dialogue: Dialogue, memory: Souffleur, clock: StageClock
) -> AsyncIterator[Played | PlayedNight]:
    """Replay a dialogue with its nights: their runs are done at their times between the turns."""
    user_id, number, seen = dialogue.user.id, 0, set[str]()
    nights = list(dialogue.nights)

    async def fresh() -> tuple[Memory, ...]:
        new = [one for one in await _narratives(memory, user_id) if one.id not in seen]
        seen.update(one.id for one in new)
        return tuple(new)

    for session in dialogue.sessions:
        for exchange in session.turns:
            while nights and nights[0].at <= exchange.at:
                night = await _perform(dialogue, nights.pop(0), memory, clock)
                yield dataclasses.replace(night, narratives=await fresh())
            number += 1
            silence, clock.at = exchange.at - clock.at, exchange.at
            if silence >= MIN_SILENCE:
                await memory.flush()  # sessions that have ended meanwhile are summarised first
            played = await _play(dialogue, session.id, f"{number:04d}", exchange, memory)
            if exchange is session.turns[-1]:
                memory.end_session(user_id=user_id, session_id=session.id)
                await memory.flush()
            yield dataclasses.replace(played, narratives=await fresh())
    for left in nights:
        night = await _perform(dialogue, left, memory, clock)
        yield dataclasses.replace(night, narratives=await fresh())


async def perform_run(
    memory: Souffleur, name: str, options: RunOptions
) -> tuple[RunResult, list[LedgerEntry]]:
    """Return the result of a run for a user, and its ledger entries.

    Raises RecordingError if a recorded model has no answer, SettingsError for an unknown run.
    """
    assert options.user_id is not None
    journal = memory.knowledge.journal
    before = {entry.id for entry in await journal.entries(options.user_id)}
    result = await memory.run(name, options)
    for item in result.items:
        if item.op == "FAILED":
            _check_recorded(item.reason)
    entries = await journal.entries(options.user_id)
    return result, [entry for entry in entries if entry.id not in before]


async def _perform(
    dialogue: Dialogue, night: NightPart, memory: Souffleur, clock: StageClock
) -> PlayedNight:
    clock.at = night.at
    await memory.flush()  # sessions that have ended meanwhile are summarised first
    options = RunOptions(night.at, user_id=dialogue.user.id)
    done = [await perform_run(memory, name, options) for name in night.runs]
    outcomes = tuple(entry for _, entries in done for entry in entries)
    return PlayedNight(night, tuple(result for result, _ in done), outcomes)


async def _play(
    dialogue: Dialogue, session_id: str, turn_id: str, exchange: Exchange, memory: Souffleur
) -> Played:
    user_id, agent_id = dialogue.user.id, dialogue.assistant.id
    said: Any = {"user_id": user_id, "session_id": session_id, "at": exchange.at}
    whisper = await memory.recall(**said, text=exchange.user)
    memory.observe(
        **said, agent_id=agent_id, user=exchange.user, assistant=exchange.assistant, turn_id=turn_id
    )
    await memory.flush()
    journal = memory.knowledge.journal
    turn = await journal.turn(turn_point_id(user_id, agent_id, session_id, turn_id))
    if turn.state is TurnState.FAILED:
        _check_recorded(turn.error)
    outcomes = await journal.entries(user_id, turn_id=turn.id)
    return Played(session_id, exchange, whisper, turn, tuple(outcomes))


async def _narratives(memory: Souffleur, user_id: str) -> list[Memory]:
    """Return all episodes and portraits so far, oldest first."""
    sessions = memory.knowledge.sessions
    for segment in await sessions.waiting_segments(user_id):
        _check_recorded(segment.error)
    _check_recorded((await sessions.portrait_status(user_id)).error)
    episodes = await memory.knowledge.list(user_id, category=Category.EPISODE)
    return [*episodes, *reversed(await memory.knowledge.portraits(user_id))]


def _check_recorded(error: str) -> None:
    if error.startswith(RecordingError.__name__):
        raise RecordingError(error.removeprefix(f"{RecordingError.__name__}: "))
