"""A long talk becomes episodes, whatever the summarizer does and wherever the process dies."""

import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category
from souffleur.knowledge.session import SegmentState
from tests.build import open_base
from tests.faults.child import running
from tests.faults.teller import TURNS, opened, talk

MOST = 60
"""Writes of a life at most: a talk takes several."""


def live(folder: Path, writes: int, seed: int) -> str:
    """Run the host until it dies before that write; negative: until it is done."""
    with running("tests.faults.teller", folder, writes, seed) as child:
        said = child.stdout.read()
        assert child.wait() in {0, -9}
        return said


async def assert_each_message_has_one_place(base: KnowledgeBase) -> int:
    """Every turn is in one segment or in the window; returns how many there are."""
    turns = await base.journal.turns()
    segments = await base.sessions.segments("ann", limit=1000)
    window = await base.sessions.window("ann", "s1")
    places = Counter(id for segment in segments for id in segment.turn_ids)
    places.update(turn.id for turn in window)
    assert places == Counter(turn.id for turn in turns)
    assert sum(turn.messages for turn in window) <= 30
    return len(turns)


async def assert_told_once(base: KnowledgeBase) -> None:
    """Every line of the talk is in exactly one episode, and every episode tells its segment."""
    episodes = await base.list("ann", category=Category.EPISODE)
    told = Counter(int(n) for one in episodes for n in re.findall(r"line (\d+)", one.content))
    assert told == Counter(range(TURNS))
    segments = await base.sessions.segments("ann", limit=1000)
    assert {segment.state for segment in segments} == {SegmentState.WRITTEN}
    assert {segment.episode_id for segment in segments} == {one.id for one in episodes}


async def test_a_failing_summarizer_loses_nothing(tmp_path: Path) -> None:
    """Of 200 messages each ends in one episode, though every third call fails."""
    memory = await opened(tmp_path, -1, seed=1)
    await talk(memory)
    assert await assert_each_message_has_one_place(memory.knowledge) == TURNS
    await assert_told_once(memory.knowledge)
    await memory.close()


@pytest.mark.parametrize(
    "kills", [2, pytest.param(100, marks=pytest.mark.soak)], ids=["two", "a hundred"]
)
async def test_a_kill_before_any_write_loses_nothing(tmp_path: Path, kills: int) -> None:
    """After each death every message has one place; at the end of a talk each is told once."""
    chance, deaths, seed = random.Random(11), 0, 0
    folder = tmp_path / "store"
    while deaths < kills:
        ended = live(folder, chance.randrange(MOST), seed) == "done\n"
        base = await open_base(folder, dimension=64)
        turns = await assert_each_message_has_one_place(base)
        if ended:
            assert turns == TURNS
            await assert_told_once(base)
        await base.close()
        if ended:  # who has told all has nothing left to die of: the next talk
            shutil.rmtree(folder)
        deaths, seed = deaths + (not ended), seed + 1
    assert live(folder, -1, seed) == "done\n"
    base = await open_base(folder, dimension=64)
    assert await assert_each_message_has_one_place(base) == TURNS
    await assert_told_once(base)
    await base.close()
