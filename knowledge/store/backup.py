"""Backup: a whole store is saved to one file, and restored from it to an empty place.

The points are copied as they are, so it does not matter which engine or embedder made them.
"""

import asyncio
import shutil
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from souffleur.errors import NotFoundError, StoreError
from souffleur.knowledge.store import schema
from souffleur.knowledge.store.backup_file import (
    BackupManifest,
    BackupWriter,
    kind_of,
    read_lines,
    verify,
)
from souffleur.knowledge.store.engine.checksums import move_collection
from souffleur.knowledge.store.engine.collection import Collection, Filter, Point, read_pages
from souffleur.knowledge.store.engine.files import locked_folder
from souffleur.knowledge.store.engine.points import can_match
from souffleur.knowledge.store.labels import INDEXES
from souffleur.knowledge.store.ledger import META_ID, Journal
from souffleur.knowledge.store.opening import (
    StoreLocation,
    check_empty,
    open_both,
    open_collections,
    remove_collections,
    stored_dimension,
)
from souffleur.knowledge.store.processes.numbers import Numbers

POINTS_PER_PAGE = 256
"""Number of points read at once."""


@dataclass(frozen=True)
class Copied:
    """A part of a copy."""

    collection: str
    """The name of the collection."""
    points: Sequence[Point]
    """Points; one that was in an earlier part replaces that."""
    again: Sequence[str] = ()
    """The ids of what was in an earlier part, and was replaced or deleted meanwhile."""
    gone: Sequence[str] = ()
    """Those of them that were deleted."""


async def copies(
    collections: Sequence[Collection],
    journal: Journal,
    wanted: Filter,
    *,
    vectors: bool = False,
) -> AsyncIterator[Copied]:
    """Yield the wanted points, page by page, by their ids; then those written meanwhile.

    `wanted` may hold no ranges. What this process writes during the copy is read again in one go at
    the end; what other processes write to a Qdrant server meanwhile may be in it in part. Raises
    StoreError.
    """
    with ExitStack() as noting:
        each = [
            _Copy(one, wanted, noting.enter_context(one.changes.noted())) for one in collections
        ]
        for copy in each:
            pages = read_pages(copy.collection, wanted, size=POINTS_PER_PAGE, vectors=vectors)
            async for page in pages:
                copy.note(page)
                yield Copied(copy.collection.schema.name, page)
        with journal.lock:  # no thread observes a turn meanwhile
            while any(copy.written for copy in each):
                for copy in each:
                    await copy.read_again(vectors=vectors)
    for copy in each:
        if copy.named:
            yield copy.last()


class _Copy:
    """What was copied of a collection, and written meanwhile."""

    def __init__(self, collection: Collection, wanted: Filter, written: set[str]) -> None:
        self.collection = collection
        self.written = written
        self.named: set[str] = set()
        self._wanted = wanted
        self._latest: dict[str, Point] = {}
        self._seen = array("Q")  # eight bytes a point, so that many need no memory

    def note(self, points: Iterable[Point]) -> None:
        """Note which points were copied."""
        self._seen.extend(_key(point.id) for point in points)

    async def read_again(self, *, vectors: bool) -> None:
        """Read what was written since it was last read."""
        ids = sorted(self.written)
        self.written.clear()
        self.named.update(ids)
        for id in ids:
            self._latest.pop(id, None)
        for first in range(0, len(ids), POINTS_PER_PAGE):
            page = ids[first : first + POINTS_PER_PAGE]
            for point in await self.collection.get(page, vectors=vectors):
                if can_match(self._wanted, point.payload):
                    self._latest[point.id] = point

    def last(self) -> Copied:
        """Return what was written meanwhile."""
        keys = {_key(id): id for id in self.named}
        again = sorted({keys[key] for key in self._seen if key in keys})
        gone = [id for id in again if id not in self._latest]
        points = [self._latest[id] for id in sorted(self._latest)]
        return Copied(self.collection.schema.name, points, again, gone)


def _key(id: str) -> int:
    return UUID(id).int >> 64


Step = Callable[[int, int], None]
"""Is called with the number of points that are done, and the total."""


def _silently(done: int, total: int) -> None:
    """Tell nobody."""


async def save(
    memories: Collection, journal: Journal, file: Path, *, now: datetime, step: Step = _silently
) -> BackupManifest:
    """Save a store to a file; it may be used meanwhile.

    What this process writes during the copy is copied again at the end, in one go, so that the file
    holds the store as it was at that moment. What other processes write to a Qdrant server
    meanwhile may be in it in part. Raises FileError, NotFoundError if the store is new.
    """
    collections = (journal.collection, memories)
    made_with = await journal.meta()
    if made_with is None:
        raise NotFoundError("there is nothing to back up: the store is empty")
    total, done = sum([await one.count(Filter()) for one in collections]), 0
    with BackupWriter(file) as writer:
        async for part in copies(collections, journal, Filter(), vectors=True):
            await asyncio.to_thread(writer.write, part.collection, part.points, part.gone)
            done += len(part.points) - len(part.again)
            step(done, max(done, total))
        return await asyncio.to_thread(writer.finish, made_with, now)


