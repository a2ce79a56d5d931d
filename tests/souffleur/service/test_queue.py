"""The queue under load: who is served when, what is in memory, and what is left at the end."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.service.judging import Retries
from souffleur.service.limit import Limit
from souffleur.service.queue import Queue
from tests.build import turn
from tests.counted import Tripped
from tests.place import SERVER, at_once
from tests.stores import empty_base


class Answering:
    """Endpoints that always answer."""

    retry_in = 0.0

    async def is_fault_of_request(self, error: Exception) -> bool:
        return True


class Judge:
    """Judges turns after some rounds of the event loop, and notes who was judged when."""

    def __init__(self, journal: Journal, rounds: Callable[[], int] = lambda: 3) -> None:
        self.calls: list[Sequence[Turn]] = []
        self.tasks = 0
        """The highest number of tasks at any call."""
        self._journal, self._rounds = journal, rounds

    async def __call__(self, turns: Sequence[Turn]) -> None:
        self.calls.append(turns)
        self.tasks = max(self.tasks, len(asyncio.all_tasks()))
        for _ in range(self._rounds()):
            await asyncio.sleep(0)
        await self._journal.mark(turns, state=TurnState.JUDGED)

    @property
    def users(self) -> list[str]:
        return [turns[0].user_id for turns in self.calls]


def queue(journal: Journal, judge: Any, **fields: Any) -> Queue:
    async def told(user_id: str) -> None:
        return None

    usual: dict[str, Any] = {"limit": Limit(2), "retries": Retries(), "endpoints": Answering()}
    return Queue(judge, told, journal, finish=told, **{**usual, **fields})


def say(base: KnowledgeBase, user_id: str, count: int = 1) -> None:
    for place in range(count):
        base.journal.record(turn("hi", user_id=user_id, turn_id=str(place)))


async def test_one_with_much_waiting_keeps_nobody_up(base: KnowledgeBase) -> None:
    """Of a user with forty turns and nine with one each, all nine are judged by the third round."""
    say(base, "talkative", 40)
    for user in range(9):
        say(base, f"u{user}")
    judge = Judge(base.journal)
    work = queue(base.journal, judge)
    await work.resume()
    assert await work.drain()
    first = judge.users[:12]
    assert {f"u{user}" for user in range(9)} <= set(first)
    assert Counter(judge.users)["talkative"] == 8
    own = [turn.seq for turns in judge.calls for turn in turns if turn.user_id == "talkative"]
    assert own == sorted(own)


async def test_what_waits_is_read_once_unless_more_comes(base: KnowledgeBase) -> None:
    """Two turns are read and judged; two that come meanwhile are judged as well."""
    tripped = Tripped(base.journal.collection)
    base.journal.collection = tripped
    judge = Judge(base.journal)

    async def judged(turns: Sequence[Turn]) -> None:
        if len(judge.calls) == 1:
            base.journal.record(turn("wait", turn_id="more"))
            base.journal.record(turn("so", turn_id="and more"))
            work.wake("ann")
            tripped.trips = 0
        await judge(turns)

    work = queue(base.journal, judged)
    trips = []
    for count in (2, 3):
        say(base, "ann", count)
        tripped.trips = 0
        work.wake("ann")
        assert await work.drain()
        trips.append(tripped.trips)
    assert [len(turns) for turns in judge.calls] == [2, 1, 2]
    once = 2 if SERVER else 1  # another process may have added to what was read
    assert trips == [once, once]


@at_once
async def test_a_backlog_is_not_in_memory(base: KnowledgeBase) -> None:
    """Of sixty users' turns, four users are queued and two served at a time; all are judged."""
    for user in range(60):
        say(base, f"u{user}", 2)
    judge, queued = Judge(base.journal), []

    async def judged(turns: Sequence[Turn]) -> None:
        queued.append(len(work._waiting))  # what is held is nowhere else told
        await judge(turns)

    work = queue(base.journal, judged, queued=4)
    before = len(asyncio.all_tasks())
    await work.resume()
    assert await work.drain()
    assert Counter(judge.users) == {f"u{user}": 1 for user in range(60)}
    assert max(queued) <= 4 + 2
    assert judge.tasks - before <= 2 + 1  # who is served, and who reads on
    assert await base.journal.turns(state=TurnState.PENDING) == []


