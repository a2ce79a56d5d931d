"""Compacting: nothing deleted is left in the files, whoever writes or is killed meanwhile."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench.residue import found_in, names_in
from souffleur.errors import StoreError
from souffleur.knowledge.store.engine.collection import (
    CollectionSchema,
    Filter,
    Is,
    Point,
    Sparse,
    read_all,
)
from souffleur.knowledge.store.engine.edge import EdgeCollection, stored_dimension
from souffleur.knowledge.store.engine.files import BYTES_TO_OPEN, MB
from tests.knowledge.store.engine.test_collection import LAYOUT, PLAIN, name, number, point

ROOT = Path(__file__).parents[4]


def numbered(n: int, said: str) -> Point:
    """A point with all kinds of vectors."""
    words = Sparse((n, n + 7), (1.0, 0.5))
    return Point(name(n), {"user_id": "ann", "said": said}, (0.6, 0.8, 0.0), words, ((1, 0, 0),))


async def state(collection: EdgeCollection) -> list[Point]:
    """Every point with its vectors."""
    found, _ = await collection.scroll(Filter(), limit=1000, vectors=True)
    return found


async def test_nothing_deleted_or_replaced_is_left(tmp_path: Path) -> None:
    """What is there stays as it was, vectors and indexes too; the bytes of all else are gone."""
    schema = replace(LAYOUT, indexes={"user_id": "tenant"})
    collection = EdgeCollection.open(tmp_path, schema)
    await collection.put([numbered(n, f"Zanzibar {n}") for n in range(1, 9)])
    await collection.put([numbered(1, "Ulm")])
    await collection.merge_payload([name(2)], {"said": "Köln"})
    await collection.delete([name(n) for n in range(3, 8)])
    before = await state(collection)
    assert found_in(tmp_path, "Zanzibar 3")
    assert await collection.compact() == ""
    assert await state(collection) == before
    await collection.put([numbered(9, "Oslo")])
    assert await collection.count(Filter((Is("user_id", "ann"),))) == 4
    await collection.close()
    assert found_in(tmp_path, "Zanzibar 8")
    assert not any(found_in(tmp_path, f"Zanzibar {n}") for n in range(1, 8))
    assert names_in(tmp_path) == ["memories", "memories.sums"]
    again = EdgeCollection.open(tmp_path, schema)
    assert [number(one) for one in await state(again)] == [1, 2, 8, 9]
    await again.close()


async def test_it_may_be_used_meanwhile(tmp_path: Path) -> None:
    """What is written and deleted during the copy is so afterwards, from any thread."""
    collection = EdgeCollection.open(tmp_path, PLAIN)
    await collection.put([point(n, {"said": "old"}) for n in range(1, 400)])

    def write() -> None:
        for n in range(400, 500):
            collection.put_now([point(n, {"said": "new"})])
            collection.merge_now([name(n - 399)], {"said": "changed"})

    writing = asyncio.create_task(asyncio.to_thread(write))
    compacting = asyncio.create_task(collection.compact())
    await asyncio.sleep(0)
    await collection.delete([name(300)])
    await asyncio.gather(writing, compacting)
    said = {number(one): one.payload["said"] for one in await read_all(collection, Filter())}
    assert len(said) == 498
    assert {said[n] for n in range(1, 101)} == {"changed"}
    assert {said[n] for n in range(400, 500)} == {"new"}
    await collection.close()


async def test_without_room_nothing_changes(tmp_path: Path) -> None:
    """The error says so, the store goes on as it was, and nothing half made stays."""
    free = [1 << 40]
    collection = EdgeCollection.open(tmp_path, PLAIN, room=lambda _: free[0])
    await collection.put([point(1, {"said": "old"})])
    free[0] = BYTES_TO_OPEN - MB
    with pytest.raises(StoreError, match="make room"):
        await collection.compact()
    await collection.put([point(2, {"said": "new"})])
    assert [number(one) for one in await state(collection)] == [1, 2]
    assert names_in(tmp_path) == ["memories"]
    await collection.close()


@pytest.mark.parametrize("left", ["half made", "old whole", "old in part", "old gone"])
async def test_a_kill_between_two_steps_is_made_good(tmp_path: Path, left: str) -> None:
    """The next opening takes what was whole: the old files, or from then on the fresh ones."""
    schema = CollectionSchema("memories", 3)
    for folder, said in ((tmp_path, "old"), (tmp_path / "elsewhere", "fresh")):
        made = EdgeCollection.open(folder, schema)
        await made.put([point(1, {"said": said})])
        await made.close()
    fresh, old = tmp_path / "elsewhere" / "memories", tmp_path / "memories"
    if left == "half made":
        (tmp_path / ".compacting").mkdir()
        fresh.rename(tmp_path / ".compacting" / "memories")
        (tmp_path / ".compacting" / "memories" / "edge_config.json").unlink()
    else:
        fresh.rename(tmp_path / "memories.compacted")
    if left == "old in part":
        (old / "edge_config.json").unlink()
    if left == "old gone":
        shutil.rmtree(old)
    assert stored_dimension(old) == 3
    opened = EdgeCollection.open(tmp_path, schema)
    (one,) = await state(opened)
    assert one.payload["said"] == ("old" if left == "half made" else "fresh")
    assert not (tmp_path / ".compacting").exists()
    await opened.close()


async def counted(folder: Path) -> int:
    """The number of points in a folder's collection."""
    opened = EdgeCollection.open(folder, PLAIN)
    count = len(await state(opened))
    await opened.close()
    return count


LIFE = """
import asyncio, sys
from pathlib import Path
from souffleur.knowledge.store.engine.edge import EdgeCollection
from tests.knowledge.store.engine.test_collection import PLAIN, point

async def live() -> None:
    collection = EdgeCollection.open(Path(sys.argv[1]), PLAIN)
    if not await collection.get(["00000000-0000-0000-0000-000000000001"]):
        await collection.put([point(n, {"said": "x" * 500}) for n in range(1, 200)])
    print("ready", flush=True)
    while True:
        await collection.compact()

asyncio.run(live())
"""


@pytest.mark.soak
def test_killed_at_any_moment_it_loses_nothing(tmp_path: Path) -> None:
    """A process that only compacts is killed forty times; each time all points are there."""
    for life in range(40):
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", LIFE, str(tmp_path)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(life * 0.013)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert asyncio.run(counted(tmp_path)) == 199