async def save_store(
    location: StoreLocation, file: Path, *, now: datetime, step: Step = _silently
) -> BackupManifest:
    """Save the store at a location, which no other process may have open.

    Raises NotFoundError if there is none, StoreBusyError if it is in use, FileError.
    """
    dimension = await stored_dimension(location)
    if dimension is None:
        raise NotFoundError(f"there is no store at {location}: set SOUFFLEUR_PATH to the one meant")
    async with AsyncExitStack() as closing:
        memories, journal = await open_collections(location, dimension, closing)
        return await save(memories, Journal(journal, last_seq=0), file, now=now, step=step)


async def restore(file: Path, target: StoreLocation, *, step: Step = _silently) -> BackupManifest:
    """Restore a backup to an empty place; the file is read to its end before anything is written.

    A folder shows the store only when all of it is there. Raises FileError if the file is
    damaged, StoreMismatchError if `target` is not empty or a newer version made the backup.
    """
    manifest = await asyncio.to_thread(verify, file)
    schema.check(manifest.made_with.get("schema"), f"{file}, by Souffleur {manifest.made_by},")
    if target.url or target.folder is None:
        await _make_room(target, manifest.dimension)
        async with AsyncExitStack() as closing:
            both = await open_collections(target, manifest.dimension, closing)
            await check_empty(*both, target)
            await _fill(both, file, manifest, step)
    else:
        with locked_folder(target.folder):
            await _restore_folder(file, target, target.folder, manifest, step)
    return manifest


async def _make_room(target: StoreLocation, dimension: int) -> None:
    """Remove the empty collections of a server that were made for another embedder."""
    stored = await stored_dimension(target)
    if stored not in (None, dimension):
        async with AsyncExitStack() as closing:
            await check_empty(*await open_collections(target, stored, closing), target)
        await remove_collections(target)


async def _restore_folder(
    file: Path, target: StoreLocation, folder: Path, manifest: BackupManifest, step: Step
) -> None:
    stored = await stored_dimension(target)
    if stored is not None:
        async with AsyncExitStack() as closing:
            await check_empty(*await open_both(target, stored, closing), target)
    making = folder / ".restoring"
    shutil.rmtree(making, ignore_errors=True)  # of a restore that was killed
    try:
        async with AsyncExitStack() as closing:
            place = replace(target, folder=making)
            both = await open_both(place, manifest.dimension, closing)
            await _fill(both, file, manifest, step)
        for name in INDEXES:
            move_collection(making / name, folder / name)
    finally:
        shutil.rmtree(making, ignore_errors=True)


async def _fill(
    both: tuple[Collection, Collection], file: Path, manifest: BackupManifest, step: Step
) -> None:
    """Write all points; what makes it a store comes last."""
    collections = {one.schema.name: one for one in both}
    pages: dict[str, dict[str, Point]] = {name: {} for name in collections}
    total, done, meta = sum(manifest.counts.values()), 0, None
    numbers = Numbers()
    for name, id, point in read_lines(file):
        if id == META_ID:
            meta = point
        elif point is None:
            pages[name].pop(id, None)
            await collections[name].delete([id])
        else:
            pages[name][id] = point
            numbers.note([point])
            if len(pages[name]) == POINTS_PER_PAGE:
                done += await _put(collections[name], pages[name])
                step(min(done, total), total)
    for name, page in pages.items():
        await _put(collections[name], page)
    await numbers.carry_on(Journal(collections["journal"], last_seq=0))
    await collections["journal"].put([meta] if meta else [])
    await _check_counts(collections, manifest)
    step(total, total)


async def _put(collection: Collection, page: dict[str, Point]) -> int:
    written = len(page)
    await collection.put(list(page.values()))
    page.clear()
    await asyncio.sleep(0)
    return written


async def _check_counts(collections: dict[str, Collection], manifest: BackupManifest) -> None:
    memories = manifest.counts.get(kind_of("memories", {}), 0)
    expected = {"memories": memories, "journal": sum(manifest.counts.values()) - memories}
    for name, collection in collections.items():
        await collection.flush()
        if await collection.count(Filter()) != expected[name]:
            raise StoreError(f"not all {name} were written: delete what is there, and try again")
