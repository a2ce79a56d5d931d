"""The lock on a store's folder: one owner at a time, locked before the engine touches a file.

The engine has its own lock, but changes files before it checks it: an attempt to open that it
refuses has already damaged the store for the process that has it open.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import portalocker

from souffleur.errors import StoreBusyError, StoreError

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
