"""The engine's files on the disk, without the engine: log, folder lock, free space, compaction.

A flush of Qdrant Edge syncs about 130 files, one after the other, and holds the GIL all the time.
The log alone restores all writes since the last flush, and Python's `fsync` releases the GIL.

The engine writes through memory maps into sparse files: if the disk is full, the system kills the
whole process (SIGBUS) instead of raising an error. So free space is checked before each write.

The engine only marks points as deleted or replaced; their bytes stay in segments and log for an
unlimited time. A compaction copies the points to new files and renames these to replace the old
files, in two steps. After a kill between the steps, the next opening does the second step.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
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
"""Whether `fsync` also writes changes in memory maps; on other systems the engine must flush."""
_ATTEMPTS = 10
"""Maximum number of attempts to list the log, if the engine renames a file of it meanwhile."""


def sync_log(path: Path) -> None:
    """Write the log of the collection in a folder to the disk. Raises OSError."""
    log = path / "wal"
    for attempt in range(_ATTEMPTS):
        try:
            for file in (*log.iterdir(), log):
                checksums.sync(file)
        except FileNotFoundError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


def sync_data(path: Path) -> None:
    """Write all other files to the disk, so that the engine's next flush is short."""
    # Each system call releases the GIL and acquires it again. The engine does the same about
    # twenty times for each turn that is written meanwhile. `Path.rglob` would make 600 more calls.
    for folder, _, names in os.walk(path / "segments"):
        try:
            for name in names:
                checksums.sync(Path(folder, name))
        except OSError:  # the next flush reports the error
            return


LOCK_NAME = "owner.lock"


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder; create a missing folder, accessible only to its owner.

    The operating system releases the lock at the end of the process, also after a crash. A forked
    child does not own it. Raises StoreBusyError with the lock's owner if another process holds the
    lock, StoreError if the folder is not writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder / LOCK_NAME).open("a+", encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"The folder '{folder}' cannot be used for a store ({error.strerror}): make it "
            "writable, or set SOUFFLEUR_PATH to another one."
        ) from error
    with file:  # closed but not unlocked, or a forked child would release the parent's lock
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
        f"The store at '{folder}' is in use by {who}; close it, or let several programs reach it: "
        "by `souffleur serve` and `souffleur.client`, or on a Qdrant server (SOUFFLEUR_QDRANT_URL)."
    )


MB = 1 << 20
BYTES_TO_OPEN = 100 * MB
"""Required free bytes to open a store: two collections without sparse files, and some writes."""
BYTES_TO_WRITE = 32 * MB
"""Required free bytes to write: a new segment of the log."""


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
"""Suffix of the folder of a complete new copy."""


def compacting_folder(path: Path) -> Path:
    """Return the folder that will contain a new copy of a collection; delete an old copy in it."""
    making = path.parent / ".compacting"
    shutil.rmtree(making / path.name, ignore_errors=True)  # from a compaction that was killed
    return making


def replace_by_compacted(path: Path) -> None:
    """Replace a collection's folder by its new copy; both must be closed. Raises OSError."""
    fresh = path.parent / ".compacting" / path.name
    checksums.sync_files(fresh)
    fresh.rename(compacted_folder(path))
    checksums.sync(path.parent)
    finish_compaction(path)


def finish_compaction(path: Path) -> None:
    """Finish an interrupted replacement; delete an incomplete copy. Idempotent. Raises OSError."""
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
    """Return the path of the complete new copy of a collection's folder."""
    return path.with_name(path.name + WHOLE)
