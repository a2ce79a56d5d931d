"""A backup file: a zip of all points of a store as lines of JSON, and a manifest.

    points.jsonl    {"in": "memories", "id": …, "payload": {…}, "dense": …, "lexical": …, …}
    manifest.json   what the store was made with, what is in the file, and its checksum

Vectors are base64 of little-endian 32-bit numbers, as the engine stores them. A later line of a
point replaces the earlier one; a line without payload means that the point was deleted.
"""

import base64
import hashlib
import io
import json
import math
import os
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from pydantic import AwareDatetime, ValidationError

from souffleur.errors import FileError, NotFoundError
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.store.engine.collection import Payload, Point, Sparse

FORMAT = 1
"""Version of the file's format; the schema of the records has its own, in `made_with`."""
POINTS, MANIFEST = "points.jsonl", "manifest.json"
MAX_LINE = 128 << 20
"""Bytes of a line: that of a turn has two messages, and the proxy takes replies of 64 MB."""
MAX_MANIFEST = 1 << 20
"""Bytes of the manifest."""
MAX_DIMENSION = 65_536
"""The largest dimension that the engine takes."""

Line = tuple[str, str, Point | None]
"""The collection, the id of a point, and the point; `None` if it was deleted."""

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    TypeError,
    ValueError,  # also of JSON, base64 and UTF-8
    NotImplementedError,
    RuntimeError,
    AttributeError,
)
"""What reading a damaged file may raise."""


class BackupManifest(Frozen):
    """What is in a backup."""

    format: int = FORMAT
    """The version of the file's format."""
    made_at: AwareDatetime
    """When it was made."""
    made_by: str
    """The version of Souffleur that made it."""
    made_with: dict[str, Any]
    """What the store was made with: schema, embedder, dimension, policy."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, session, …"""
    size: int
    """Bytes of `points.jsonl`, unpacked."""
    sha256: str
    """The checksum of `points.jsonl`."""

    @property
    def dimension(self) -> int:
        """The dimension of the dense vectors."""
        dimension: int = self.made_with["dimension"]
        return dimension


class BackupWriter:
    """Writes a backup beside its place, where it is moved when it is whole and was read back."""

    def __init__(self, file: Path) -> None:
        """Begin a backup at `file`. Raises FileError if something else is there."""
        if not file.parent.is_dir():
            raise FileError(f"there is no folder {file.parent}: make it, or name another one")
        if file.exists() and not _is_backup(file):
            raise FileError(f"{file} exists and is no backup: name another file")
        self._file = file
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
        self._part = Path(name)
        self._out = os.fdopen(handle, "wb")  # mkstemp made it readable by its owner alone
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED)
        self._points: IO[bytes] = self._zip.open(POINTS, "w", force_zip64=True)
        self._sum = hashlib.sha256()
        self._size = 0
        self._kinds: dict[tuple[str, str], str] = {}

    def __enter__(self) -> "BackupWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            # Closing writes, too: where that fails, what is raised already says why.
            with suppress(OSError), closing(self._out), closing(self._zip):
                self._points.close()
        finally:
            self._part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{self._file} cannot be written: {error.strerror}") from None

    def write(self, collection: str, points: Sequence[Point], gone: Sequence[str] = ()) -> None:
        """Write points of a collection, and the ids of those that were deleted meanwhile."""
        lines = [encode_line(collection, point.id, point) for point in points]
        lines += [encode_line(collection, id, None) for id in gone]
        text = b"".join(line + b"\n" for line in lines)
        self._points.write(text)
        self._sum.update(text)
        self._size += len(text)
        self._kinds |= {(collection, one.id): kind_of(collection, one.payload) for one in points}
        for id in gone:
            self._kinds.pop((collection, id), None)

    def finish(self, made_with: Payload, now: datetime) -> BackupManifest:
        """Write the manifest, read the whole file back, and move it to its place."""
        self._points.close()
        manifest = BackupManifest(
            made_at=now,
            made_by=version("souffleur"),
            made_with=made_with,
            counts=dict(sorted(Counter(self._kinds.values()).items())),
            size=self._size,
            sha256=self._sum.hexdigest(),
        )
        self._zip.writestr(MANIFEST, manifest.model_dump_json(indent=2))
        self._zip.close()
        self._out.flush()
        os.fsync(self._out.fileno())
        verify(self._part)
        self._part.replace(self._file)
        sync_folder(self._file.parent)
        return manifest


def verify(file: Path) -> BackupManifest:
    """Read a whole backup and return its manifest.

    Raises FileError if it is damaged or of another version, NotFoundError if there is none.
    """
    manifest = _read_manifest(file)
    kinds: dict[tuple[str, str], str] = {}
    seen, size = hashlib.sha256(), 0
    with _reading(file) as archive:
        if archive.getinfo(POINTS).file_size != manifest.size:
            raise _damaged(file)
        for line in _lines(archive):
            seen.update(line)
            size += len(line)
            collection, id, point = decode_line(line, manifest.dimension)
            if point is None:
                del kinds[collection, id]
            else:
                kinds[collection, id] = kind_of(collection, point.payload)
    if (size, seen.hexdigest()) != (manifest.size, manifest.sha256):
        raise _damaged(file)
    if dict(Counter(kinds.values())) != manifest.counts:
        raise _damaged(file)
    return manifest


