"""Several processes at one store: hosts that judge, and the leases by which they share users."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from qdrant_client import QdrantClient

from souffleur.api import Souffleur
from souffleur.errors import LeaseLostError, StoreError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.store.engine.collection import Collection
from souffleur.knowledge.store.processes.leases import UserLease
from souffleur.knowledge.turn import TurnState
from souffleur.parts import Parts
from souffleur.service.leases import Leases
from souffleur.service.outbox import Spool
from souffleur.settings import Settings
from souffleur.times import TimeSource
from tests.build import NOW, turn, verdict
from tests.shared import (
    assert_judged_once,
    assert_ledger_agrees,
    host,
    hosts,
    open_shared,
    until_judged,
)

USERS = ["ann", "bob", "eve"]


async def test_two_hosts_judge_each_turn_once_and_in_order(tmp_path: Path) -> None:
    """Turns of the same users, said to both at once, have one order and one verdict each."""
    async with hosts(tmp_path, 2) as (first, second):
        for place in range(8):
            for user_id in USERS:
                memory = (first, second)[place % 2]
                line = f"I like thing {user_id}{place}."
                assert memory.observe(user_id=user_id, user=line, turn_id=str(place)).durable
            await asyncio.sleep(0.01)
        await until_judged(first.knowledge, 24)
        assert await first.flush()
        assert await second.flush()
        await assert_judged_once(first.knowledge, USERS)
        await assert_ledger_agrees(second.knowledge)
        kept = await second.knowledge.list("bob")
        assert len(kept) > 5


async def test_a_turn_said_to_one_is_recalled_by_another(tmp_path: Path) -> None:
    """What one process records and judges, the other finds."""
    async with hosts(tmp_path, 2) as (first, second):
        first.observe(user_id="ann", user="I like thing tea.")
        await until_judged(second.knowledge, 1)
        assert "thing tea" in (await second.recall(user_id="ann", text="thing tea?")).text
        (entry,) = await second.remember("Ann likes rum.", user_id="ann")
        assert [one.content for one in await first.list(user_id="ann")][-1] == "Ann likes rum."
        await first.undo(entry.id, user_id="ann")
        await assert_ledger_agrees(first.knowledge)


async def test_a_host_that_does_not_judge_leaves_turns_to_others(tmp_path: Path) -> None:
    """Its turns wait, also those given to `remember`, until a process comes that judges."""
    client = QdrantClient(":memory:")
    recorder = await host(client, tmp_path / "recorder", TimeSource(), judge=False)
    assert await recorder.remember([("user", "I like thing a.")], user_id="ann") == []
    recorder.observe(user_id="bob", user="I like thing b.")
    await recorder.flush(1)
    assert {one.state for one in await recorder.knowledge.journal.turns()} == {TurnState.PENDING}
    assert not recorder.error
    worker = await host(client, tmp_path / "worker", TimeSource())
    await until_judged(recorder.knowledge, 2)
    assert await recorder.knowledge.count() == 2
    await worker.close()
    await recorder.close()
    client.close()


async def test_windows_hold_every_turn_once_whoever_writes(tmp_path: Path) -> None:
    """Two processes that write to one session at once lose no turn of its window or segments."""
    client = QdrantClient(":memory:")
    bases = [await open_shared(client) for _ in range(4)]
    rule = WindowRule(size=6, keep=2)

    def talk(place: int) -> None:
        for number in range(12):
            said = turn("a line", "ok", turn_id=f"{place}-{number}", at=NOW)
            assert bases[place].journal.record(said, rule) is not None
            if number == 6:
                bases[place].sessions.end("ann", "s1")

    await asyncio.gather(*(asyncio.to_thread(talk, place) for place in range(4)))
    base = bases[0]
    session = await base.sessions.find("ann", "s1")
    assert session is not None
    left = await base.sessions.segments("ann")
    assert sorted(one.number for one in left) == list(range(session.segments))
    held = [one.id for one in session.window] + [id for one in left for id in one.turn_ids]
    turns = await base.journal.turns()
    assert sorted(held) == sorted(one.id for one in turns)
    assert session.turns == len(turns) == 48
    assert sorted(one.seq for one in turns) == list(range(1, 49))
    client.close()


async def test_a_verdict_without_ops_is_carried_out(tmp_path: Path) -> None:
    """Its turns are judged, and nothing of it is left open."""
    client = QdrantClient(":memory:")
    base = await open_shared(client)
    said = base.journal.record(turn("hi"))
    assert said is not None
    assert await base.apply(verdict(), turns=[said]) == []
    (judged,) = await base.journal.turns()
    assert judged.state is TurnState.JUDGED
    await assert_ledger_agrees(base)
    client.close()


async def test_a_reply_replaced_elsewhere_is_judged_again(tmp_path: Path) -> None:
    """A swipe that reaches another process takes back what the first reply brought."""
    async with hosts(tmp_path, 2) as (first, second):
        first.observe(user_id="ann", user="I like thing a.", assistant="So?", turn_id="1")
        await until_judged(second.knowledge, 1)
        second.observe(user_id="ann", user="I like thing b.", assistant="Ah.", turn_id="1")
        assert await second.flush()
        await until_judged(first.knowledge, 1)
        assert [one.content for one in await first.list(user_id="ann")] == ["Ann likes thing b."]
        (kept,) = await first.knowledge.journal.turns()
        assert (kept.version, kept.seq) == (1, 1)


async def test_flush_waits_for_what_another_process_judges(tmp_path: Path) -> None:
    """While another holds the user, it waits as long as it may; it is done once that one is."""
    async with hosts(tmp_path, 2) as (first, second):
        leases = first.knowledge.journal.leases
        held = await leases.take("ann", "another", second.clock(), timedelta(minutes=1))
        assert held is not None
        second.observe(user_id="ann", user="I like thing a.")
        assert not await second.flush(0.3)
        waiting = asyncio.create_task(second.flush())
        await asyncio.sleep(0.2)
        assert not waiting.done()
        await leases.change("ann", lambda lease: lease.released(held.fence))
        assert await waiting
        assert len(await second.list(user_id="ann")) == 1


async def test_observing_holds_the_loop_no_longer_than_a_moment(tmp_path: Path) -> None:
    """With a server that takes 0.3 s for each answer, turns are taken in far less."""
    client = QdrantClient(":memory:")
    slow = await open_shared(client, late=0.3)
    settings = Settings(path=tmp_path, shutdown_timeout=0.0)
    memory = Souffleur(Parts(slow), settings)
    await memory.start()
    longest = 0.0
    for number in range(30):
        begun = time.perf_counter()
        assert memory.observe(user_id=f"u{number % 5}", user=f"line {number}").durable
        assert memory.end_session(user_id="u1") is True
        longest = max(longest, time.perf_counter() - begun)
    assert longest < 0.2
    await memory.close()
    assert len(next((tmp_path / "outbox").glob("*.jsonl")).read_text().splitlines()) > 20
    client.close()


class CutOff:
    """A collection that cannot be read by filters."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def __getattr__(self, name: str) -> Any:
        if name == "scroll":
            raise StoreError("the server is out of reach")
        return getattr(self._collection, name)


