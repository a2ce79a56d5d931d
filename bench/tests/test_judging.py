"""How long a host waits: every operation is timed, and judging ends with the verdict."""

from collections import Counter

import pytest

from bench.speed.command import measure, operations, report
from bench.speed.store import cues, open_filled
from souffleur import Kind
from souffleur.knowledge.memory import MemoryState


@pytest.mark.parametrize(
    ("name", "more"), [("a turn that changes nothing", 0), ("a turn that adds a memory", 1)]
)
async def test_judging_ends_when_the_verdict_is_applied(name: str, more: int) -> None:
    """Then no turn waits, each of its ops is in the ledger, and what it adds is remembered."""
    async with open_filled(2) as (memory, _):
        await operations(memory)[f"judging {name}, less the model"].work(0)
        assert await memory.knowledge.journal.waiting("ann") == []
        (entry,) = (await memory.knowledge.journal.entries("ann"))[-1:]
        assert await memory.knowledge.journal.is_settled(entry.id)
        known = await memory.knowledge.list("ann")
        assert len([one for one in known if one.cues]) == 2 + more


async def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """Every operation is timed at every size, and a table is printed."""
    timings, chores = await measure((3,), rounds=3)
    assert len({one.name for one in timings}) == len(timings) == 10
    assert all(0 < one.median <= one.slow <= one.slowest for one in timings)
    assert [one.name.split()[0] for one in chores] == ["open", "backup", "restore:", "erase"]
    report(timings, chores)
    said = capsys.readouterr().out
    assert "recall" in said
    assert "erase" in said


async def test_each_memory_has_cues() -> None:
    """The store is as a judged user's: without cues, half of the queries would be spared."""
    async with open_filled(4) as (memory, _):
        found = {one.cues for one in await memory.knowledge.list("ann") if one.topics}
    assert found == {cues(count) for count in range(4)}


async def test_a_store_has_what_a_year_leaves() -> None:
    """Of ten memories seven are in force, and there are boundaries and a portrait in force."""
    async with open_filled(70) as (memory, _):
        known = memory.knowledge
        states = Counter(one.state for one in await known.list("ann", states=tuple(MemoryState)))
        boundaries = await known.list("ann", kind=Kind.BOUNDARY)
        portrait = await known.current_portrait("ann")
    assert states == {"active": 70 + 1, "superseded": 20, "archived": 10}
    assert 20 <= len(boundaries) <= 30
    assert portrait
