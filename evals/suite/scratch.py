"""Folders for stores that are thrown away."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY_FOLDER = Path("/dev/shm")
MIN_FREE_BYTES = 2 << 30
"""Bytes: a dozen fresh stores take half of it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A fresh folder, in memory where there is room: such a store need not wait for a disk."""
    enough = (
        os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > MIN_FREE_BYTES
    )
    with TemporaryDirectory(prefix="souffleur-", dir=MEMORY_FOLDER if enough else None) as folder:
        yield Path(folder)
