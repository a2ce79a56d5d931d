"""JSON lines with the records of a store, and files that appear only when they are complete.

Each line of a backup or an export is a record of the collection `memories` or `journal`:

    {"in": "memories", "id": …, "payload": {…}, "dense": …, "lexical": …, …}

The vectors are optional: base64 of little-endian 32-bit numbers, with the engine's precision. A
later line of a record replaces the earlier line. A line without `payload` means that the record was
deleted.
"""

import base64
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from souffleur.errors import FileError
from souffleur.knowledge.store.engine.checksums import sync
from souffleur.knowledge.store.engine.collection import Point, Sparse


class Line(NamedTuple):
    """The record in a line."""

    collection: str
    """The name of the collection: `memories` or `journal`."""
    id: str
    """The id of the point."""
    point: Point | None
    """The record; `None` if it was deleted."""


def encode_line(collection: str, id: str, point: Point | None) -> bytes:
    """Return the line of a record, without a line break."""
    line: dict[str, Any] = {"in": collection, "id": id}
    if point is not None:
        line["payload"] = point.payload
        line |= {"dense": _encoded(point.dense)} if point.dense is not None else {}
        line |= {"cues": [_encoded(cue) for cue in point.cues]} if point.cues else {}
        words = {"lexical": point.lexical, "cue_words": point.cue_words}
        line |= {name: _encoded_words(one) for name, one in words.items() if one is not None}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def decode_line(line: bytes, dimension: int | None = None) -> Line:
    """Return the record of a line.

    Raises ValueError, KeyError, TypeError or AttributeError for an invalid line, and ValueError if
    a dense vector does not have the given `dimension`.

    >>> point = Point("p", {"text": "猫"}, (0.5, -0.25), Sparse((7,), (1.5,)), ((1.0, 0.0),))
    >>> decode_line(encode_line("memories", "p", point)).point == point
    True
    >>> decode_line(encode_line("journal", "p", None))
    Line(collection='journal', id='p', point=None)
    """
    fields = json.loads(line)
    collection, id = str(fields["in"]), str(fields["id"])
    if "payload" not in fields:
        return Line(collection, id, None)
    point = Point(
        id,
        dict(fields["payload"]),
        _decoded_dense(fields["dense"], dimension) if "dense" in fields else None,
        _decoded_words(fields.get("lexical")),
        tuple(_decoded_dense(cue, dimension) for cue in fields.get("cues", ())),
        _decoded_words(fields.get("cue_words")),
    )
    return Line(collection, id, point)


def _encoded(values: Sequence[float] | Sequence[int], kind: str = "<f4") -> str:
    return base64.b64encode(np.asarray(values, dtype=kind).tobytes()).decode()


def _encoded_words(sparse: Sparse) -> list[str]:
    return [_encoded(sparse.indices, "<u4"), _encoded(sparse.values)]


def _decoded_dense(text: str, dimension: int | None) -> tuple[Any, ...]:
    if dimension is not None and len(text) != 4 * math.ceil(4 * dimension / 3):  # length in base64
        raise ValueError("a vector has another dimension than the backup")
    return _decoded(text)


def _decoded(text: str, kind: str = "<f4") -> tuple[Any, ...]:
    return tuple(np.frombuffer(base64.b64decode(text, validate=True), dtype=kind).tolist())


def _decoded_words(words: list[str] | None) -> Sparse | None:
    return None if words is None else Sparse(_decoded(words[0], "<u4"), _decoded(words[1]))


@contextmanager
def whole_file(file: Path, kind: str, is_kind: Callable[[Path], bool]) -> Iterator[Path]:
    """Yield an empty file to write. It replaces `file` unless the block raises.

    Only the owner can read the file. `kind` names the kind of file, and `is_kind` returns whether a
    file has this kind: other files are never replaced. Raises FileError if the file cannot be
    written.
    """
    if not file.parent.is_dir():
        raise FileError(f"there is no folder {file.parent}: make it, or name another one")
    if file.exists() and not (file.is_file() and is_kind(file)):
        raise FileError(f"{file} exists and is no {kind}: name another file")
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        part.replace(file)
    except OSError as error:
        raise FileError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    sync(file.parent)
