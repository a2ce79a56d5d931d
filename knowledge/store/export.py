"""An export: all records of one user, or of all users, as JSON lines with one record per line.

    {"souffleur": "export", "format": 1, …}               the head
    {"in": "memories", "id": …, "payload": {…}}           records, as in a backup, without vectors
    {"in": "journal", "id": …, "payload": {"type": …}}
    {"souffleur": "end", "counts": {…}, "again": […]}     the end; without it, the file is cut off

A record that was written during the export appears again, later in the file, and `again` lists its
id. For these ids only the last line is valid; a last line without a payload means a deleted record.
"""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

from souffleur.errors import FileError, NotFoundError, UnreadableError
from souffleur.knowledge.forgetting.request import find_hidden
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import LedgerEntry, entry_id, is_id
from souffleur.knowledge.people import (
    Person,
    PersonaCard,
    Preferences,
    person_id,
    persona_id,
    preferences_id,
)
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.session import Segment, Session, segment_id, session_point_id
from souffleur.knowledge.store import topics
from souffleur.knowledge.store.codecs import kind_of
from souffleur.knowledge.store.engine.collection import Collection, Filter, OneOf, Point
from souffleur.knowledge.store.erasing import runs_for
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.lines import Line, decode_line, whole_file
from souffleur.knowledge.store.records import Highest, Part, record_of, unembedded, walk
from souffleur.knowledge.store.upgrade import check_schema
from souffleur.knowledge.turn import Turn, turn_point_id
from souffleur.knowledge.undo import undo_id_of

BEGIN = b'{"souffleur":'
"""The beginning of the first and the last line; no other line begins like this."""
FORMAT = 1
"""Version of the file's format. `schema_version` is the version of the records' schema."""
MACHINERY = ("meta", "watermark", "lease", "arrivals", "user lease", "draft", "spending", "removal")
"""Types of records that only serve to run the store, and are never exported."""


class ExportHead(Frozen):
    """The first line of an export."""

    souffleur: Literal["export"] = "export"
    format: int = FORMAT
    """The version of the file's format."""
    schema_version: int
    """The version of the records' schema."""
    policy: str
    """The policy that the memories follow."""
    made_at: AwareDatetime
    made_by: str
    """The version of Souffleur that made the export."""
    user_id: str | None
    """The user of the records; `None` means all users."""


class ExportEnd(Frozen):
    """The last line of an export."""

    souffleur: Literal["end"] = "end"
    lines: int
    """The number of lines between head and end."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, …"""
    again: tuple[str, ...] = ()
    """The ids of records that appear again: only their last line is valid."""


class Exported(Frozen):
    """The contents of an export."""

    user_id: str | None
    """The user of the records; `None` means all users."""
    counts: dict[str, int]
    """The number of records by kind: memory, turn, entry, session, …"""


async def export_lines(
    memories: Collection, journal: Journal, user_id: str | None, *, now: datetime
) -> AsyncIterator[bytes]:
    """Yield an export in blocks of some lines; the store may be used meanwhile.

    Records that were forgotten on request are skipped or have no words, although this could still
    be undone. `user_id=None` means all users. Raises NotFoundError before the first line if there
    are no records, InputError, StoreError.
    """
    made_with = await journal.meta() or {}
    wanted = _wanted(user_id)
    collections = (memories, journal.collection)
    if not sum([await one.count(wanted) for one in collections]):
        raise NotFoundError(
            "there is nothing to export"
            + (f": nothing is known of {user_id!r}, see `souffleur user list`" if user_id else "")
        )
    head = ExportHead(
        schema_version=int(made_with["schema"]),
        policy=str(made_with["policy"]),
        made_at=now,
        made_by=version("souffleur-memory"),
        user_id=user_id,
    )
    yield _line(head)
    counts: Counter[str] = Counter()
    again: list[str] = []
    lines = 0
    unsaid = await find_hidden(journal, user_id)
    async for whole in _parts(collections, journal, user_id, wanted):
        bare = (unembedded(one) for one in unsaid.without_hidden(whole.points))
        part = replace(whole, points=list(bare))
        known = set(part.again)
        counts.update(
            kind_of(part.collection, one.payload) for one in part.points if one.id not in known
        )
        again += part.again
        lines += len(part.points) + len(part.gone)
        yield part.lines
    end = ExportEnd(lines=lines, counts=dict(sorted(counts.items())), again=tuple(again))
    yield _line(end)


async def export_file(
    memories: Collection, journal: Journal, user_id: str | None, file: Path, *, now: datetime
) -> Exported:
    """Write an export to a file. The file appears when it is complete; only its owner can read it.

    Raises FileError if the file cannot be created, and the errors of `export_lines`.
    """
    lines = b""
    with whole_file(file, "export", is_export) as part, part.open("wb") as out:
        async for lines in export_lines(memories, journal, user_id, now=now):
            out.write(lines)
    return Exported(user_id=user_id, counts=ExportEnd.model_validate_json(lines).counts)


def is_export(file: Path) -> bool:
    """Return whether a file begins like an export. Raises FileError if it cannot be read."""
    try:
        with file.open("rb") as begun:
            return begun.read(len(BOM_UTF8 + BEGIN)).removeprefix(BOM_UTF8).startswith(BEGIN)
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror}") from None


def _wanted(user_id: str | None) -> Filter:
    return Filter(user_conditions(user_id), (OneOf("type", MACHINERY),))


