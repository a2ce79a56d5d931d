"""Upkeep and summaries under clocks that are wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from souffleur.api import Opening, Souffleur
from souffleur.settings import Settings
from tests.build import NOW, days
from tests.place import lasts_hours, where
from tests.scripted import Scripted, by_name, episode
from tests.simulated_time import SimulatedTime
from tests.stage import staged

TEA = episode("Ann talked about tea.")


@asynccontextmanager
async def opened(folder: Path, time: SimulatedTime, script: Any) -> AsyncIterator[Souffleur]:
    settings = Settings(**where(folder), embedder="hash:64", retry_pause=60.0, raw_days=30)
    async with Opening(settings, Scripted(script), time.source) as memory:
        yield memory


async def words(memory: Souffleur) -> list[str]:
    return [turn.user for turn in await memory.knowledge.journal.turns()]


@lasts_hours
async def test_a_clock_that_jumps_ahead_drops_no_words(tmp_path: Path) -> None:
    """A year ahead for an hour, and back: all words are there; after a day they would go."""
    time = SimulatedTime(NOW)
    async with opened(tmp_path, time, by_name(episode=TEA)) as memory:
        for text in ("tea?", "sencha!"):
            memory.observe(user_id="ann", user=text, assistant="ok")
        memory.end_session(user_id="ann")
        await time.pass_(120.0)
        time.jump(days(365))
        await time.pass_(3600.0)
        assert await words(memory) == ["tea?", "sencha!"]
        time.jump(-days(365))
        await time.pass_(3600.0)
        assert await words(memory) == ["tea?", "sencha!"]
        time.jump(days(365))
        await time.pass_(90_000.0)
        assert await words(memory) == ["", ""]


async def test_a_clock_that_goes_back_keeps_nothing_waiting(tmp_path: Path) -> None:
    """An episode that failed while the clock was ten years ahead is told within two hours."""
    time, answers = SimulatedTime(NOW + days(3650)), ["no idea"] * 4
    script = by_name(episode=lambda _: answers.pop() if answers else TEA)
    async with opened(tmp_path, time, script) as memory:
        for text in ("tea?", "sencha!"):
            memory.observe(user_id="ann", user=text, assistant="ok")
        memory.end_session(user_id="ann")
        await memory.flush()
        (segment,) = await memory.knowledge.sessions.waiting_segments()
        assert segment.retry_at is not None
        assert segment.retry_at > NOW + timedelta(days=3649)
        time.jump(-days(3650))
        await memory.flush()
        assert answers == []
        await memory.flush()
        (segment,) = await memory.knowledge.sessions.waiting_segments()
        assert segment.retry_at is not None
        time.jump(segment.retry_at - time.at)
        await memory.flush()
        assert await memory.knowledge.sessions.waiting_segments() == []


async def test_nobody_who_has_gone_is_remembered_by_the_queue(tmp_path: Path) -> None:
    """After fifty users have talked, the process holds no task, lock or note of any of them."""
    time = SimulatedTime(NOW)
    async with opened(tmp_path, time, by_name()) as memory:
        for user in range(50):
            memory.observe(user_id=f"u{user}", user="hi", assistant="ok")
        await memory.flush()
        kept = [
            vars(memory._service.queue),
            vars(memory.knowledge),
        ]  # what grows is nowhere else told
        sizes = {
            name: len(value)
            for held in kept
            for name, value in held.items()
            if isinstance(value, dict | set) or name == "_locks"
        }
        assert set(sizes.values()) == {0}


async def test_another_embedder_takes_over_behind_the_talk(tmp_path: Path) -> None:
    """Opened with `reembed`, a store is used at once, and has all its new vectors soon."""
    async with staged(tmp_path, by_name(), kept=True) as stage:
        await stage.memory.remember("Ann likes green tea.", user_id="ann")
        await stage.say("hello there")
    async with staged(tmp_path, by_name(), embedder="hash:32", reembed=True, kept=True) as stage:
        whisper = await stage.memory.recall(user_id="ann", text="Which green tea do I like?")
        assert "green tea" in whisper.text
        await stage.memory.flush()
        (known,) = await stage.memory.list(user_id="ann")
        (point,) = await stage.knowledge.memories.get([known.id], vectors=True)
        assert len(point.dense) == 32
        assert [one.embedded for one in await stage.knowledge.journal.turns()] == [True]
        assert "reembedding" not in await stage.knowledge.journal.meta()
