"""A disk without room: said before the engine writes, and nothing accepted is lost."""

from pathlib import Path

import pytest

from souffleur.api import Souffleur
from souffleur.errors import StoreError
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine import files
from souffleur.knowledge.store.engine.collection import CollectionSchema, Point
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, open_base

LAYOUT = CollectionSchema("memories", 4)
POINT = Point(derive_id("one"), {"said": "tea"})


class Room:
    """A disk with as much room as is set."""

    def __init__(self, free: int) -> None:
        self.free = free

    def __call__(self, path: Path) -> int:
        return self.free


async def test_a_store_is_not_opened_without_room(tmp_path: Path) -> None:
    """The error says how much there is and how much is needed; with room it opens."""
    room = Room(files.BYTES_TO_OPEN - 1)
    with pytest.raises(StoreError, match=r"has 99 MB left and 100 MB are needed: make room"):
        EdgeCollection.open(tmp_path, LAYOUT, room=room)
    room.free = files.BYTES_TO_OPEN
    await EdgeCollection.open(tmp_path, LAYOUT, room=room).close()


async def test_a_disk_that_fills_up_loses_nothing(tmp_path: Path) -> None:
    """What was written stays, what comes is refused before the engine sees it, and it goes on."""
    room = Room(files.BYTES_TO_OPEN)
    collection = EdgeCollection.open(tmp_path, LAYOUT, room=room)
    collection.put_now([POINT])
    room.free = files.BYTES_TO_WRITE - 1
    with pytest.raises(StoreError, match="make room"):
        collection.put_now([Point(derive_id("two"), {})])
    assert len(await collection.get([POINT.id, derive_id("two")])) == 1
    room.free = files.BYTES_TO_WRITE
    collection.put_now([Point(derive_id("two"), {})])
    await collection.close()


async def test_the_engine_flushes_only_with_room(tmp_path: Path) -> None:
    """Else it could die in its mapped files: the log has what was written, which is told."""
    room = Room(files.BYTES_TO_OPEN)
    collection = EdgeCollection.open(tmp_path, LAYOUT, room=room)
    room.free = 0
    await collection.close()  # there is nothing to flush
    room.free = files.BYTES_TO_OPEN
    collection = EdgeCollection.open(tmp_path, LAYOUT, room=room)
    collection.put_now([POINT])
    room.free = 0
    with pytest.raises(StoreError, match="make room"):
        await collection.close()
    again = EdgeCollection.open(tmp_path, LAYOUT)
    assert len(await again.get([POINT.id])) == 1
    await again.close()


async def host_with(room: Room, folder: Path) -> Souffleur:
    """A memory whose journal has so much room on the disk."""
    base = await open_base(folder, dimension=16)
    await base.journal.collection.close()
    schema = base.journal.collection.schema
    base.journal.collection = EdgeCollection.open(folder, schema, room=room)
    return Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings())


async def test_a_host_keeps_talking_on_a_full_disk(tmp_path: Path) -> None:
    """`observe` says so and holds the turns; once there is room they are written, in order."""
    room = Room(files.BYTES_TO_OPEN)
    memory = await host_with(room, tmp_path)
    room.free = 0
    for place in range(3):
        receipt = memory.observe(user_id="ann", user=f"turn {place}", turn_id=str(place))
        assert (receipt.new, receipt.durable, "make room" in receipt.error) == (True, False, True)
    assert "held in memory" in (await memory.health()).store_error
    room.free = files.BYTES_TO_OPEN
    assert memory.observe(user_id="ann", user="turn 3", turn_id="3").durable
    turns = await memory.knowledge.journal.turns()
    assert [turn.user for turn in turns] == [f"turn {index}" for index in range(4)]
    await memory.close()


async def test_turns_that_are_lost_are_told_by_close(tmp_path: Path) -> None:
    """Closing while the disk is full says once how many turns it loses, and lets go of all."""
    room = Room(files.BYTES_TO_OPEN)
    memory = await host_with(room, tmp_path)
    room.free = 0
    for index in range(2):
        memory.observe(user_id="ann", user=f"turn {index}")
    with pytest.raises(StoreError, match=r"is lost, turns: 2\..* make room"):
        await memory.close()
    await memory.close()
    await memory.knowledge.journal.collection.close()
    again = await open_base(tmp_path, dimension=16)
    assert await again.journal.turns() == []
    await again.close()


async def test_a_folder_that_is_gone_is_told_at_once(tmp_path: Path) -> None:
    """Writing into a folder taken away is refused by the first write, not found out by a flush."""
    collection = EdgeCollection.open(tmp_path / "store", LAYOUT)
    (tmp_path / "store").rename(tmp_path / "gone")  # deleting it, the engine may add a file yet
    with pytest.raises(StoreError, match="is out of reach"):
        collection.put_now([POINT])
    await collection.close()
