"""kill -9 of a process that embeds a store anew: the next one goes on."""

import random
from pathlib import Path

import pytest

from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.codecs import to_memory
from souffleur.knowledge.store.engine.collection import Filter, read_pages
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge
from souffleur.knowledge.store.upgrade import REEMBEDDING, SCHEMA
from tests.build import fill, memory, open_base, turn
from tests.faults.renewing import NEW
from tests.faults.test_kill_runs import live
from tests.place import in_folder

BORN = [memory(f"Ann likes thing {n}.", importance=2.5, cues=(f"thing {n}?",)) for n in range(600)]


@in_folder
@pytest.mark.parametrize(
    "kills", [2, pytest.param(60, marks=pytest.mark.soak)], ids=["two", "sixty"]
)
async def test_a_killed_renewal_is_gone_on_with(tmp_path: Path, kills: int) -> None:
    """Nothing is lost, and all vectors are the new embedder's."""
    base = await open_base(tmp_path, dimension=64)
    await fill(base, *BORN)
    for n in range(20):
        base.journal.record(turn(f"hello {n}", turn_id=str(n)))
    await base.embed_turns()
    said = await base.journal.turns()
    await base.close()

    chance = random.Random(kills)
    for _ in range(kills):
        if live("renewing", tmp_path, seed=0, seconds=chance.uniform(0.1, 2.0)):
            break
    assert live("renewing", tmp_path, seed=0)

    embedder = make_embedder(NEW)
    base = await open_knowledge(StoreLocation(folder=tmp_path), embedder, COMPANION)
    pages = read_pages(base.memories, Filter(), vectors=True)
    points = [point async for page in pages for point in page]
    assert {one.id: one for one in map(to_memory, points)} == {one.id: one for one in BORN}
    texts = [to_memory(point).searchable for point in points]
    expected = await embedder.embed(texts)
    assert [p.dense for p in points] == [pytest.approx(vector) for vector in expected]
    assert all(len(point.cues) == 1 for point in points)
    assert await base.journal.turns() == said
    meta = await base.journal.meta() or {}
    assert (meta["schema"], meta["embedder"], meta["dimension"]) == (SCHEMA, NEW, 32)
    assert REEMBEDDING not in meta
    await base.close()
