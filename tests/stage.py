"""A stage for tests: the real runtime, a scripted model, and a clock that is moved by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.demo.dialogue import StageClock
from souffleur.knowledge.memory import Category
from souffleur.settings import Settings
from tests.build import NOW
from tests.place import where
from tests.scripted import Scripted
from tests.stores import open_empty


class Stage:
    """A runtime with a scripted model and a clock that is moved by hand."""

    def __init__(self, memory: Souffleur, chat: Scripted, clock: StageClock) -> None:
        self.memory, self.chat, self.clock = memory, chat, clock

    @property
    def knowledge(self) -> Any:
        return self.memory.knowledge

    async def say(self, *lines: str, session: str = "s1", reply: str = "ok") -> None:
        """Turns a second apart, then wait for what is due."""
        for line in lines:
            self.clock.at += timedelta(seconds=1)
            self.memory.observe(user_id="ann", session_id=session, user=line, assistant=reply)
        await self.memory.flush()

    async def end(self, session: str = "s1") -> None:
        self.memory.end_session(user_id="ann", session_id=session)
        await self.memory.flush()

    async def episodes(self) -> list[Any]:
        return await self.memory.knowledge.list("ann", category=Category.EPISODE)

    def asked(self, name: str) -> list[Request]:
        """The requests of that name so far."""
        return [request for request in self.chat.requests if request.name == name]


@asynccontextmanager
async def staged(
    folder: Path, script: Any, *, kept: bool = False, **fields: Any
) -> AsyncIterator[Stage]:
    """A stage over an empty store; over one in the folder, if it is kept there."""
    base: dict[str, Any] = {**where(folder), "embedder": "hash:128", "retry_pause": 60.0}
    names = {"user_title": "Ann", "assistant_name": "Mo", "timezone": "Europe/Paris"}
    clock, chat = StageClock(NOW), Scripted(script)
    settings = Settings(**{**base, **names, **fields})
    opened = Souffleur.open if kept else open_empty
    async with opened(settings, chat=chat, clock=clock) as memory:
        yield Stage(memory, chat, clock)
