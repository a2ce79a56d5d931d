"""The engine's files on the disk, without the engine: log, folder lock, free space, compaction.

A flush of Qdrant Edge syncs some 130 files in turn and holds the GIL meanwhile, as long as the disk
takes. Its log alone brings back what was written since; `fsync` frees the GIL.

The engine writes through memory maps into sparse files: if the disk is full, the system kills the
whole process (SIGBUS) instead of raising an error. So free space is checked before each write.

It only marks what is deleted or replaced, and keeps the bytes in segments and log for as long as it
likes. A compaction copies the points to fresh files, which take the place of the old files by
renaming, in two steps: after a kill between them, the next opening does the second.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import portalocker

from souffleur.errors import StoreBusyError, StoreError
from souffleur.knowledge.store.engine import checksums

Sync = Callable[[Path], None]
"""A function that writes the log of the collection in a folder to the disk. Raises OSError."""

SYNCS_MAPS = sys.platform == "linux"
"""Whether `fsync` writes what was changed through a memory map; elsewhere the engine must flush."""
_ATTEMPTS = 10
"""How often the log is listed anew if the engine has renamed a part of it meanwhile."""


def sync_log(path: Path) -> None:
    """Write the log of the collection in a folder to the disk. Raises OSError."""
    log = path / "wal"
    for attempt in range(_ATTEMPTS):
        try:
            _sync([*log.iterdir(), log])
        except FileNotFoundError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def sync_data(path: Path) -> None:
    """Write all other files, so that the engine's own flush finds little to wait for."""
    # Each call of the system gives the GIL away and takes it again, and so does the engine, some
    # twenty times for each turn that is written meanwhile: `Path.rglob` makes 600 more of them.
    for folder, _, names in os.walk(path / "segments"):
        try:
            _sync(Path(folder, name) for name in names)
        except OSError:  # the flush that follows tells
            return


def _sync(files: Iterable[Path]) -> None:
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


LOCK_NAME = "owner.lock"


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder; create it, for its owner alone, if it does not exist.

    The system releases the lock when the process ends, however it ends; a forked child does not own
    it. Raises StoreBusyError, which names the owner, if it is held; StoreError if the folder is not
    writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / LOCK_NAME).open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"The folder '{folder}' cannot be used for a store ({error.strerror}): make it "
            "writable, or set SOUFFLEUR_PATH to another one."
        ) from error
    with file:  # closed and not unlocked: a forked child that lets go must not free its parent's
        try:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException as error:
            raise StoreBusyError(_busy(folder)) from error
        _sign(file)
        yield


def _sign(file: IO[str]) -> None:
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()


def _busy(folder: Path) -> str:
    who, pid = "another process", 0
    with suppress(OSError, ValueError):
        pid = int((folder / LOCK_NAME).read_text(encoding="utf-8"))
        since = datetime.fromtimestamp((folder / LOCK_NAME).stat().st_mtime, UTC)
        who = f"process {pid} since {since:%Y-%m-%d %H:%M} UTC"
    if pid == os.getpid():
        return (
            f"The store at '{folder}' is open in this process already: use that Souffleur, or "
            "close it first (`await memory.close()`)."
        )
    return (
        f"The store at '{folder}' is in use by {who}; close it, or share memories between "
        "processes with a Qdrant server: set SOUFFLEUR_QDRANT_URL."
    )


MB = 1 << 20
BYTES_TO_OPEN = 100 * MB
"""Space for two new collections on file systems without sparse files, and for some writes."""
BYTES_TO_WRITE = 32 * MB
"""Space for one more segment of the log."""


def free_bytes(path: Path) -> int:
    """Return the free bytes on the disk of a path. Raises OSError if the path does not exist."""
    return shutil.disk_usage(path).free


def need(least: int, path: Path, room: Callable[[Path], int]) -> None:
    """Raise StoreError unless at least `least` bytes are free on the disk of the path."""
    try:
        free = room(path)
    except OSError as error:
        raise StoreError(
            f"The store at '{path.parent}' is out of reach ({error.strerror}): restore its folder, "
            "and open it again."
        ) from error
    if free < least:
        raise StoreError(
            f"The disk of '{path.parent}' has {free // MB} MB left and {least // MB} MB are "
            "needed: make room. What was accepted is kept."
        )


WHOLE = ".compacted"
"""Suffix of the fresh folder when all is in it."""


def compacting_folder(path: Path) -> Path:
    """Return the folder in which the fresh copy of a collection's folder is made, emptied."""
    making = path.parent / ".compacting"
    shutil.rmtree(making / path.name, ignore_errors=True)  # of a compaction that was killed
    return making


def replace_by_compacted(path: Path) -> None:
    """Put the fresh copy, which is closed, in the place of a collection's closed folder."""
    fresh = path.parent / ".compacting" / path.name
    checksums.sync_files(fresh)
    fresh.rename(compacted_folder(path))
    checksums.sync(path.parent)
    finish_compaction(path)


def finish_compaction(path: Path) -> None:
    """Finish a replacement that was begun; remove a copy that was never whole. Raises OSError.

    Idempotent.
    """
    whole = compacted_folder(path)
    if whole.exists():
        checksums.drop_sums(path)
        shutil.rmtree(path, ignore_errors=True)
        whole.rename(path)
        checksums.sync(path.parent)
    making = path.parent / ".compacting"
    if making.exists():
        shutil.rmtree(making / path.name, ignore_errors=True)
        if not any(making.iterdir()):
            making.rmdir()


def compacted_folder(path: Path) -> Path:
    """Return where the fresh copy of a collection's folder is when all is in it."""
    return path.with_name(path.name + WHOLE)
