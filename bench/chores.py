"""How long it takes to save, restore and erase a store, and whether restored equals saved."""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from souffleur import Souffleur
from souffleur.errors import StoreError
from souffleur.knowledge.store.backup import restore
from souffleur.knowledge.store.engine.collection import Collection, Filter, Point, read_pages
from souffleur.knowledge.store.opening import StoreLocation, open_collections, stored_dimension


@dataclass(frozen=True)
class Chore:
    """One chore on a whole store."""

    name: str
    size: int
    """The number of memories."""
    seconds: float
    megabytes: float | None = None
    """The size of the file, if there is one."""


async def do_chores(memory: Souffleur, user_id: str, size: int, folder: Path) -> list[Chore]:
    """Save an open store, restore it beside, and erase its user. Raises StoreError if they differ.

    `folder` is for the file and the restored store; both stay there.
    """
    file, target = folder / "backup.zip", StoreLocation(folder=folder / "restored")
    begun = time.perf_counter()
    await memory.backup(file)
    saved = time.perf_counter()
    await restore(file, target)
    restored = time.perf_counter()
    knowledge = memory.knowledge
    if await _points(knowledge.memories, knowledge.journal.collection) != await _points_in(target):
        raise StoreError("what was restored differs from what was saved")
    compared = time.perf_counter()
    await memory.erase_user(user_id=user_id)
    erased = time.perf_counter()
    megabytes = file.stat().st_size / 1e6
    return [
        Chore("backup", size, saved - begun, megabytes),
        Chore("restore: every record and vector as saved", size, restored - saved),
        Chore("erase the user", size, erased - compared),
    ]


def report_chores(chores: list[Chore]) -> None:
    """Print one line for each chore."""
    table = Table("chore", "memories of the user", "seconds", "MB")
    for one in chores:
        megabytes = f"{one.megabytes:.1f}" if one.megabytes is not None else ""
        table.add_row(one.name, f"{one.size:,}", f"{one.seconds:.2f}", megabytes)
    Console().print(table)


async def _points(*collections: Collection) -> dict[tuple[str, str], Point]:
    return {
        (collection.schema.name, point.id): point
        for collection in collections
        async for page in read_pages(collection, Filter(), vectors=True)
        for point in page
    }


async def _points_in(location: StoreLocation) -> dict[tuple[str, str], Point]:
    dimension = await stored_dimension(location)
    assert dimension is not None
    async with AsyncExitStack() as closing:
        return await _points(*await open_collections(location, dimension, closing))
