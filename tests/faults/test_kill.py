"""kill -9 of a host at random moments of a long talk, and what the next start makes of it."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.turn import TurnState
from tests.build import open_base
from tests.faults.child import running
from tests.faults.replayer import TURNS, thing


def live(folder: Path, seconds: float | None) -> str:
    """Run the host, and kill it that long after it has opened its store; None: let it finish."""
    with running("tests.faults.replayer", folder) as child:
        assert child.stdout.readline() == "open\n"
        if seconds is not None:
            time.sleep(seconds)
            child.kill()
        return child.stdout.read()


@pytest.mark.parametrize(
    "kills", [3, pytest.param(100, marks=pytest.mark.soak)], ids=["three", "a hundred"]
)
async def test_every_turn_is_judged_once_whatever_happens(tmp_path: Path, kills: int) -> None:
    """No turn is lost or judged twice, and ledger and memories agree."""
    chance = random.Random(7)
    folder = tmp_path / "store"
    for _ in range(kills):
        live(folder, chance.uniform(0.0, 2.0))
    assert live(folder, None) == "done\n"

    base = await open_base(folder, dimension=64)
    assert await base.recover() == 0
    turns = await base.journal.turns()
    assert [turn.turn_id for turn in turns] == [str(place) for place in range(TURNS)]
    assert {turn.state for turn in turns} == {TurnState.JUDGED}
    await _assert_judged_once(base, [turn.id for turn in turns])
    await _assert_ledger_agrees(base)
    await base.close()


async def _assert_judged_once(base: KnowledgeBase, turn_ids: list[str]) -> None:
    entries = await base.journal.entries()
    verdicts = {turn: {e.verdict_id for e in entries if turn in e.turn_ids} for turn in turn_ids}
    assert {len(found) for found in verdicts.values()} == {1}
    added = Counter(e.details["content"] for e in entries if e.op == "ADD" and not e.refused)
    expected = [f"Ann likes {thing(n)}." for n in range(TURNS) if n % 10 < 7]
    assert added == Counter(expected)


async def _assert_ledger_agrees(base: KnowledgeBase) -> None:
    """The last `after` in the ledger is what lies in the store, and revisions form a chain."""
    last: dict[str, Memory] = {}
    for entry in await base.journal.entries():
        for change in entry.changes:
            known = last.get(change.after.id)
            assert (change.before.revision if change.before else 0) == (
                known.revision if known else 0
            )
            last[change.after.id] = change.after
    stored = {memory.id: memory for memory in await base.list(None, states=tuple(MemoryState))}
    assert {id: memory.model_copy(update={"recalls": 0}) for id, memory in stored.items()} == {
        id: memory.model_copy(update={"recalls": 0}) for id, memory in last.items()
    }
    assert any(memory.state is MemoryState.SUPERSEDED for memory in stored.values())
    assert any(memory.state is MemoryState.FORGOTTEN for memory in stored.values())
    assert any(memory.uses for memory in stored.values())
