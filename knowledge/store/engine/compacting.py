"""Compacting: the files of a collection are rewritten, so that nothing deleted is left in them.

The engine marks what is deleted or replaced and keeps its bytes, in segments and log, for as long
as it likes. A compaction copies what is there to fresh files. They take the place of the old ones
by renaming, in two steps: whoever is killed between them has the second done on the next opening.
"""

import shutil
from pathlib import Path

from souffleur.knowledge.store.engine import checksums

WHOLE = ".compacted"
"""Suffix of the fresh folder when all is in it."""


def making_folder(path: Path) -> Path:
    """Return the folder in which the fresh copy of a collection's folder is made, emptied."""
    making = path.parent / ".compacting"
    shutil.rmtree(making / path.name, ignore_errors=True)  # of a compaction that was killed
    return making


def take_place(path: Path) -> None:
    """Put the fresh copy, which is closed, in the place of a collection's closed folder."""
    fresh = path.parent / ".compacting" / path.name
    checksums.sync_files(fresh)
    fresh.rename(whole_folder(path))
    checksums.sync(path.parent)
    finish(path)


def finish(path: Path) -> None:
    """Finish what `take_place` began; remove what was never whole. Idempotent. Raises OSError."""
    whole = whole_folder(path)
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


def whole_folder(path: Path) -> Path:
    """Return where the fresh copy of a collection's folder is when all is in it."""
    return path.with_name(path.name + WHOLE)
