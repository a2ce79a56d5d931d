"""Other memory systems behind one interface, so that they are played and scored like ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from souffleur.agents.model.chat import Chat
from souffleur.demo.dialogue import Dialogue, Exchange
from souffleur.errors import SettingsError
from souffleur.evals.result import OpRecord
from souffleur.evals.script import Known, Script
from souffleur.knowledge.search.embedder import Embedder
from souffleur.settings import Settings


@dataclass(frozen=True)
class SystemInputs:
    """The inputs of a system for one script, or for one dialogue."""

    script: Script | Dialogue
    settings: Settings
    chat: Chat
    """The endpoint, whose calls are counted."""
    embedder: Embedder
    """A fresh embedder of the same model as ours."""

    def briefing(self, at: datetime) -> str:
        """Return what a host can tell any memory: who talks, when, and in which language."""
        script = self.script
        local = at.astimezone(ZoneInfo(script.timezone))
        return (
            f"The user is called {script.user.title}, the assistant {script.assistant.name}. "
            f"This was said on {local:%Y-%m-%d, %A, at %H:%M} ({script.timezone}). "
            "Write memories in the language of the conversation."
        )


@dataclass(frozen=True)
class StoredMemory:
    """One memory that a system holds."""

    id: str
    text: str
    at: datetime | None = None
    """The time of writing, if the system keeps it."""


class System(Protocol):
    """A memory system over a fresh store."""

    async def open(self, known: Sequence[Known]) -> None:
        """Make the store, and put the known memories there verbatim, without a model."""

    async def write(self, turns: Sequence[Exchange]) -> None:
        """Take exchanges of one session in one go; their memories are written when this returns.

        Raises RecordingError, and the EndpointError or AnswerError that made it fail.
        """

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[StoredMemory]:
        """Return the results of its own search, best first."""

    async def memories(self) -> Sequence[StoredMemory]:
        """Return all memories that it holds now."""

    def ops(self) -> tuple[OpRecord, ...] | None:
        """Return the ops it reports for the last `write`; `None` if it reports none."""

    async def close(self) -> None:
        """Close the store."""


def messages_of(turns: Sequence[Exchange]) -> list[dict[str, str]]:
    """Return exchanges as chat messages; blank ones are left out.

    >>> messages_of([Exchange(at="2026-01-03T10:00:00Z", user="Ann: Hi.")])
    [{'role': 'user', 'content': 'Ann: Hi.'}]
    """
    said = ((role, getattr(turn, role)) for turn in turns for role in ("user", "assistant"))
    return [{"role": role, "content": text} for role, text in said if text.strip()]


SystemFactory = Callable[[SystemInputs], System]


@dataclass(frozen=True)
class SystemSpec:
    """A system that ours can be compared with."""

    module: str
    """Name of our module that adapts it."""
    factory: str
    package: str
    """Name of its package, as it is imported."""
    needs: tuple[str, ...] = ()
    """Other packages that the adapter imports."""


SYSTEMS: Mapping[str, SystemSpec] = {
    "mem0": SystemSpec("bench.systems.mem0", "Mem0", "mem0", ("langchain",)),
    "langmem": SystemSpec("bench.systems.langmem", "LangMem", "langmem"),
}


def load_factory(name: str) -> SystemFactory:
    """Return the factory of a system. Raises SettingsError if it is unknown or not installed."""
    if name not in SYSTEMS:
        raise SettingsError(f"there is no system {name!r} to compare with: {', '.join(SYSTEMS)}")
    spec = SYSTEMS[name]
    missing = [one for one in (spec.package, *spec.needs) if find_spec(one) is None]
    if missing:
        raise SettingsError(
            f"the package {missing[0]}, to compare with {name}, is not installed: run "
            "`pip install -e '.[versus]'`"
        )
    factory: Any = getattr(import_module(spec.module), spec.factory)
    made: SystemFactory = factory
    return made
