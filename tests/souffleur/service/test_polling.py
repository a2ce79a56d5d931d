"""Polling: what other processes record is judged soon, whatever this one waits for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest
from qdrant_client import QdrantClient

from souffleur.errors import StoreError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.service.judging import Retries
from souffleur.service.limit import Limit
from souffleur.service.queue import Queue, Summarise
from souffleur.service.upkeep import Polling
from souffleur.times import TimeSource
from tests.build import turn
from tests.shared import open_shared, until


class Answering:
    """Endpoints that always answer."""

    retry_in = 0.0

    async def is_fault_of_request(self, error: Exception) -> bool:
        return not isinstance(error, StoreError)


@pytest.fixture
async def base() -> AsyncIterator[KnowledgeBase]:
    """A store that other processes may have open, too."""
    client = QdrantClient(":memory:")
    yield await open_shared(client)
    client.close()


class Scene:
    """A queue over a store, and its polling; the test takes the parts of other processes."""

    def __init__(self, base: KnowledgeBase, tell: Summarise, times: TimeSource) -> None:
        self.judged: list[str] = []
        self.is_cut_off = False
        self._base = base
        self.queue = Queue(
            self._judge,
            tell,
            base.journal,
            finish=base.recover,
            retries=Retries(pause=60.0),
            limit=Limit(2),
            endpoints=Answering(),
            sleep=times.sleep,
        )
        self.polling = Polling(
            base,
            self.queue,
            period=timedelta(seconds=30),
            times=times,
            first=self._check,
        )

    def say(self, words: str) -> None:
        """Record a turn, as another process does."""
        self._base.journal.record(turn(words, turn_id=words))

    async def poll(self) -> None:
        await self.polling.poll()
        await self.queue.drain()

    def _check(self) -> None:
        if self.is_cut_off:
            raise StoreError("the server is out of reach")

    async def _judge(self, turns: Sequence[Turn]) -> None:
        self._check()
        self.judged += [turn.user for turn in turns]
        await self._base.journal.mark(turns, state=TurnState.JUDGED)


async def test_a_turn_of_another_process_waits_for_no_episode(base: KnowledgeBase) -> None:
    """While a portrait is to be tried again in a day, what its user says is judged at once."""

    async def in_a_day(user_id: str) -> float:
        return 86_400.0

    scene = Scene(base, in_a_day, TimeSource())
    for words in ("hi", "tea?"):
        scene.say(words)
        await scene.poll()
    assert scene.judged == ["hi", "tea?"]
    await scene.queue.stop()


async def test_a_turn_that_comes_while_an_episode_is_told_is_not_missed(
    base: KnowledgeBase,
) -> None:
    """It is judged once that is told, without another look."""
    telling, told = asyncio.Event(), asyncio.Event()

    async def tell(user_id: str) -> None:
        telling.set()
        await told.wait()

    scene = Scene(base, tell, TimeSource())
    scene.say("hi")
    looking = asyncio.create_task(scene.poll())
    await telling.wait()
    scene.say("tea?")
    await scene.polling.poll()
    told.set()
    await looking
    assert scene.judged == ["hi", "tea?"]


async def test_all_resumes_as_soon_as_the_server_is_back(base: KnowledgeBase) -> None:
    """Users who waited for it are served with the next look, however long their pause is."""

    async def tell(user_id: str) -> None:
        return None

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0.01 if seconds <= 60.0 else 3600.0)

    scene = Scene(base, tell, TimeSource(sleep=sleep))
    scene.say("hi")
    await scene.polling.poll()
    scene.is_cut_off = True
    await scene.queue.drain()
    assert scene.queue.is_stalled
    scene.polling.start()
    await asyncio.sleep(0.05)
    scene.is_cut_off = False
    await until(lambda: scene.judged == ["hi"])
    await scene.polling.stop()
    await scene.queue.stop()


@pytest.mark.parametrize(("fails", "pause"), [(False, 30.0), (True, 1.0)])
async def test_a_poll_that_takes_long_delays_no_turn_for_long(
    base: KnowledgeBase, fails: bool, pause: float
) -> None:
    """After ten seconds for an answer, the next poll is after a lease; after none, in a second."""
    now, pauses = [0.0], list[float]()

    def first() -> None:
        now[0] += 10.0
        if fails:
            raise StoreError("timed out")

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.Event().wait()

    polling = Polling(
        base,
        None,
        period=timedelta(seconds=30),
        times=TimeSource(steady=lambda: now[0], sleep=sleep),
        first=first,
    )
    polling.start()
    await until(lambda: bool(pauses))
    assert pauses == [pause]
    await polling.stop()
