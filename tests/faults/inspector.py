"""A process that makes a store, or reads all of each store it is given, whatever comes of it."""

import asyncio
import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from souffleur.api import Souffleur
from souffleur.errors import SouffleurError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import ActorKind, Forget, Update
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.knowledge.store.repair import find_broken
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, an_add, open_base, turn, verdict

DIMENSION = 16
USERS = ("ann", "bob", "cem")
EACH = 6
"""Memories and turns of each user."""
PATIENCE = 60
"""Seconds after which a store that is still being read has hung."""


async def make(folder: Path) -> KnowledgeBase:
    """A store with memories of several users, some changed or forgotten, and their turns."""
    base = await open_base(folder, dimension=DIMENSION)
    for user_id in USERS:
        mine: dict[str, Any] = {"who": ActorKind.HOST, "user_id": user_id}
        for place in range(EACH):
            name = (user_id, place)
            add = an_add(f"{user_id.title()} keeps thing {place} in a box.", topics=("thing",))
            (outcome,) = await base.apply(verdict(add, name=name, **mine))
            base.journal.record(
                turn(f"thing {place}", "Noted.", turn_id=str(place), user_id=user_id)
            )
            target = outcome.memory_ids[0]
            if place % 3 == 1:
                op = Update(target=target, reason="r", quote="", content=f"It is box {place}.")
                await base.apply(verdict(op, name=(name, "update"), **mine))
            if place % 3 == 2:
                forget = Forget(target=target, reason="r")
                await base.apply(verdict(forget, name=(name, "forget"), **mine))
    return base


async def everything(folder: Path) -> list[str]:
    """All that can be read of a store, by every way that a host has. Raises SouffleurError."""
    base = await open_base(folder, dimension=DIMENSION)
    try:
        if broken := await find_broken(base):
            raise SouffleurError(broken[0].why)
        found = [json.dumps(base.policy.name)]
        for collection in (base.memories, base.journal.collection):
            points = await read_all(collection, Filter())
            found += [json.dumps(point.payload, sort_keys=True) for point in points]
        found.append(json.dumps(await base.journal.meta()))
        for user_id in (None, *USERS):
            kept = await base.list(user_id, states=tuple(MemoryState))
            found += [one.model_dump_json() for one in kept]
            found += [one.model_dump_json() for one in await base.journal.turns(user_id=user_id)]
            found += [one.model_dump_json() for one in await base.journal.entries(user_id)]
        for user_id in USERS:
            found += await _found(base, user_id)
    finally:
        await base.close()
    return sorted(found)


async def _found(base: KnowledgeBase, user_id: str) -> list[str]:
    window = await base.sessions.window(user_id, "s1")
    hits = await base.search(Query(user_id, "thing box", NOW, limit=50))
    said = await base.search(Query(user_id, "thing", NOW, limit=50, scope=(Scope.TURNS,)))
    memory = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings())
    whisper = await memory.recall(user_id=user_id, session_id="s1", text="which box?")
    if whisper.error:
        raise SouffleurError(whisper.error)
    return [*(one.id for one in window), *(one.text for one in (*hits, *said)), whisper.text]


def report(folder: Path) -> dict[str, str]:
    """What reading a store comes to: what it told, or a digest of all that was found."""
    try:
        found = asyncio.run(everything(folder))
    except SouffleurError as error:
        return {"told": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # noqa: BLE001  what a host does not expect is what is sought
        return {"raised": f"{type(error).__name__}: {error}"[:300]}
    return {"digest": hashlib.sha256("\n".join(found).encode()).hexdigest()}


def forked(folder: Path) -> dict[str, str]:
    """The same, by a child of this process: the engine may end it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(PATIENCE)
        os.write(writing, json.dumps(report(folder)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        answer = said.read()
    _, status = os.waitpid(child, 0)
    if answer:
        found: dict[str, str] = json.loads(answer)
        return found
    return {"died": signal.Signals(os.WTERMSIG(status)).name}


def main() -> None:
    """Make a store in a folder and die with it open, or close it; or report on those of stdin."""
    if len(sys.argv) > 1:
        asyncio.run(_make(Path(sys.argv[1]), close=sys.argv[2] == "closed"))
        return
    for line in sys.stdin:
        print(json.dumps(forked(Path(line.strip()))), flush=True)


async def _make(folder: Path, *, close: bool) -> None:
    base = await make(folder)
    if not close:
        await base.flush()
        os._exit(0)
    await base.close()


if __name__ == "__main__":
    main()
