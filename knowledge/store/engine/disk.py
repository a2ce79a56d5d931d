"""Checks for free disk space before the engine writes.

The engine writes through memory maps into sparse files: if the disk is full, the system kills the
whole process (SIGBUS) instead of raising an error.
"""

from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage

from souffleur.errors import StoreError

MB = 1 << 20
BYTES_TO_OPEN = 100 * MB
"""Space for two new collections on file systems without sparse files, and for some writes."""
BYTES_TO_WRITE = 32 * MB
"""Space for one more segment of the log."""


def free_bytes(path: Path) -> int:
    """Return the free bytes on the disk of a path. Raises OSError if the path does not exist."""
    return disk_usage(path).free


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
