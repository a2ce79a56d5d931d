"""The budget of a day: counted in the store, kept by everything that asks, renewed at midnight."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Message, Reply, Request, Usage, on_behalf_of
from souffleur.api import Opening, Souffleur
from souffleur.errors import BudgetError, SettingsError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.runs import spending
from souffleur.knowledge.turn import TurnState
from souffleur.service.budget import Budget, DailyLimit
from souffleur.settings import Settings
from tests.build import NOW
from tests.scripted import Scripted, add, answer, by_name
from tests.simulated_time import SimulatedTime
from tests.stores import open_empty

TODAY = NOW.replace(hour=0)
QUESTION = Request((Message("user", "tea?"),), "monitor")


@asynccontextmanager
async def opened(
    folder: Path, chat: Any, time: SimulatedTime, **fields: Any
) -> AsyncIterator[Souffleur]:
    settings = Settings(path=folder, embedder="hash:64", **fields)
    async with Opening(settings, chat, time.source) as memory:
        yield memory


async def states(memory: Souffleur) -> dict[str, TurnState]:
    return {turn.user_id: turn.state for turn in await memory.knowledge.journal.turns()}


async def test_what_is_over_the_budget_waits_for_the_next_day(tmp_path: Path) -> None:
    """Three calls a day: the fourth user's turn waits, over a restart too, until midnight UTC."""
    time, chat = SimulatedTime(NOW.replace(hour=23, minute=50)), Scripted(by_name())
    few: dict[str, Any] = {"calls_per_day": 3, "idle_minutes": 0}
    async with opened(tmp_path, chat, time, **few) as memory:
        await memory.remember("Ann likes tea.", user_id="ann")
        for user_id in ("ann", "bob", "cid", "dan"):
            memory.observe(user_id=user_id, user="hello", assistant="hi")
            assert await memory.flush() == (user_id != "dan")
        told = (
            "the budget of the day is used up, 3 of 3 calls: turns wait until 2026-01-04 00:00 UTC"
        )
        assert memory.error == told
        assert (await memory.health()).budget_error == told
        assert (await memory.health()).endpoint == "ok"
        whisper = await memory.recall(user_id="ann", text="tea?")
        assert ("Ann likes tea." in whisper.text, whisper.error) == (True, told)
        with pytest.raises(BudgetError, match="3 of 3 calls"):
            await memory.remember([{"role": "user", "content": "hi"}], user_id="ann")
    async with opened(tmp_path, chat, time, **few) as memory:
        assert memory.error == told
        await time.pass_(300.0)
        assert len(chat.requests) == 3
        assert (await states(memory))["dan"] is TurnState.PENDING
        await time.pass_(420.0)
        assert await memory.flush()
        assert memory.error == ""
        assert set((await states(memory)).values()) == {TurnState.JUDGED}


async def test_one_users_budget_is_no_other_users(tmp_path: Path) -> None:
    """A user who has spent a dime waits and is told so; the others are judged on."""
    time = SimulatedTime(NOW)

    async def chat(request: Request) -> Reply:
        reply = await Scripted(by_name())(request)
        return Reply(reply.text, usage=Usage(calls=1, cost=0.06))

    async with opened(tmp_path, chat, time, user_dollars_per_day=0.1) as memory:
        for place in range(3):
            for user_id in ("ann", "bob")[: 2 if place == 0 else 1]:
                memory.observe(user_id=user_id, user=f"hello {place}", assistant="hi")
            assert await memory.flush() == (place < 2)
        turns = await memory.knowledge.journal.turns(state=TurnState.PENDING)
        assert [turn.user for turn in turns] == ["hello 2"]
        told = "this user's budget of the day is used up, $0.12 of $0.10"
        assert told in (await memory.recall(user_id="ann", text="tea?")).error
        assert (await memory.recall(user_id="bob", text="tea?")).error == ""
        assert memory.error == ""
        told_of_all = "the budget of the day is used up for 1 user"
        assert (await memory.health()).budget_error == told_of_all


async def test_all_agents_are_counted(tmp_path: Path) -> None:
    """Judging, episodes and runs: the store knows of each call, whose it was, and what it cost."""
    time = SimulatedTime(NOW)
    tea = answer(add("Ann likes tea.", "I like tea"))
    chat = Scripted(by_name(monitor=tea, episode="no idea"))
    async with opened(tmp_path, chat, time, calls_per_day=99, user_calls_per_day=99) as memory:
        for text in ("I like tea", "green tea"):
            memory.observe(user_id="ann", user=text, assistant="ok")
        memory.end_session(user_id="ann")
        await memory.flush()
        await memory.remember("Ann likes milk.", user_id="ann")
        await memory.run("cues")
        assert {request.name for request in chat.requests} >= {"monitor", "episode", "cues"}
        journal = memory.knowledge.journal
        both = [await spending.read(journal, TODAY, user_id) for user_id in ("", "ann")]
        assert [spent.calls for spent in both] == [len(chat.requests)] * 2


async def test_processes_share_a_budget(base: KnowledgeBase) -> None:
    """Two that ask at once count each other's calls, and both stop once all are made."""
    asked = 0

    async def chat(request: Request) -> Reply:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return Reply("ok")

    def metered() -> Any:
        limit = DailyLimit(calls=10)
        return Budget(base.journal, store=limit, user=DailyLimit(), clock=lambda: NOW).metered(chat)

    one, other = metered(), metered()
    for _ in range(5):
        await asyncio.gather(one(QUESTION), other(QUESTION))
    for again in (one, other):
        with pytest.raises(BudgetError):
            await again(QUESTION)
    assert asked == 10


async def test_calls_under_way_count(base: KnowledgeBase) -> None:
    """Of three questions at once, a budget of two lets two through."""
    gate = asyncio.Event()

    async def chat(request: Request) -> Reply:
        await gate.wait()
        return Reply("ok")

    budget = Budget(base.journal, store=DailyLimit(), user=DailyLimit(calls=2), clock=lambda: NOW)
    with on_behalf_of("ann"):
        tasks = [asyncio.ensure_future(budget.metered(chat)(QUESTION)) for _ in range(3)]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)  # the one that is refused
    gate.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(one, BudgetError) for one in done) == 1
    assert (await spending.read(base.journal, TODAY, "ann")).calls == 2


async def test_dollars_without_prices_are_refused(tmp_path: Path) -> None:
    """A budget in dollars that could never be reached is a wrong setting."""
    settings = Settings(path=tmp_path, base_url="http://localhost:1/v1", dollars_per_day=1.0)
    with pytest.raises(SettingsError, match="SOUFFLEUR_PRICE_IN"):
        async with open_empty(settings):
            pass
