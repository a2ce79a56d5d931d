"""Contestants: each takes a whole conversation in batches, and brings what it has for a question.

Ours is the real runtime, another system is asked through its own search, and the whole
conversation is the ceiling.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Protocol
from zoneinfo import ZoneInfo

from bench.systems import StoredMemory, System, SystemInputs, load_factory, messages_of
from bench.systems.side_by_side import OURS
from souffleur.agents.brief import clock as as_clock
from souffleur.api import Souffleur
from souffleur.demo.dialogue import (
    MIN_SILENCE,
    Dialogue,
    Exchange,
    SessionPart,
    StageClock,
    clock_for,
    settings_for,
)
from souffleur.errors import RecordingError
from souffleur.knowledge.turn import TurnState
from souffleur.prompts import language_of


@dataclass(frozen=True)
class Batch:
    """Consecutive exchanges of one session."""

    session_id: str
    turns: tuple[Exchange, ...]
    is_last: bool = False
    """Whether the session ends with it."""


def batches(dialogue: Dialogue, size: int, idle: timedelta | None) -> Iterator[Batch]:
    """Yield batches of at most `size` exchanges; 0 puts no limit.

    A batch crosses no end of a session, and no silence that ends one.
    """
    for session in dialogue.sessions:
        parts = list(_parts(session, size, idle))
        for part in parts:
            yield Batch(session.id, part, is_last=part is parts[-1])


def _parts(
    session: SessionPart, size: int, idle: timedelta | None
) -> Iterator[tuple[Exchange, ...]]:
    """Yield the exchanges of a session, cut at silences and at `size`."""
    pairs = enumerate(pairwise(session.turns), start=1)
    gaps = [index for index, (one, two) in pairs if idle and two.at - one.at >= idle]
    for start, end in pairwise((0, *gaps, len(session.turns))):
        step = size or end - start
        for first in range(start, end, step):
            yield session.turns[first : min(first + step, end)]


class Ours:
    """The real runtime at the dialogue's times; the batches are those of `judge_every`.

    Nothing is recalled while the conversation is written, so that the requests of the writing do
    not depend on what recall brings.
    """

    def __init__(self, inputs: SystemInputs, dialogue: Dialogue) -> None:
        self._inputs = inputs
        self._user_id = dialogue.user.id
        self._agent_id = dialogue.assistant.id
        self._clock: StageClock = clock_for(dialogue)
        self._settings = settings_for(dialogue, inputs.settings)
        self._memory: Souffleur | None = None
        self._turns = 0
        self.troubles: list[str] = []

    async def open(self) -> None:
        """Open a fresh store."""
        self._memory = await Souffleur.open(
            self._settings,
            chat=self._inputs.chat,
            clock=self._clock,
            embedder=self._inputs.embedder,
        )

    async def write(self, batch: Batch) -> None:
        """Observe the turns, and wait until what is due is judged and summarised."""
        for turn in batch.turns:
            silence, self._clock.at = turn.at - self._clock.at, turn.at
            if silence >= MIN_SILENCE:
                await self._opened.flush()  # sessions that have ended meanwhile come first
            self._turns += 1
            receipt = self._opened.observe(
                user_id=self._user_id,
                session_id=batch.session_id,
                agent_id=self._agent_id,
                user=turn.user,
                assistant=turn.assistant,
                turn_id=f"{self._turns:04d}",
                at=turn.at,
            )
            if not receipt.durable:
                self.troubles.append(f"{turn.at}: {receipt.error}")
            await self._opened.flush()
        if batch.is_last:
            self._opened.end_session(
                user_id=self._user_id, session_id=batch.session_id, agent_id=self._agent_id
            )
            await self._opened.flush()

    async def finish(self) -> None:
        """Note what could not be judged or summarised. Raises RecordingError if that is why."""
        journal, sessions = self._opened.knowledge.journal, self._opened.knowledge.sessions
        for state in (TurnState.FAILED, TurnState.PENDING):
            for turn in await journal.turns(state=state, user_id=self._user_id):
                self._note(f"{turn.session_id} at {turn.at}", turn.error or state.value)
        for segment in await sessions.waiting_segments(self._user_id):
            self._note(f"episode of {segment.session_id}", segment.error)
        self._note("portrait", (await sessions.portrait_status(self._user_id)).error)

    async def bring(self, text: str, at: datetime) -> str:
        """Return the block of `recall`, as a host gets it."""
        self._clock.at = at
        whisper = await self._opened.recall(
            user_id=self._user_id, session_id="asked", text=text, agent_id=self._agent_id, at=at
        )
        if whisper.error:
            self.troubles.append(f"{text!r}: {whisper.error}")
        return whisper.text

    async def close(self) -> None:
        """Close the store."""
        if self._memory is not None:
            await self._memory.close()

    @property
    def _opened(self) -> Souffleur:
        assert self._memory is not None
        return self._memory

    def _note(self, what: str, error: str) -> None:
        if error.startswith(RecordingError.__name__):
            raise RecordingError(error.removeprefix(f"{RecordingError.__name__}: "))
        if error:
            self.troubles.append(f"{what}: {error}")


WHOLE = "whole"
"""Name of the contestant that brings the whole conversation."""


class Contestant(Protocol):
    """One system in one conversation."""

    troubles: list[str]
    """The failures so far."""

    async def open(self) -> None:
        """Make a fresh store."""

    async def write(self, batch: Batch) -> None:
        """Take a batch. Raises RecordingError."""

    async def finish(self) -> None:
        """Note what has failed since, after the last batch. Raises RecordingError."""

    async def bring(self, text: str, at: datetime) -> str:
        """Return what it has for a question, as it goes into the prompt."""

    async def close(self) -> None:
        """Close the store."""


class Other:
    """Another system, asked through its own search."""

    def __init__(self, inputs: SystemInputs, system: System, limit: int) -> None:
        """Take the maximum number of memories that a question brings."""
        self._system = system
        self._limit = limit
        self._zone = ZoneInfo(inputs.script.timezone)
        self.troubles: list[str] = []

    async def open(self) -> None:
        """Open a fresh store."""
        await self._system.open(())

    async def write(self, batch: Batch) -> None:
        """Have the batch written in one go; note an error, whatever it is."""
        try:
            await self._system.write(batch.turns)
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001  the edge of another system
            where = f"{batch.session_id} at {batch.turns[0].at}"
            self.troubles.append(f"{where}: {type(error).__name__}: {error}")

    async def finish(self) -> None:
        """Do nothing: all is written when `write` returns."""

    async def bring(self, text: str, at: datetime) -> str:
        """Return the results of its search, best first, each with the day it was written."""
        found = await self._system.recall(text, at, self._limit)
        return "\n".join(self._line(one) for one in found)

    async def close(self) -> None:
        """Close the store."""
        await self._system.close()

    def _line(self, one: StoredMemory) -> str:
        day = f"{one.at.astimezone(self._zone):%Y-%m-%d}: " if one.at else ""
        return f"- {day}{one.text}"


class Whole:
    """The whole conversation with its times: no memory can bring more."""

    def __init__(self, dialogue: Dialogue) -> None:
        named = {"user": f"{dialogue.user.title}: ", "assistant": f"{dialogue.assistant.name}: "}
        talks = any(turn.assistant for part in dialogue.sessions for turn in part.turns)
        # Where only the user's side is used, the words hold the names of their speakers.
        self._names = named if talks else dict.fromkeys(named, "")
        self._zone = ZoneInfo(dialogue.timezone)
        self._parts: list[str] = []
        self.troubles: list[str] = []

    async def open(self) -> None:
        """Do nothing."""

    async def write(self, batch: Batch) -> None:
        """Keep the words, under the time they were said."""
        said = messages_of(batch.turns)
        language = language_of("\n".join(one["content"] for one in said))
        lines = [f"{self._names[one['role']]}{one['content']}" for one in said]
        head = f"### {as_clock(batch.turns[0].at, self._zone, language)}"
        self._parts.append("\n".join((head, *lines)))

    async def finish(self) -> None:
        """Do nothing."""

    async def bring(self, text: str, at: datetime) -> str:
        """Return everything, whatever the question."""
        return "\n\n".join(self._parts)

    async def close(self) -> None:
        """Do nothing."""


def check_contestant(name: str) -> None:
    """Raise SettingsError if a system is unknown or not installed."""
    if name not in (OURS, WHOLE):
        load_factory(name)


def make_contestant(name: str, inputs: SystemInputs, dialogue: Dialogue, limit: int) -> Contestant:
    """Return the contestant of this name. Raises SettingsError as `check_contestant` does."""
    if name == OURS:
        return Ours(inputs, dialogue)
    if name == WHOLE:
        return Whole(dialogue)
    return Other(inputs, load_factory(name)(inputs), limit)
