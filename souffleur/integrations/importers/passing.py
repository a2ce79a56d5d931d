"""Files that pass through: they hold what people said, so they are below the store's folder.

Whoever is killed leaves such a file; whoever makes the next one, or serves the store, removes it.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from souffleur.errors import SouffleurError
from souffleur.knowledge.store.engine.files import locked_folder

FOLDER = "passing"
"""Name of the folder, below that of the store."""


@contextmanager
def passing_file(store: Path, name: str) -> Iterator[Path]:
    """Yield where a file may be written, which is gone afterwards.

    Raises OSError if there is no room.
    """
    remove_left(store)
    folder = store / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(dir=folder))
    try:
        with locked_folder(made):
            yield made / name
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_left(store: Path) -> None:
    """Remove what processes left that were killed; what one still uses stays."""
    for folder in (store / FOLDER).glob("*"):
        try:
            with locked_folder(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except SouffleurError:  # in use, or not ours to remove
            continue