async def test_a_start_that_fails_leaves_nothing_running(tmp_path: Path) -> None:
    """Tried again in the same process, the store opens, and gets what waited on the disk."""
    left = Spool(tmp_path / "outbox", power_safe=False)
    left.add(turn("I like thing a."))
    left.close()
    client = QdrantClient(":memory:")
    base = await open_shared(client)
    memories = cast(Collection, CutOff(base.memories))
    cut_off = KnowledgeBase(memories, base.journal, base.embedder, base.policy)
    before = asyncio.all_tasks()
    with pytest.raises(StoreError, match="out of reach"):
        await Souffleur(Parts(cut_off), Settings(path=tmp_path)).start()
    assert asyncio.all_tasks() == before
    memory = await host(client, tmp_path, TimeSource())
    await until_judged(memory.knowledge, 1, seconds=5)
    await memory.close()
    client.close()


async def test_a_host_whose_work_is_cut_off_is_told(tmp_path: Path) -> None:
    """What a host does with a user whom another process takes over fails, and cancels no one."""
    client = QdrantClient(":memory:")
    base = await open_shared(client)
    leases = Leases(base, seconds=0.3, times=TimeSource())

    async def work() -> None:
        later = datetime.now(UTC) + timedelta(minutes=1)
        another = partial(UserLease.taken, holder="another", now=later, period=timedelta(minutes=1))
        assert await base.journal.leases.change("ann", another)
        await asyncio.sleep(20)

    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(LeaseLostError, match="try again"):
        await leases.wait_for("ann", work)
    assert not task.cancelling()
    working = asyncio.create_task(leases.wait_for("bob", lambda: asyncio.sleep(20)))
    await asyncio.sleep(0.05)
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()
    client.close()