async def test_the_more_waits_the_more_is_judged_at_once(base: KnowledgeBase) -> None:
    """A few turns go five to a call; forty, or those of one whom many others precede, ten."""
    say(base, "few", 7)
    say(base, "much", 40)
    judge = Judge(base.journal)
    work = queue(base.journal, judge, most=10)
    await work.resume()
    await work.drain()
    sizes = {user: [len(ts) for ts in judge.calls if ts[0].user_id == user] for user in judge.users}
    assert sizes == {"few": [5, 2], "much": [10] * 4}
    for user in range(8):
        say(base, f"u{user}", 8)
    judge.calls.clear()
    await work.resume()
    await work.drain()
    assert [len(turns) for turns in judge.calls[:4]] == [8] * 4  # others are two rounds ahead
    assert sum(len(turns) for turns in judge.calls) == 64


@at_once
async def test_the_end_waits_for_calls_and_begins_none(tmp_path: Path) -> None:
    """Time is short: the call under way is not in vain; who rests or is next waits for a start."""
    base = await empty_base(tmp_path)
    for user_id in ("cid", "ann", "bob"):
        say(base, user_id)
    asked, answered = asyncio.Event(), asyncio.Event()
    judge = Judge(base.journal)

    async def slow(turns: Sequence[Turn]) -> None:
        if turns[0].user_id == "cid" and not turns[0].tries:
            raise ValueError("no such answer")
        asked.set()
        await answered.wait()
        await judge(turns)

    async def sleep(seconds: float) -> None:
        await asyncio.Event().wait()

    work = queue(base.journal, slow, limit=Limit(1), sleep=sleep)
    await work.resume()
    await asked.wait()
    asyncio.get_running_loop().call_later(0.4, answered.set)
    assert not await work.finish(0.6)
    await work.stop()
    assert judge.users == ["ann"]
    left = await base.journal.turns(state=TurnState.PENDING)
    assert [turn.user_id for turn in left] == ["cid", "bob"]
    await base.close()


async def test_one_who_waits_for_another_try_holds_no_place(base: KnowledgeBase) -> None:
    """While a failed turn pauses, the only place is another's."""
    say(base, "ann")
    say(base, "bob")
    judge, resumed = Judge(base.journal), asyncio.Event()

    async def once_failing(turns: Sequence[Turn]) -> None:
        if turns[0].user_id == "ann" and not turns[0].tries:
            raise ValueError("no such answer")
        await judge(turns)
        if turns[0].user_id == "bob":
            resumed.set()

    async def sleep(seconds: float) -> None:
        await resumed.wait()

    work = queue(base.journal, once_failing, limit=Limit(1), sleep=sleep)
    await work.resume()
    assert await work.drain(10.0)
    assert judge.users == ["bob", "ann"]


async def test_nothing_begins_for_a_user_who_is_dealt_with_alone(base: KnowledgeBase) -> None:
    """A turn that comes meanwhile waits, and so does who else deals with the user alone."""
    judge, dealt = Judge(base.journal), list[str]()
    work = queue(base.journal, judge)

    async def deal(name: str) -> None:
        async with work.halted("ann"):
            dealt.append(name)
            await asyncio.sleep(0.05)
            say(base, "ann")
            work.wake("ann")
            assert await work.drain()
            dealt.append(name)

    await asyncio.gather(deal("first"), deal("second"))
    assert dealt == ["first", "first", "second", "second"]
    assert judge.calls == []
    work.wake("ann")
    assert await work.drain()
    assert judge.users == ["ann"]
