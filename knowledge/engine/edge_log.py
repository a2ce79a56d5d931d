"""The engine's files on the disk, without the engine.

A flush of Qdrant Edge syncs some 200 files in turn and holds the GIL meanwhile: 20 to 60 ms, or
as long as the disk takes. Its log alone brings back what was written since; `fsync` frees the GIL.
"""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

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
