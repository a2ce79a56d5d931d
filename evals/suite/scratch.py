"""Folders for stores that are thrown away."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

IN_MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes: a dozen fresh stores take half of it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A fresh folder, in memory where there is room: such a store need not wait for a disk."""
    enough = os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM
    with TemporaryDirectory(prefix="souffleur-", dir=IN_MEMORY if enough else None) as folder:
        yield Path(folder)
