"""Temporary folders for stores."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MEMORY_FOLDER = Path("/dev/shm")
MIN_FREE_BYTES = 2 << 30
"""Free space that is required in memory: a dozen fresh stores take half of it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Make a temporary folder; if there is room in memory, so that no disk slows the store."""
    enough = (
        os.access(MEMORY_FOLDER, os.W_OK) and shutil.disk_usage(MEMORY_FOLDER).free > MIN_FREE_BYTES
    )
    with TemporaryDirectory(prefix="souffleur-", dir=MEMORY_FOLDER if enough else None) as folder:
        yield Path(folder)
