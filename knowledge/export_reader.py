"""Reading an export: all of it is checked before anything is taken from it."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from souffleur.errors import NotFoundError, TransferError, UnreadableError
from souffleur.knowledge.backup_file import Line, decode_line
from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.export_file import BEGIN, FORMAT, MACHINERY, ExportEnd, ExportHead
from souffleur.knowledge.operation import LedgerEntry, entry_id, is_id
from souffleur.knowledge.people import Person, PersonaCard, person_id, persona_id
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.preferences import Preferences, preferences_id
from souffleur.knowledge.removal import order as removal
from souffleur.knowledge.sharing.numbers import Highest
from souffleur.knowledge.talk.session import Segment, Session, segment_id, session_point_id
from souffleur.knowledge.talk.turn import Turn, turn_point_id
from souffleur.knowledge.undo import undo_id_of
from souffleur.knowledge.upkeep import schema
from souffleur.knowledge.upkeep.repair import record_of

_NO_LINE = (ValueError, KeyError, TypeError, AttributeError)
"""What decoding something else may raise; ValueError also of JSON and UTF-8."""


@dataclass(frozen=True)
class Survey:
    """What is in an export that is whole."""

    head: ExportHead
    end: ExportEnd
    users: dict[str, Highest] = field(default_factory=dict)
    """The users of the records; "" for records of nobody."""


def survey(file: Path) -> Survey:
    """Read a whole export. Raises TransferError, with the line, and StoreMismatchError."""
    with _opened(file) as lines:
        head = _head(file, next(lines, (1, b"")))
        found = Survey(head, ExportEnd(lines=0, counts={}))
        end, number, records = None, 1, 0
        for number, line in lines:
            if end:
                raise TransferError(f"{file}, line {number}: something follows the end: cut it off")
            if line.startswith(BEGIN):
                end = _end(file, number, line, records)
            else:
                records += 1
                _note(found.users, _checked(file, number, line))
    if end is None:
        raise TransferError(
            f"{file}, line {number}: the file ends here and is not whole: take another one; "
            "nothing was imported"
        )
    return Survey(head, end, found.users)


def read_points(file: Path, found: Survey) -> Iterator[tuple[int, str, Point]]:
    """Yield line number, collection and point of each record of an export that was surveyed."""
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
        raise TransferError(f"{file}, line 1: this is no head of an export") from None
    if head.format != FORMAT:
        raise TransferError(
            f"{file} is an export of format {head.format} and this version reads {FORMAT}: import "
            "it with the version of Souffleur that made it, or with a later one"
        )
    if head.policy not in POLICIES:
        raise TransferError(f"{file} follows the policy {head.policy!r}, which is not known here")
    schema.check(head.schema_version, f"{file}, by Souffleur {head.made_by},")
    return head


def _end(file: Path, number: int, line: bytes, lines: int) -> ExportEnd:
    try:
        end = ExportEnd.model_validate_json(line)
    except ValidationError:
        raise TransferError(f"{file}, line {number}: this is no end of an export") from None
    if end.lines != lines:
        raise TransferError(
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
        return collection, id, None
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
    return collection, id, point


def _wrong(file: Path, number: int, why: str) -> TransferError:
    return TransferError(f"{file}, line {number}: {why}; nothing was imported")


def _note(users: dict[str, Highest], line: Line) -> None:
    _, _, point = line
    if point is None:
        return
    users.setdefault(str(point.payload.get("user_id", "")), Highest()).note(point.payload)


def _id_of(record: object) -> str:
    """Return the id that a record has by what it says of itself."""
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
        case LedgerEntry(op=removal.PURGE):
            return record.verdict_id
        case LedgerEntry():
            return entry_id(record.verdict_id, record.position)
        case Person():
            return person_id(record.user_id)
        case Preferences():
            return preferences_id(record.user_id)
        case PersonaCard():
            return persona_id(record.agent_id)
    assert hasattr(record, "id")  # of a memory, an item, a note on a portrait, a run
    return str(record.id)
