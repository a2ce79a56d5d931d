"""Several hosts over one store: of a client in memory, or of a real server."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from qdrant_client import QdrantClient

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.engine.collection import CollectionSchema, Point
from souffleur.knowledge.store.engine.server import ServerCollection
from souffleur.knowledge.store.labels import INDEXES
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.processes.recording import Recorder
from souffleur.knowledge.store.turns import new_session
from souffleur.knowledge.turn import TurnState
from souffleur.parts import Parts, make_agents
from souffleur.settings import Settings
from souffleur.times import TimeSource
from tests.scripted import Answer, Scripted, add, answer, update

DIMENSION = 64
LINE = re.compile(r"I like thing (\w+)\.")


def judge(request: Request) -> Answer:
    """Keep each thing that is liked; a memory that is shown changes with it."""
    if request.name != "monitor":
        return {"reason": "none", "small_talk": True, "line": "", "topics": []} | {
            "intent": "",
            "tone": "",
            "key_facts": [],
            "unresolved": None,
        }
    turn = request.messages[-1].content
    names = LINE.findall(turn.rpartition("## ")[2])
    ops = [add(f"Ann likes thing {name}.", f"I like thing {name}") for name in names]
    shown = re.findall(r"\b(m\d+)\b", turn)
    if shown and names and names[0].endswith("5"):
        ops[0] = update(shown[0], f"Ann likes thing {names[0]}.", f"I like thing {names[0]}")
    return answer(*ops) if ops else answer({"op": "SKIP", "reason": "nothing"})


class Late:
    """A collection that answers late, as over a network."""

    def __init__(self, collection: ServerCollection, seconds: float) -> None:
        self._collection = collection
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def get_now(self, ids: Sequence[str]) -> list[Point]:
        time.sleep(self._seconds)
        return self._collection.get_now(ids)

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        time.sleep(self._seconds)
        return self._collection.swap_now(points, revisions)


async def open_shared(client: QdrantClient, late: float = 0.0) -> KnowledgeBase:
    """The store in a client's memory, as one more process opens it."""
    opened = []
    for name, indexes in INDEXES.items():
        schema = CollectionSchema(name, DIMENSION, indexes, cues=True)
        opened.append(await ServerCollection.open(":memory:", schema, client=client))
    memories, talk = opened
    if late:
        talk = cast("ServerCollection", Late(talk, late))
    embedder = make_embedder(f"hash:{DIMENSION}")
    return KnowledgeBase(memories, await Journal.open(talk), embedder, COMPANION)


@asynccontextmanager
async def hosts(
    folder: Path, count: int, times: TimeSource | None = None, **fields: Any
) -> AsyncIterator[list[Souffleur]]:
    """That many hosts over one store, each with the same judge; closed at the end."""
    client = QdrantClient(":memory:")
    async with AsyncExitStack() as stack:
        stack.callback(client.close)
        opened = []
        for place in range(count):
            memory = await host(client, folder / str(place), times or TimeSource(), **fields)
            stack.push_async_callback(memory.close)
            opened.append(memory)
        yield opened


async def host(
    client: QdrantClient, folder: Path, times: TimeSource, chat: Scripted | None = None, **f: Any
) -> Souffleur:
    """One more host over the store in a client's memory."""
    base = await open_shared(client)
    settings = Settings(path=folder, retry_pause=0.01, shutdown_timeout=5.0, **f)
    agents = make_agents(settings, base, chat or Scripted(judge), times.now)
    memory = Souffleur(Parts(base, agents, times=times), settings)
    await memory.start()
    return memory


async def until(met: Callable[[], bool]) -> None:
    """Wait until it is so, 20 s at most."""
    for _ in range(1000):
        if met():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not become so")


async def until_judged(base: KnowledgeBase, count: int, seconds: float = 30.0) -> None:
    """Wait until that many turns are in the store, and none waits."""
    async with asyncio.timeout(seconds):
        while True:
            turns = await base.journal.turns()
            states = Counter(turn.state for turn in turns)
            if len(turns) == count and not states[TurnState.PENDING]:
                return
            await asyncio.sleep(0.05)


async def assert_judged_once(base: KnowledgeBase, users: Sequence[str]) -> None:
    """Every turn was judged by one verdict, in the order of the store."""
    for user_id in users:
        turns = await base.journal.turns(user_id=user_id)
        assert {turn.state for turn in turns} <= {TurnState.JUDGED}
        entries = await base.journal.entries(user_id)
        collection = base.journal.collection
        recorder = Recorder(collection, partial(new_session, collection), first_seq=0)
        arrivals = await base.journal.calling(partial(recorder.arrivals, user_id))
        order = [turn.id for turn in sorted(turns, key=arrivals.number)]
        verdicts = {id: {e.verdict_id for e in entries if id in e.turn_ids} for id in order}
        assert {len(found) for found in verdicts.values()} <= {1}, verdicts
        judged = [id for entry in entries if entry.position == 0 for id in entry.turn_ids]
        assert judged == order


async def assert_ledger_agrees(base: KnowledgeBase) -> None:
    """The last `after` in the ledger is what lies in the store, and revisions form a chain."""
    last: dict[str, Memory] = {}
    entries = await base.journal.entries()
    for entry in sorted(entries, key=lambda one: one.user_id):
        for change in entry.changes:
            known = last.get(change.after.id)
            assert (change.before.revision if change.before else 0) == (
                known.revision if known else 0
            ), entry
            last[change.after.id] = change.after
    stored = {memory.id: memory for memory in await base.list(None, states=tuple(MemoryState))}
    assert {id: memory.model_copy(update={"recalls": 0}) for id, memory in stored.items()} == {
        id: memory.model_copy(update={"recalls": 0}) for id, memory in last.items()
    }
    assert not await base.journal.leases.with_open_verdicts()
