"""Backup: saves a whole store to a file, and restores the file to an empty place.

The file is a zip of all records with their vectors, so a restore needs no embedder:

    points.jsonl    a line for each record, see `lines`
    manifest.json   the settings of the store, the numbers of records, and a checksum
"""

import asyncio
import hashlib
import io
import json
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from pydantic import AwareDatetime, ValidationError

from souffleur.errors import FileError, NotFoundError, StoreError
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.store import opening
from souffleur.knowledge.store.codecs import kind_of
from souffleur.knowledge.store.engine.checksums import move_collection
from souffleur.knowledge.store.engine.collection import (
    POINTS_PER_PAGE,
    Collection,
    Filter,
    Payload,
    Point,
)
from souffleur.knowledge.store.engine.files import locked_folder
from souffleur.knowledge.store.labels import INDEXES
from souffleur.knowledge.store.ledger import META_ID, Journal
from souffleur.knowledge.store.lines import Line, decode_line, whole_file
from souffleur.knowledge.store.opening import StoreLocation, check_empty, open_both
from souffleur.knowledge.store.records import Numbers, Part, walk
from souffleur.knowledge.store.upgrade import Progress, check_schema, no_progress

FORMAT = 1
"""Version of the file's format. `made_with` has the version of the records' schema."""
POINTS, MANIFEST = "points.jsonl", "manifest.json"
MAX_LINE = 128 << 20
"""Maximum bytes of a line: a turn has two messages, and the proxy accepts replies of 64 MB."""
MAX_MANIFEST = 1 << 20
"""Maximum bytes of the manifest."""
MAX_DIMENSION = 65_536
"""The maximum dimension that the engine accepts."""

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    TypeError,
    ValueError,  # also from JSON, base64 and UTF-8
    NotImplementedError,
    RuntimeError,
    AttributeError,
)
"""The errors that reading a damaged file may raise."""


class BackupManifest(Frozen):
    """The manifest of a backup: settings, numbers of records, size and checksum."""

    format: int = FORMAT
    """The version of the file's format."""
    made_at: AwareDatetime
    """The time of the backup."""
    made_by: str
    """The version of Souffleur that made the backup."""
    made_with: dict[str, Any]
    """The settings of the store: schema, embedder, dimension, policy."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, session, …"""
    size: int
    """The size of `points.jsonl` in bytes, uncompressed."""
    sha256: str
    """The checksum of `points.jsonl`."""

    @property
    def dimension(self) -> int:
        """The dimension of the dense vectors."""
        dimension: int = self.made_with["dimension"]
        return dimension


class _Contents:
    """The kinds of the records in `points.jsonl`, with its size in bytes and its checksum."""

    def __init__(self) -> None:
        self.size = 0
        self._kinds: dict[tuple[str, str], str] = {}
        self._sum = hashlib.sha256()

    def note_bytes(self, lines: bytes) -> None:
        """Add bytes of the file to size and checksum."""
        self._sum.update(lines)
        self.size += len(lines)

    def note(self, collection: str, id: str, payload: Payload | None) -> None:
        """Add a record, or remove a deleted record. Raises KeyError if it was never added."""
        if payload is None:
            del self._kinds[collection, id]
        else:
            self._kinds[collection, id] = kind_of(collection, payload)

    @property
    def summary(self) -> dict[str, Any]:
        """The fields `counts`, `size` and `sha256` of the manifest."""
        counts = dict(sorted(Counter(self._kinds.values()).items()))
        return {"counts": counts, "size": self.size, "sha256": self._sum.hexdigest()}


async def save(
    memories: Collection,
    journal: Journal,
    file: Path,
    *,
    now: datetime,
    step: Progress = no_progress,
) -> BackupManifest:
    """Save a store to a file. The store may be used meanwhile, see `records.walk`.

    The file appears after it was read back. Raises FileError, NotFoundError if the store is new.
    """
    collections = (journal.collection, memories)
    made_with = await journal.meta()
    if made_with is None:
        raise NotFoundError("there is nothing to back up: the store is empty")
    total, done = sum([await one.count(Filter()) for one in collections]), 0
    with whole_file(file, "backup", _is_backup) as part:
        contents = _Contents()
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(POINTS, "w", force_zip64=True) as points:
                async for some in walk(collections, journal, Filter(), vectors=True):
                    await asyncio.to_thread(_add, points, contents, some)
                    done += len(some.points) - len(some.again)
                    step(done, max(done, total))
            manifest = BackupManifest(
                made_at=now,
                made_by=version("souffleur-memory"),
                made_with=made_with,
                **contents.summary,
            )
            archive.writestr(MANIFEST, manifest.model_dump_json(indent=2))
        await asyncio.to_thread(verify, part)
    return manifest


def _add(points: IO[bytes], contents: _Contents, part: Part) -> None:
    lines = part.lines
    points.write(lines)
    contents.note_bytes(lines)
    for one in part.points:
        contents.note(part.collection, one.id, one.payload)
    for id in part.gone:
        contents.note(part.collection, id, None)


