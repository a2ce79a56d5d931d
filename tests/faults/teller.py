"""A host that kills itself before a given write, while a long talk is told as episodes."""

import asyncio
import os
import random
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.engine.collection import Collection, Payload, Point
from souffleur.parts import Parts, make_agents
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import open_base
from tests.place import where
from tests.scripted import SKIP, Answer, Scripted, episode, portrait

TURNS = 100
ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}


class Countdown:
    """How many writes are left to this process; a negative number never ends."""

    def __init__(self, writes: int) -> None:
        self.writes = writes

    def __call__(self) -> None:
        """Die, or count one."""
        if self.writes == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.writes -= 1


class Gone(BaseException):
    """The process has died, as far as a test within it is concerned."""


class Dying(Countdown):
    """Dies within the process: no write gets through any more."""

    def __call__(self) -> None:
        if self.writes == 0:
            raise Gone
        self.writes -= 1


class Deadly:
    """A collection before whose writes a countdown runs."""

    def __init__(self, collection: Collection, count: Countdown) -> None:
        self._collection = collection
        self._count = count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def put_now(self, points: Sequence[Point]) -> None:
        self._count()
        self._collection.put_now(points)

    async def put(self, points: Sequence[Point]) -> None:
        self._count()
        await self._collection.put(points)

    async def merge_payload(self, ids: Sequence[str], payload: Payload, **more: Any) -> None:
        self._count()
        await self._collection.merge_payload(ids, payload, **more)

    async def set_vectors(self, points: Sequence[Point]) -> None:
        self._count()
        await self._collection.set_vectors(points)

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        self._count()
        return await self._collection.swap(points, revisions)

    async def replace(self, point: Point, *, revision: int) -> bool:
        self._count()
        return await self._collection.replace(point, revision=revision)


def model(chance: random.Random) -> Scripted:
    """Tells which lines were said; every third time it fails instead."""

    def answered(request: Request) -> Answer:
        if request.name == "monitor":
            return SKIP
        if chance.random() < 1 / 3:
            failures: list[Answer] = [EndpointError("busy"), AnswerError("none"), "I cannot."]
            return chance.choice(failures)
        if request.name == "portrait":
            return portrait("Ann talks.", "She likes lines.", "Nothing else is known.")
        talk = request.messages[1].content.rpartition("\n## ")[2]
        return episode("Ann said " + ", ".join(re.findall(r"Ann: (line \d+)", talk)) + ".")

    return Scripted(answered)


async def opened(folder: Path, writes: int, seed: int) -> Souffleur:
    """A runtime over a store that dies before one of its writes."""
    base, count = await open_base(folder, dimension=64), Countdown(writes)
    base.journal.collection = Deadly(base.journal.collection, count)
    knowledge = KnowledgeBase(
        Deadly(base.memories, count), base.journal, base.embedder, base.policy
    )
    settings = Settings(**where(folder), user_title="Ann", assistant_name="Mo", retry_pause=0.0)
    agents = make_agents(settings, knowledge, model(random.Random(seed)), _now)
    memory = Souffleur(Parts(knowledge, agents, times=from_clock(_now)), settings)
    await memory.start()
    return memory


async def talk(memory: Souffleur, turns: int = TURNS) -> None:
    """Observe all turns from the start, end the session, and wait until all of it is told."""
    sessions = memory.knowledge.sessions
    for place in range(turns):
        said = f"line {place}"
        memory.observe(**ME, user=said, assistant=f"reply {place}", turn_id=str(place))
        held = sum(turn.messages for turn in await sessions.window("ann", "s1"))
        assert held <= memory.settings.window + 2, f"the window holds {held} messages"
        if place % 4 == 0:
            await memory.flush()
    memory.end_session(**ME)
    while not await memory.flush() or await sessions.waiting_segments():
        pass


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


async def _main(folder: Path, writes: int, seed: int) -> None:
    memory = await opened(folder, writes, seed)
    await talk(memory)
    await memory.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
