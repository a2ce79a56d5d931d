"""kill -9 of a process that writes and flushes without pause: what was accepted is there."""

import random
import time
from pathlib import Path

import pytest

from souffleur.knowledge.store.engine.collection import Filter
from souffleur.knowledge.store.engine.edge import EdgeCollection
from tests.faults.child import running
from tests.faults.writer import LAYOUT


def live(folder: Path, log: Path, seed: int, seconds: float) -> None:
    """Run the writer, and kill it that long after its first accepted write."""
    before = log.stat().st_size
    with running("tests.faults.writer", folder, log, seed) as child:
        while log.stat().st_size == before:
            assert not child.has_ended()
            time.sleep(0.005)
        time.sleep(seconds)


@pytest.mark.parametrize(
    "kills", [4, pytest.param(100, marks=pytest.mark.soak)], ids=["four", "a hundred"]
)
async def test_accepted_writes_survive_a_kill_during_a_flush(tmp_path: Path, kills: int) -> None:
    """Every insert, replacement and change of a field that was accepted is there after a restart.

    A conditional upsert is not: replaying its log, Qdrant Edge 0.9.0 judges the condition anew.
    """
    chance, log = random.Random(3), tmp_path / "log"
    log.touch()
    for seed in range(kills):
        live(tmp_path / "store", log, seed, chance.uniform(0.0, 0.4))
    accepted: dict[str, int] = {}
    for line in log.read_text().splitlines():
        id, revision = line.split()
        accepted[id] = int(revision)
    points = EdgeCollection.open(tmp_path / "store", LAYOUT)
    found, _ = await points.scroll(Filter(), limit=10**6)
    stored = {point.id: point.payload["revision"] for point in found}
    await points.close()
    assert {id: stored.get(id, 0) for id in accepted if stored.get(id, 0) < accepted[id]} == {}