async def save_store(
    location: StoreLocation, file: Path, *, now: datetime, step: Progress = no_progress
) -> BackupManifest:
    """Save the store at a location. No other process may have it open.

    Raises NotFoundError if there is no store, StoreBusyError if it is in use, FileError.
    """
    dimension = await opening.stored_dimension(location)
    if dimension is None:
        raise NotFoundError(f"there is no store at {location}: set SOUFFLEUR_PATH to the one meant")
    async with AsyncExitStack() as closing:
        memories, journal = await opening.open_collections(location, dimension, closing)
        return await save(memories, Journal(journal, last_seq=0), file, now=now, step=step)


async def restore(
    file: Path, target: StoreLocation, *, step: Progress = no_progress
) -> BackupManifest:
    """Restore a backup to an empty place. The whole file is checked before the first write.

    In a folder, the store appears only when it is complete. Raises FileError if the file is
    damaged, StoreMismatchError if `target` is not empty or a newer version made the backup.
    """
    manifest = await asyncio.to_thread(verify, file)
    check_schema(manifest.made_with.get("schema"), f"{file}, by Souffleur {manifest.made_by},")
    folder = None if target.url else target.folder
    with locked_folder(folder) if folder else nullcontext():
        stored = await opening.stored_dimension(target)
        if stored is not None:
            async with AsyncExitStack() as closing:
                await check_empty(*await open_both(target, stored, closing), target)
        if folder:
            await _fill_folder(folder, target, file, manifest, step)
        else:
            if stored not in (None, manifest.dimension):  # from another embedder
                await opening.remove_collections(target)
            await _fill(target, file, manifest, step)
    return manifest


async def _fill_folder(
    folder: Path, target: StoreLocation, file: Path, manifest: BackupManifest, step: Progress
) -> None:
    """Write all records to a temporary folder beside the store's folder, and move them there."""
    making = folder / ".restoring"
    shutil.rmtree(making, ignore_errors=True)  # from a restore that was killed
    try:
        await _fill(replace(target, folder=making), file, manifest, step)
        for name in INDEXES:
            move_collection(making / name, folder / name)
    finally:
        shutil.rmtree(making, ignore_errors=True)


async def _fill(
    target: StoreLocation, file: Path, manifest: BackupManifest, step: Progress
) -> None:
    """Write all records unchanged; the metadata record comes last and makes the store valid."""
    async with AsyncExitStack() as closing:
        both = await open_both(target, manifest.dimension, closing)
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


def verify(file: Path) -> BackupManifest:
    """Read a whole backup and return its manifest.

    Raises FileError if the backup is damaged or of another version, NotFoundError without a file.
    """
    manifest, contents = _read_manifest(file), _Contents()
    with _opened(file) as archive:
        if archive.getinfo(POINTS).file_size != manifest.size:
            raise _damaged(file)
        for line in _lines(archive):
            contents.note_bytes(line)
            collection, id, point = decode_line(line, manifest.dimension)
            contents.note(collection, id, None if point is None else point.payload)
    found = contents.summary
    if any(getattr(manifest, name) != value for name, value in found.items()):
        raise _damaged(file)
    return manifest


def read_lines(file: Path) -> Iterator[Line]:
    """Yield the lines of a backup in order. Raises FileError if it is damaged."""
    with _opened(file) as archive:
        yield from map(decode_line, _lines(archive))


def _lines(archive: zipfile.ZipFile) -> Iterator[bytes]:
    """Yield the lines of all records. Raises ValueError if a line is too long."""
    packed: Any = archive.open(POINTS)
    with io.BufferedReader(packed) as lines:
        while line := lines.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise ValueError("the line is too long")
            yield line


def _read_manifest(file: Path) -> BackupManifest:
    with _opened(file) as archive:
        with archive.open(MANIFEST) as manifest_file:
            fields = json.loads(manifest_file.read(MAX_MANIFEST))
        found = fields["format"]
    if found != FORMAT:
        raise FileError(
            f"{file} is a backup of format {found} and this version reads {FORMAT}: restore it "
            "with the version of Souffleur that made it, or with a later one"
        )
    try:
        manifest = BackupManifest.model_validate(fields)
    except ValidationError:
        raise _damaged(file) from None
    dimension = manifest.made_with.get("dimension")
    if not isinstance(dimension, int) or not 0 < dimension <= MAX_DIMENSION:
        raise _damaged(file)
    return manifest


@contextmanager
def _opened(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        begun = file.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"there is no backup at {file}") from None
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror}") from None
    try:
        with begun, zipfile.ZipFile(begun) as archive:
            yield archive
    except _DAMAGE as error:
        raise _damaged(file) from error


def _damaged(file: Path) -> FileError:
    return FileError(f"{file} is no whole backup, so nothing was done: take another one")


def _is_backup(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return {POINTS, MANIFEST} <= set(archive.namelist())
    except zipfile.BadZipFile:
        return False
