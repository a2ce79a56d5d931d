"""Files of a mirror: their folder, and writes that never leave half a file."""

import json
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from souffleur.errors import FileError

RECORD = ".mirror.json"
"""Name of the file with the last written entries; it shows which entries were removed by hand."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
"""Names that Windows keeps for devices."""


class WrittenEntry(NamedTuple):
    """An entry of the last write."""

    mark: str
    """The digest of its words."""
    archived: bool = False


Written = Mapping[str, Mapping[str, WrittenEntry]]
"""The entries of the last write, by file and id."""


FileStamp = tuple[int, int, int]
"""Time in nanoseconds, size in bytes and inode of a file; a write changes the stamp."""


def folder_name(user_id: str) -> str:
    """Return a folder name, valid in any file system and different for each user.

    >>> folder_name("ann"), folder_name("../Ann"), folder_name("con")
    ('ann', 'Ann-eb82557102', 'con-1143da2bc5')
    """
    if _PLAIN.fullmatch(user_id) and not _RESERVED.fullmatch(user_id):
        return user_id
    slug = re.sub(r"[^A-Za-z0-9_-]+", "", user_id)[:40] or "user"
    return f"{slug}-{sha256(user_id.encode()).hexdigest()[:10]}"


def read_text(file: Path) -> str | None:
    """Return the text of a file; `None` if it is missing or empty. Raises FileError."""
    try:
        return file.read_text("utf-8-sig") or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{error.reason} at {error.start}"
        raise FileError(
            f"'{file}' cannot be read as text ({why}): save it as UTF-8. Nothing was changed."
        ) from error


def stamp_of(file: Path) -> FileStamp | None:
    """Return the stamp of a file; `None` if it is missing."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def replace(file: Path, text: str, *, keep: bool = True) -> None:
    """Write a whole file; with `keep`, the former file is copied to `.bak` first.

    A process killed at any moment leaves the former file or the new one. Raises FileError.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if keep and file.exists():
            _write(file.with_name(f"{file.name}.bak"), file.read_bytes())
        _write(file, text.encode("utf-8"))
    except OSError as error:
        raise FileError(f"'{file}' cannot be written: {error.strerror}") from error


def read_record(folder: Path) -> Written:
    """Return the entries last written into a folder; empty if the record cannot be read."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
        return {
            name: {id: WrittenEntry(mark, archived) for id, (mark, archived) in entries.items()}
            for name, entries in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def write_record(folder: Path, written: Written) -> None:
    """Record the entries written into a folder. Raises FileError."""
    replace(folder / RECORD, json.dumps(written), keep=False)


def _write(file: Path, data: bytes) -> None:
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)  # left by a killed process, or a link of another user
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(file)
