"""Contestants: each takes a whole conversation, and brings what it has for a question.

Ours is the real runtime, another system is asked through its own search, and the whole
conversation is the ceiling.
"""

from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from bench.systems import (
    StoredMemory,
    System,
    SystemInputs,
    load_factory,
    messages_of,
)
from bench.systems.batch import Batch
from bench.systems.ours import Ours
from bench.systems.side_by_side import OURS
from souffleur.agents.brief import clock as as_clock
from souffleur.dialogue import Dialogue
from souffleur.errors import RecordingError
from souffleur.prompts import language_of

WHOLE = "whole"
"""Name of the contestant that brings the whole conversation."""


class Contestant(Protocol):
    """One system in one conversation."""

    troubles: list[str]
    """What failed so far."""

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