async def _parts(
    collections: Sequence[Collection], journal: Journal, user_id: str | None, wanted: Filter
) -> AsyncIterator[Part]:
    async for part in walk(collections, journal, wanted):
        yield part
    if user_id and (runs := await runs_for(journal, user_id)):
        yield Part(journal.collection.schema.name, runs)


def _line(model: Frozen) -> bytes:
    return model.model_dump_json().encode() + b"\n"


_NO_LINE = (ValueError, KeyError, TypeError, AttributeError)
"""The errors that decoding an invalid line may raise; ValueError also for JSON and UTF-8."""


@dataclass(frozen=True)
class Survey:
    """The contents of a complete export."""

    head: ExportHead
    end: ExportEnd
    users: dict[str, Highest] = field(default_factory=dict)
    """The highest numbers of each user; the user "" stands for records without a user."""


def survey(file: Path) -> Survey:
    """Check a whole export. Raises FileError with the line number, StoreMismatchError."""
    with _opened(file) as lines:
        head = _head(file, next(lines, (1, b"")))
        found = Survey(head, ExportEnd(lines=0, counts={}))
        end, number, records = None, 1, 0
        for number, line in lines:
            if end:
                raise FileError(f"{file}, line {number}: something follows the end: cut it off")
            if line.startswith(BEGIN):
                end = _end(file, number, line, records)
            else:
                records += 1
                _note(found.users, _checked(file, number, line))
    if end is None:
        raise FileError(
            f"{file}, line {number}: the file ends here and is not whole: take another one; "
            "nothing was imported"
        )
    return Survey(head, end, found.users)


def read_points(file: Path, found: Survey) -> Iterator[tuple[int, str, Point]]:
    """Yield line number, collection and point of each record of a checked export."""
    earlier = set(found.end.again)
    with _opened(file) as lines:
        for number, line in lines:
            if line.startswith(BEGIN):
                continue
            collection, id, point = _checked(file, number, line)
            if id in earlier:
                earlier.remove(id)
            elif point is not None:
                yield number, collection, point


@contextmanager
def _opened(file: Path) -> Iterator[Iterator[tuple[int, bytes]]]:
    try:
        with file.open("rb") as lines:
            whole = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
            yield ((number, line.removeprefix(BOM_UTF8)) for number, line in whole)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {file}") from None


def _head(file: Path, line: tuple[int, bytes]) -> ExportHead:
    try:
        head = ExportHead.model_validate_json(line[1])
    except ValidationError:
        raise FileError(f"{file}, line 1: this is no head of an export") from None
    if head.format != FORMAT:
        raise FileError(
            f"{file} is an export of format {head.format} and this version reads {FORMAT}: import "
            "it with the version of Souffleur that made it, or with a later one"
        )
    if head.policy not in POLICIES:
        raise FileError(f"{file} follows the policy {head.policy!r}, which is not known here")
    check_schema(head.schema_version, f"{file}, by Souffleur {head.made_by},")
    return head


def _end(file: Path, number: int, line: bytes, lines: int) -> ExportEnd:
    try:
        end = ExportEnd.model_validate_json(line)
    except ValidationError:
        raise FileError(f"{file}, line {number}: this is no end of an export") from None
    if end.lines != lines:
        raise FileError(
            f"{file}, line {number}: {end.lines} records were written and {lines} are there: take "
            "another copy of the file; nothing was imported"
        )
    return end


def _checked(file: Path, number: int, line: bytes) -> Line:
    try:
        collection, id, point = decode_line(line)
    except _NO_LINE:
        raise _wrong(file, number, "this is no record of an export") from None
    if collection not in ("memories", "journal") or not is_id(id):
        raise _wrong(file, number, "this is no record of an export")
    if point is None:
        return Line(collection, id, None)
    if point.payload.get("type") in MACHINERY and collection == "journal":
        raise _wrong(file, number, "such a record is in no export")
    try:
        record = record_of(collection, point)
    except UnreadableError as error:
        raise _wrong(file, number, str(error).partition(": take")[0]) from None
    if _id_of(record) != id:
        raise _wrong(
            file, number, "its id is that of another record: users and ids cannot be edited"
        )
    return Line(collection, id, point)


def _wrong(file: Path, number: int, why: str) -> FileError:
    return FileError(f"{file}, line {number}: {why}; nothing was imported")


def _note(users: dict[str, Highest], line: Line) -> None:
    _, _, point = line
    if point is None:
        return
    users.setdefault(str(point.payload.get("user_id", "")), Highest()).note(point.payload)


def _id_of(record: object) -> str:
    """Return the id that a record must have by its contents."""
    match record:
        case Turn():
            return turn_point_id(record.user_id, record.agent_id, record.session_id, record.turn_id)
        case Session():
            return session_point_id(record.user_id, record.session_id, record.sphere)
        case Segment():
            session = session_point_id(record.user_id, record.session_id, record.sphere)
            return segment_id(session, record.number)
        case LedgerEntry(undoes=str(undone)):
            return undo_id_of(undone)
        case LedgerEntry(op=topics.PURGE):
            return record.verdict_id
        case LedgerEntry():
            return entry_id(record.verdict_id, record.position)
        case Person():
            return person_id(record.user_id)
        case Preferences():
            return preferences_id(record.user_id)
        case PersonaCard():
            return persona_id(record.agent_id)
    assert hasattr(record, "id")  # a memory, an item, a portrait status, a run
    return str(record.id)
