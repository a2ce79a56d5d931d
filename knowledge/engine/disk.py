"""The disk: enough room before the engine writes.

The engine writes through memory maps into sparse files: on a full disk the system kills the whole
process (SIGBUS) instead of raising an error.
"""

from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage

from souffleur.errors import StoreError

MB = 1 << 20
BYTES_TO_OPEN = 100 * MB
"""Two new collections, where sparse files take their whole size, and some room to write."""
BYTES_TO_WRITE = 32 * MB
"""One more segment of the log."""


def free_bytes(path: Path) -> int:
    """Return the free bytes of the disk that holds a path. Raises OSError if there is no such."""
    return disk_usage(path).free


def need(least: int, path: Path, room: Callable[[Path], int]) -> None:
    """Raise StoreError unless there is room for so many bytes where the path is."""
    try:
        free = room(path)
    except OSError as error:
        raise StoreError(
            f"The store at '{path.parent}' is out of reach ({error.strerror}): bring its folder "
            "back, and open it again."
        ) from error
    if free < least:
        raise StoreError(
            f"The disk of '{path.parent}' has {free // MB} MB left and {least // MB} MB are "
            "needed: make room. What was accepted is kept."
        )
