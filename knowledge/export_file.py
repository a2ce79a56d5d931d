"""An export: everything of one user, or of all, as lines of JSON; one record a line.

    {"souffleur": "export", "format": 1, …}               the head
    {"in": "memories", "id": …, "payload": {…}}           records, as in a backup, without vectors
    {"in": "journal", "id": …, "payload": {"type": …}}
    {"souffleur": "end", "counts": {…}, "again": […]}     the end: a file without it was cut

What was written during the export comes once more, later in the file: of the records that the end
names only the last one counts, and none if the last has no payload.
"""

import os
import tempfile
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Literal

from pydantic import AwareDatetime

from souffleur.errors import NotFoundError, TransferError
from souffleur.field_docs import explain_fields
from souffleur.knowledge.backup_file import encode_line, kind_of, sync_folder
from souffleur.knowledge.copying import Copied, copies
from souffleur.knowledge.engine.collection import Collection, Condition, Filter, OneOf, Point
from souffleur.knowledge.erasing import runs_for
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.migration import unembedded
from souffleur.knowledge.unsaid import find_unsaid

BEGIN = b'{"souffleur":'
"""How the first and the last line begin, and no other."""
FORMAT = 1
"""Version of the lines; the schema of the records has its own."""
MACHINERY = ("meta", "watermark", "lease", "arrivals", "user lease", "draft", "spending", "removal")
"""Types of records by which a store is run: they stay, with what is just being removed."""


class ExportHead(Frozen):
    """The first line."""

    souffleur: Literal["export"] = "export"
    format: int = FORMAT
    """The version of the lines."""
    schema_version: int
    """The version of the records."""
    policy: str
    """The policy that the memories follow."""
    made_at: AwareDatetime
    made_by: str
    """The version of Souffleur that made it."""
    user_id: str | None
    """Whose records are in it; `None` means everybody's."""


class ExportEnd(Frozen):
    """The last line."""

    souffleur: Literal["end"] = "end"
    lines: int
    """The number of lines between head and end."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, …"""
    again: tuple[str, ...] = ()
    """The ids of the records of which only the last line counts."""


@explain_fields
class Exported(Frozen):
    """What is in an export."""

    user_id: str | None
    """Whose records they are; `None` means everybody's."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, session, …"""


async def export_lines(
    memories: Collection, journal: Journal, user_id: str | None, *, now: datetime
) -> AsyncIterator[bytes]:
    """Yield an export, some lines at a time, while the store is used.

    What is forgotten on request is left out, or has no words, though it could still be undone.
    `user_id=None` means everybody. Nothing is yielded before it is known that there is something.
    Raises NotFoundError if there is nothing, IdentityError, StoreError.
    """
    made_with = await journal.meta() or {}
    wanted = _wanted(user_id)
    collections = (memories, journal.collection)
    if not sum([await one.count(wanted) for one in collections]):
        raise NotFoundError(
            "there is nothing to export"
            + (f": nothing is known of {user_id!r}, see `souffleur users`" if user_id else "")
        )
    head = ExportHead(
        schema_version=int(made_with["schema"]),
        policy=str(made_with["policy"]),
        made_at=now,
        made_by=version("souffleur"),
        user_id=user_id,
    )
    yield _line(head)
    counts: Counter[str] = Counter()
    again: list[str] = []
    lines = 0
    unsaid = await find_unsaid(journal, user_id)
    async for whole in _parts(collections, journal, user_id, wanted):
        part = replace(whole, points=unsaid.left_of(whole.points))
        known = set(part.again)
        counts.update(
            kind_of(part.collection, one.payload) for one in part.points if one.id not in known
        )
        again += part.again
        lines += len(part.points) + len(part.gone)
        yield _records(part)
    end = ExportEnd(lines=lines, counts=dict(sorted(counts.items())), again=tuple(again))
    yield _line(end)


async def export_file(
    memories: Collection, journal: Journal, user_id: str | None, file: Path, *, now: datetime
) -> Exported:
    """Write an export to a file, which is there when it is whole, for its owner alone to read.

    Raises TransferError if the file cannot be made there, and what `export_lines` raises.
    """
    with _made_whole(file) as out:
        lines = b""
        async for lines in export_lines(memories, journal, user_id, now=now):
            out.write(lines)
    return Exported(user_id=user_id, counts=ExportEnd.model_validate_json(lines).counts)


@contextmanager
def _made_whole(file: Path) -> Iterator[IO[bytes]]:
    """Yield what to write to; a former export is replaced at the end, if nothing went wrong."""
    if not file.parent.is_dir():
        raise TransferError(f"there is no folder {file.parent}: make it, or name another one")
    if file.exists() and not (file.is_file() and is_export(file)):
        raise TransferError(f"{file} exists and is no export: name another file")
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(file)
    except OSError as error:
        raise TransferError(f"{file} cannot be written: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(file.parent)


def is_export(file: Path) -> bool:
    """Return whether a file begins as an export. Raises TransferError if it cannot be read."""
    try:
        with file.open("rb") as begun:
            return begun.read(len(BOM_UTF8 + BEGIN)).removeprefix(BOM_UTF8).startswith(BEGIN)
    except OSError as error:
        raise TransferError(f"{file} cannot be read: {error.strerror}") from None


def _wanted(user_id: str | None) -> Filter:
    owner: tuple[Condition, ...] = user_conditions(user_id)
    return Filter(owner, (OneOf("type", MACHINERY),))


async def _parts(
    collections: Sequence[Collection], journal: Journal, user_id: str | None, wanted: Filter
) -> AsyncIterator[Copied]:
    async for part in copies(collections, journal, wanted):
        yield part
    if user_id and (runs := await runs_for(journal, user_id)):
        yield Copied(journal.collection.schema.name, runs)


def _records(part: Copied) -> bytes:
    bare = (unembedded(Point(one.id, one.payload)) for one in part.points)
    lines = [encode_line(part.collection, one.id, one) for one in bare]
    lines += [encode_line(part.collection, id, None) for id in part.gone]
    return b"".join(line + b"\n" for line in lines)


def _line(model: Frozen) -> bytes:
    return model.model_dump_json().encode() + b"\n"