def read_lines(file: Path) -> Iterator[Line]:
    """Yield the lines of a backup in order. Raises FileError if it is damaged."""
    with _reading(file) as archive:
        yield from map(decode_line, _lines(archive))


def _lines(archive: zipfile.ZipFile) -> Iterator[bytes]:
    """Yield the lines of all points. Raises ValueError for one that is too long."""
    packed: Any = archive.open(POINTS)
    with io.BufferedReader(packed) as lines:
        while line := lines.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise ValueError("this is no line")
            yield line


def kind_of(collection: str, payload: Payload) -> str:
    """Return what a record is: `memory`, or its type in the journal.

    >>> kind_of("memories", {"type": "odd"}), kind_of("journal", {"type": "turn"})
    ('memory', 'turn')
    """
    return "memory" if collection == "memories" else str(payload.get("type"))


def encode_line(collection: str, id: str, point: Point | None) -> bytes:
    """Return one line, without its end."""
    line: dict[str, Any] = {"in": collection, "id": id}
    if point is not None:
        line["payload"] = point.payload
        line |= {"dense": _numbers(point.dense)} if point.dense is not None else {}
        line |= {"cues": [_numbers(cue) for cue in point.cues]} if point.cues else {}
        words = {"lexical": point.lexical, "cue_words": point.cue_words}
        line |= {name: _words(sparse) for name, sparse in words.items() if sparse is not None}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def decode_line(line: bytes, dimension: int | None = None) -> Line:
    """Return what a line says. Raises ValueError for dense vectors of another dimension.

    >>> point = Point("p", {"text": "猫"}, (0.5, -0.25), Sparse((7,), (1.5,)), ((1.0, 0.0),))
    >>> decode_line(encode_line("memories", "p", point)) == ("memories", "p", point)
    True
    >>> decode_line(encode_line("journal", "p", None))
    ('journal', 'p', None)
    """
    fields = json.loads(line)
    collection, id = str(fields["in"]), str(fields["id"])
    if "payload" not in fields:
        return collection, id, None
    point = Point(
        id,
        dict(fields["payload"]),
        _dense(fields["dense"], dimension) if "dense" in fields else None,
        _sparse(fields.get("lexical")),
        tuple(_dense(cue, dimension) for cue in fields.get("cues", ())),
        _sparse(fields.get("cue_words")),
    )
    return collection, id, point


def _numbers(values: Sequence[float] | Sequence[int], kind: str = "<f4") -> str:
    return base64.b64encode(np.asarray(values, dtype=kind).tobytes()).decode()


def _dense(text: str, dimension: int | None) -> tuple[Any, ...]:
    if dimension is not None and len(text) != 4 * math.ceil(4 * dimension / 3):  # as base64
        raise ValueError("a vector has another dimension than the backup")
    return _floats(text)


def _floats(text: str, kind: str = "<f4") -> tuple[Any, ...]:
    return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype=kind).tolist())


def _words(sparse: Sparse) -> list[str]:
    return [_numbers(sparse.indices, "<u4"), _numbers(sparse.values)]


def _sparse(words: list[str] | None) -> Sparse | None:
    return None if words is None else Sparse(_floats(words[0], "<u4"), _floats(words[1]))


def _read_manifest(file: Path) -> BackupManifest:
    with _reading(file) as archive:
        with archive.open(MANIFEST) as told:
            fields = json.loads(told.read(MAX_MANIFEST))
        found = fields["format"]
    if found != FORMAT:
        raise FileError(
            f"{file} is a backup of format {found} and this version reads {FORMAT}: restore it "
            "with the version of Souffleur that made it, or with a later one"
        )
    try:
        manifest = BackupManifest.model_validate(fields)
    except ValidationError:
        raise _damaged(file) from None
    dimension = manifest.made_with.get("dimension")
    if not isinstance(dimension, int) or not 0 < dimension <= MAX_DIMENSION:
        raise _damaged(file)
    return manifest


@contextmanager
def _reading(file: Path) -> Iterator[zipfile.ZipFile]:
    try:
        begun = file.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"there is no backup at {file}") from None
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror}") from None
    try:
        with begun, zipfile.ZipFile(begun) as archive:
            yield archive
    except _DAMAGE as error:
        raise _damaged(file) from error


def _damaged(file: Path) -> FileError:
    return FileError(f"{file} is no whole backup, so nothing was done: take another one")


def _is_backup(file: Path) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return {POINTS, MANIFEST} <= set(archive.namelist())
    except (zipfile.BadZipFile, IsADirectoryError):
        return False


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
