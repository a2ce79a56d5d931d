"""Judges at one store, in any interleaving of their calls, with pauses, lost leases and deaths."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from hypothesis import given, settings, strategies as st
from qdrant_client import QdrantClient

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import Actor, ActorKind, Add, Op, Update, Verdict
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.engine.collection import Collection
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.turn import Turn, verdict_id
from souffleur.service.leases import Leases
from souffleur.times import TimeSource
from tests.build import NOW, turn
from tests.shared import DIMENSION, assert_judged_once, assert_ledger_agrees, open_shared

LEASE = 30.0
TURNS = 4
CALLS = frozenset({"get", "swap", "scroll", "merge_payload", "put", "replace", "count", "delete"})


class Died(asyncio.CancelledError):
    """The process is gone: nothing that it would do at the end is done either."""


class Gate:
    """Stops a judge before each of its calls to the store, until it is let go on."""

    def __init__(self) -> None:
        self.dead = False
        self.waits = asyncio.Event()
        self._go = asyncio.Event()

    async def pass_(self) -> None:
        """Wait until let go on."""
        if self.dead:
            raise Died
        self.waits.set()
        await self._go.wait()
        self._go.clear()
        self.waits.clear()
        if self.dead:
            raise Died

    def open(self) -> None:
        """Let one call through."""
        self.waits.clear()
        self._go.set()


class Gated:
    """A collection behind a gate."""

    def __init__(self, collection: Collection, gate: Gate) -> None:
        self._collection = collection
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._collection, name)
        return self._behind(found) if name in CALLS else found

    def _behind(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def later(*args: Any, **kwargs: Any) -> Any:
            await self._gate.pass_()
            return await call(*args, **kwargs)

        return later


class Judge:
    """One process that judges a user, call by call; killed, it begins again as another."""

    def __init__(self, name: str, base: KnowledgeBase, times: TimeSource) -> None:
        self._base, self._times = base, times
        self._name, self._life = name, 0
        self._task: asyncio.Task[None] | None = None
        self.gate = Gate()

    async def do(self, move: str, times: int) -> None:
        """Go on for a number of calls, or die."""
        if move == "kill":
            await self.kill()
            return
        for _ in range(times):
            await self.step()

    async def step(self) -> None:
        """Go on until the next call to the store; begin anew if it had ended."""
        if self._task is None or self._task.done():
            self._life += 1
            self.gate = Gate()
            self._task = asyncio.create_task(self._work(self._open()))
        else:
            self.gate.open()
        await self._settle()

    async def kill(self) -> None:
        """End it before its next call."""
        if self._task and not self._task.done():
            self.gate.dead = True
            self.gate.open()
            await asyncio.wait([self._task])

    async def _settle(self) -> None:
        assert self._task is not None
        waits = asyncio.ensure_future(self.gate.waits.wait())
        await asyncio.wait([waits, self._task], return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        if self._task.done() and not self._task.cancelled():
            self._task.result()

    def _open(self) -> KnowledgeBase:
        memories: Any = Gated(self._base.memories, self.gate)
        talk: Any = Gated(self._base.journal.collection, self.gate)
        embedder = make_embedder(f"hash:{DIMENSION}")
        return KnowledgeBase(memories, Journal(talk, last_seq=0), embedder, COMPANION)

    async def _work(self, base: KnowledgeBase) -> None:
        leases = Leases(base, seconds=LEASE, times=self._times)
        async with leases.hold("ann") as mine:
            while mine and (turns := await base.journal.waiting("ann", limit=self._life % 2 + 1)):
                await base.apply(await self._verdict(base, turns), turns=turns)

    async def _verdict(self, base: KnowledgeBase, turns: Sequence[Turn]) -> Verdict:
        """Each judge has something else to say, and changes what another has kept."""
        known = await base.list("ann")
        said = f"{self._name}{self._life} {' '.join(one.turn_id for one in turns)}"
        ops: list[Op] = [
            Add(reason="r", quote="", content=f"{said}: number {number}.")
            for number in range(1 + len(self._name) % 2)
        ]
        if known:
            change = f"{known[0].content} Then {said}."[-200:]
            ops.append(Update(target=known[0].id, reason="r", quote="", content=change))
        return Verdict(
            id=verdict_id(turns),
            user_id="ann",
            by=Actor(who=ActorKind.HOST),
            at=self._times.now(),
            ops=tuple(ops),
        )


async def play(count: int, moves: Sequence[tuple[str, int]]) -> None:
    """Let judges go on in this order, and all of them to the end; each turn is judged once."""
    client, now = QdrantClient(":memory:"), [NOW]

    async def never(_: float) -> None:
        await asyncio.Event().wait()

    times = TimeSource(lambda: now[0], lambda: now[0].timestamp(), never)
    base = await open_shared(client)
    for place in range(TURNS):
        base.journal.record(turn(f"line {place}", turn_id=str(place)))
    judges = [Judge("ab"[place % 2] * (place + 1), base, times) for place in range(count)]
    for move, number in moves:
        if move == "pass":
            now[0] += timedelta(seconds=number * 8)
        else:
            await judges[number % count].do(move, number // count + 1)
    while await base.journal.users_with_pending_turns():
        now[0] += timedelta(seconds=LEASE)
        for judge in judges:
            await judge.do("step", 40)
    for judge in judges:
        await judge.kill()
    await base.recover()
    await assert_judged_once(base, ["ann"])
    await assert_ledger_agrees(base)
    client.close()


steps = st.one_of(
    st.tuples(st.just("step"), st.integers(0, 80)),
    st.tuples(st.just("step"), st.integers(0, 80)),
    st.tuples(st.just("pass"), st.integers(0, 5)),
    st.tuples(st.just("kill"), st.integers(0, 3)),
)


@settings(max_examples=15)
@given(moves=st.lists(steps, max_size=40))
def test_two_judges_judge_each_turn_once(moves: list[tuple[str, int]]) -> None:
    """Whoever is paused for longer than a lease, dies or comes back: one verdict holds per turn."""
    asyncio.run(asyncio.wait_for(play(2, moves), 60))


@settings(max_examples=8)
@given(moves=st.lists(steps, max_size=60))
def test_four_judges_judge_each_turn_once(moves: list[tuple[str, int]]) -> None:
    """The same with four of them."""
    asyncio.run(asyncio.wait_for(play(4, moves), 60))
