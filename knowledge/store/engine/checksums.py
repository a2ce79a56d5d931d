"""Checksums of a collection's files, to detect damage to a closed collection.

The engine has no checksums for most of its files: zeros in a file lose or change records, or crash
the process. Therefore closing writes a checksum of each file, and opening compares the checksums
before the engine reads the files. There are no checksums while a collection is open, and after its
process was killed.
"""

import errno
import json
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from souffleur.errors import StoreError

SUFFIX = ".sums"
"""Suffix of the file with the checksums, which is next to the collection's folder."""
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_NAMED = 3
"""Maximum number of files in an error message."""

Sums = dict[str, tuple[int, int]]
"""The size in bytes and CRC-32 of each file, by its path within the folder."""


def sums_file(path: Path) -> Path:
    """Return the file with the checksums of a collection's folder."""
    return path.with_name(path.name + SUFFIX)


def note_sums(path: Path) -> None:
    """Write the checksums of all files in a folder, for `check_sums`. Raises OSError.

    The files are synced before their checksums are written, so that both agree after a power cut.
    """
    files = sync_files(path)
    sums = {file.relative_to(path).as_posix(): _sum(file) for file in files}
    new = path.with_name(path.name + ".new" + SUFFIX)
    with new.open("w", encoding="utf-8") as out:
        json.dump(sums, out)
        out.flush()
        os.fsync(out.fileno())
    new.replace(sums_file(path))
    sync(path.parent)


def sync_files(path: Path) -> list[Path]:
    """Sync all files in a folder to the disk, and return them in order. Raises OSError."""
    files = sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        sync(file)
    return files


def check_sums(path: Path) -> None:
    """Compare the files of a folder with their checksums, if the folder has checksums.

    Raises StoreError with the names of differing files, OSError if a file cannot be read.
    """
    noted = sums_file(path)
    try:
        sums = json.loads(noted.read_bytes())
        differ = [name for name, (size, crc) in sums.items() if not _is(path / name, size, crc)]
    except FileNotFoundError:
        return
    except (ValueError, TypeError, AttributeError):
        differ = [noted.name]
    if differ:
        names = ", ".join(differ[:_NAMED]) + (" …" if len(differ) > _NAMED else "")
        raise StoreError(
            f"The store at '{path.parent}' was damaged while it was closed: {len(differ)} of the "
            f"files of '{path.name}' are not as they were left ({names}). Put a backup in its "
            f"place; or delete '{noted}' to open what is left, some of which may be gone or wrong."
        )


def drop_sums(path: Path) -> None:
    """Delete the checksums of a folder whose files are about to change. Raises OSError."""
    with suppress(FileNotFoundError):
        sums_file(path).unlink()
        sync(path.parent)


def move_collection(old: Path, new: Path) -> None:
    """Move the folder of a closed collection, with its checksums, to replace another folder."""
    drop_sums(new)
    shutil.rmtree(new, ignore_errors=True)
    old.rename(new)
    sums_file(old).rename(sums_file(new))
    sync(new.parent)


def data_blocks(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and bytes of each block of a file; skips blocks of zeros.

    It does not read holes in sparse files, as the engine's files are large and nearly empty.
    """
    with file.open("rb", buffering=0) as data:
        size, start = os.fstat(data.fileno()).st_size, 0
        while (start := _skip_hole(data.fileno(), start, size)) < size:
            data.seek(start)
            block = data.read(_BLOCK)
            if not _ZEROS.startswith(block):
                yield start, block
            start += _BLOCK


def _sum(file: Path) -> tuple[int, int]:
    crc = 0
    for start, block in data_blocks(file):
        crc = zlib.crc32(block, zlib.crc32(start.to_bytes(8, "big"), crc))
    return file.stat().st_size, crc


def _is(file: Path, size: int, crc: int) -> bool:
    return file.is_file() and file.stat().st_size == size and _sum(file)[1] == crc


def _skip_hole(descriptor: int, start: int, size: int) -> int:
    """Return the offset of the next block with data on the disk; `size` at the end of the data."""
    if start >= size or not hasattr(os, "SEEK_DATA"):
        return start
    try:
        found = os.lseek(descriptor, start, os.SEEK_DATA)
    except OSError as error:  # ENXIO: no more data; other errors: unsupported by the file system
        return size if error.errno == errno.ENXIO else start
    return found - found % _BLOCK


def sync(path: Path) -> None:
    """Sync a file, or the list of files in a folder, to the disk. Does nothing outside POSIX."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
