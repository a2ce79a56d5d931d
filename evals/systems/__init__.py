"""Other memories behind one seam, so that they are played and scored as ours is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from souffleur.agents.chat import Chat
from souffleur.errors import SettingsError
from souffleur.evals.suite.result import OpRecord
from souffleur.evals.suite.script import Known, Script
from souffleur.knowledge.embedding.embedder import Embedder
from souffleur.settings import Settings


@dataclass(frozen=True)
class SystemInputs:
    """What every system is given for one script."""

    script: Script
    settings: Settings
    chat: Chat
    """The endpoint, which counts."""
    embedder: Embedder
    """Of the same model as ours."""

    def briefing(self, at: datetime) -> str:
        """What a host can tell any memory: who talks, when, and in which language to write."""
        script = self.script
        local = at.astimezone(ZoneInfo(script.timezone))
        return (
            f"The user is called {script.user.title}, the assistant {script.assistant.name}. "
            f"This was said on {local:%Y-%m-%d, %A, at %H:%M} ({script.timezone}). "
            "Write memories in the language of the conversation."
        )


@dataclass(frozen=True)
class StoredMemory:
    """One memory, as a system holds it."""

    id: str
    text: str


class System(Protocol):
    """A memory system over a fresh store."""

    async def open(self, known: Sequence[Known]) -> None:
        """Makes the store, and puts there verbatim, without a model, what is known before."""

    async def turn(self, user: str, assistant: str, at: datetime) -> None:
        """Takes an exchange; its memories are written when this returns.

        Raises RecordingError, and the EndpointError or AnswerError for which it failed.
        """

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[str]:
        """What its own search finds, best first."""

    async def memories(self) -> Sequence[StoredMemory]:
        """All that it holds now."""

    def ops(self) -> tuple[OpRecord, ...] | None:
        """What it says it did at the last turn; None: it does not tell."""

    async def close(self) -> None:
        """Lets go of the store."""


SystemFactory = Callable[[SystemInputs], System]


@dataclass(frozen=True)
class SystemSpec:
    """A system that can be compared with."""

    module: str
    """Ours, which adapts it."""
    factory: str
    package: str
    """Theirs, as it is imported."""
    needs: tuple[str, ...] = ()
    """What else the adapter imports."""


SYSTEMS: Mapping[str, SystemSpec] = {
    "mem0": SystemSpec("souffleur.evals.systems.mem0", "Mem0", "mem0", ("langchain",)),
    "langmem": SystemSpec("souffleur.evals.systems.langmem", "LangMem", "langmem"),
}


def load_factory(name: str) -> SystemFactory:
    """The factory of a system. Raises SettingsError where there is none, or no package for it."""
    if name not in SYSTEMS:
        raise SettingsError(f"there is no system {name!r} to compare with: {', '.join(SYSTEMS)}")
    spec = SYSTEMS[name]
    missing = [one for one in (spec.package, *spec.needs) if find_spec(one) is None]
    if missing:
        raise SettingsError(
            f"the package {missing[0]}, to compare with {name}, is not installed: run "
            "`pip install 'souffleur[versus]'`"
        )
    factory: Any = getattr(import_module(spec.module), spec.factory)
    made: SystemFactory = factory
    return made
