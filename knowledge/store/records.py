"""Records of a store: reading them in order, decoding by type, writing them to another store."""

from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel

from souffleur.errors import UnreadableError
from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.people import Person, PersonaCard, Preferences
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.session import Segment, Session
from souffleur.knowledge.store.codecs import embedded_point, to_memory
from souffleur.knowledge.store.engine.collection import (
    POINTS_PER_PAGE,
    Collection,
    Filter,
    Payload,
    Point,
    read_pages,
)
from souffleur.knowledge.store.engine.points import can_match
from souffleur.knowledge.store.items import Item
from souffleur.knowledge.store.labels import lookup_fields
from souffleur.knowledge.store.ledger import META_ID, Journal
from souffleur.knowledge.store.lines import encode_line
from souffleur.knowledge.store.processes.arrivals import Arrivals
from souffleur.knowledge.store.processes.leases import UserLease
from souffleur.knowledge.store.reading import read
from souffleur.knowledge.store.runs.run_log import RunRecord
from souffleur.knowledge.store.runs.spending import Spending
from souffleur.knowledge.store.runs.watermarks import Lease, Watermark
from souffleur.knowledge.store.topics import Removal
from souffleur.knowledge.turn import Turn


@dataclass(frozen=True)
class Part:
    """Some records of a collection, yielded by `walk`."""

    collection: str
    """The name of the collection."""
    points: Sequence[Point]
    """The records. A record replaces the record with the same id in an earlier part."""
    again: Sequence[str] = ()
    """The ids of records in earlier parts that were replaced or deleted meanwhile."""
    gone: Sequence[str] = ()
    """The ids of records in earlier parts that were deleted meanwhile."""

    @property
    def lines(self) -> bytes:
        """The records as JSON lines, then a line without payload for each deleted record."""
        lines = [encode_line(self.collection, point.id, point) for point in self.points]
        lines += [encode_line(self.collection, id, None) for id in self.gone]
        return b"".join(line + b"\n" for line in lines)


async def walk(
    collections: Sequence[Collection],
    journal: Journal,
    wanted: Filter,
    *,
    vectors: bool = False,
    size: int = POINTS_PER_PAGE,
) -> AsyncIterator[Part]:
    """Yield the wanted records by id, `size` per part; then the records written meanwhile.

    `wanted` must not contain ranges. Records that this process writes meanwhile are read again
    together at the end: all parts together show the store at this moment. Records that other
    processes write to a Qdrant server meanwhile may be partly included. Raises StoreError.
    """
    with ExitStack() as noting:
        copies = [
            _Copy(one, wanted, noting.enter_context(one.changes.noted())) for one in collections
        ]
        for copy in copies:
            pages = read_pages(copy.collection, wanted, size=size, vectors=vectors)
            async for page in pages:
                copy.note(page)
                yield Part(copy.collection.schema.name, page)
        with journal.lock:  # no other thread records a turn meanwhile
            while any(copy.written for copy in copies):
                for copy in copies:
                    await copy.read_again(vectors=vectors)
    for copy in copies:
        if copy.named:
            yield copy.last()


class _Copy:
    """The ids read from a collection, and the records written meanwhile."""

    def __init__(self, collection: Collection, wanted: Filter, written: set[str]) -> None:
        self.collection = collection
        self.written = written
        self.named: set[str] = set()
        self._wanted = wanted
        self._latest: dict[str, Point] = {}
        self._seen = array("Q")  # eight bytes per id, to save memory

    def note(self, points: Iterable[Point]) -> None:
        """Note the ids of records that were read."""
        self._seen.extend(_key(point.id) for point in points)

    async def read_again(self, *, vectors: bool) -> None:
        """Read the records written since the last read."""
        ids = sorted(self.written)
        self.written.clear()
        self.named.update(ids)
        for id in ids:
            self._latest.pop(id, None)
        for first in range(0, len(ids), POINTS_PER_PAGE):
            page = ids[first : first + POINTS_PER_PAGE]
            for point in await self.collection.get(page, vectors=vectors):
                if can_match(self._wanted, point.payload):
                    self._latest[point.id] = point

    def last(self) -> Part:
        """Return the records written meanwhile as the last part."""
        keys = {_key(id): id for id in self.named}
        again = sorted({keys[key] for key in self._seen if key in keys})
        gone = [id for id in again if id not in self._latest]
        points = [self._latest[id] for id in sorted(self._latest)]
        return Part(self.collection.schema.name, points, again, gone)


def _key(id: str) -> int:
    return UUID(id).int >> 64


MODELS: dict[str, type[BaseModel]] = {
    "turn": Turn,
    "session": Session,
    "segment": Segment,
    "upkeep": PortraitStatus,
    "person": Person,
    "persona": PersonaCard,
    "preferences": Preferences,
    "entry": LedgerEntry,
    "item": Item,
    "run": RunRecord,
    "watermark": Watermark,
    "lease": Lease,
    "spending": Spending,
    "arrivals": Arrivals,
    "user lease": UserLease,
    "draft": LedgerEntry,
    "removal": Removal,
}
"""The model of each type of record in the journal."""


def record_of(collection: str, point: Point) -> object:
    """Return the record of a point: a memory, a turn, an entry, … Raises UnreadableError."""
    if collection == "memories":
        return read(point, Memory)
    try:
        if point.payload["type"] == "meta":
            return point.payload["made_with"]
        return read(point, MODELS[point.payload["type"]])
    except (KeyError, TypeError):
        what = f"the record {point.id} of the {collection} is of no known type"
        raise UnreadableError(what) from None


def why_unreadable(collection: str, point: Point) -> str:
    """Return why a point is unreadable as a record of its collection; empty if it is readable."""
    try:
        record_of(collection, point)
    except UnreadableError as error:
        return str(error)
    return ""


async def write(
    knowledge: KnowledgeBase, collection: str, points: Sequence[Point], made_by: Policy
) -> None:
    """Write records from another store to this store, embedded by this store's embedder.

    Memories are converted from the policy `made_by`. Raises UnreadableError, EmbedderError,
    StoreError.
    """
    if collection == "memories":
        policy = knowledge.policy
        memories = [converted(to_memory(point), made_by, policy) for point in points]
        await put_memories(knowledge, memories)
    else:
        await put_records(knowledge, [point for point in points if point.id != META_ID])


async def put_memories(knowledge: KnowledgeBase, memories: Sequence[Memory]) -> None:
    """Embed and write memories from another store, without ledger entries."""
    texts = (text for memory in memories for text in memory.embedded)
    vectors = await knowledge.embedder.embed_each(texts)
    await knowledge.memories.put([embedded_point(memory, vectors) for memory in memories])


async def put_records(knowledge: KnowledgeBase, points: Sequence[Point]) -> None:
    """Write journal records from another store. Items are embedded now, turns later."""
    items = [read(point, Item) for point in points if point.payload["type"] == "item"]
    others = [unembedded(point) for point in points if point.payload["type"] != "item"]
    await knowledge.journal.collection.put([*others, *await knowledge.items.points(items)])
    knowledge.journal.read_anew()


def unembedded(point: Point) -> Point:
    """Return a point without vectors and with current labels; a turn waits to be embedded."""
    embedded = {"embedded": False} if point.payload.get("type") == "turn" else {}
    payload = {**point.payload, **embedded}
    return Point(point.id, {**payload, **lookup_fields(payload)})


def converted(memory: Memory, old: Policy, new: Policy) -> Memory:
    """Return a memory converted to another policy, with new importance and grace period.

    >>> from souffleur.knowledge.policy import COMPANION, EVERBOT
    >>> COMPANION.core_value, EVERBOT.core_value
    (3.0, 1.0)
    """
    if old.name == new.name:
        return decay.scheduled(memory, new)
    scale = new.core_value / old.core_value
    asked = memory.asked_value * scale if memory.asked_value is not None else None
    usual = memory.grace_days == old.rule(memory.category).grace_days
    grace = new.rule(memory.category).grace_days if usual else memory.grace_days
    update = {"importance": memory.importance * scale, "asked_value": asked, "grace_days": grace}
    return decay.scheduled(memory.model_copy(update=update), new)


@dataclass
class Highest:
    """The highest numbers of a user's turns and ledger entries."""

    turn: int = 0
    entry: int = 0

    def note(self, record: Payload) -> None:
        """Note the number of a record, if it is a turn or a ledger entry."""
        if record.get("type") == "turn":
            self.turn = max(self.turn, _number(record))
        elif record.get("type") == "entry":
            self.entry = max(self.entry, _number(record))


class Numbers:
    """The highest numbers of all users in a copied store."""

    def __init__(self) -> None:
        self._users: defaultdict[str, Highest] = defaultdict(Highest)

    def note(self, points: Iterable[Point]) -> None:
        """Note the numbers of copied records."""
        for point in points:
            if point.payload.get("type") in {"turn", "entry"}:
                self._users[str(point.payload.get("user_id"))].note(point.payload)

    async def carry_on(self, journal: Journal) -> None:
        """Raise the numbers in the journal above the copied numbers. Raises StoreError.

        The records with a server's next numbers (arrivals and user leases) are copied too. Their
        numbers are too low if the store was in a folder afterwards.
        """
        if not journal.collection.shared:
            return
        names = list(self._users)
        for start in range(0, len(names), POINTS_PER_PAGE):
            some = names[start : start + POINTS_PER_PAGE]
            ids = [record.id for name in some for record in _agreed(name)]
            found = {one.id: _number(one.payload) for one in await journal.collection.get(ids)}
            for name in some:
                highest, (arrivals, lease) = self._users[name], _agreed(name)
                turn = found.get(arrivals.id, highest.turn)
                entry = found.get(lease.id, highest.entry)
                if turn < highest.turn or entry < highest.entry:
                    await journal.raise_numbers(name, turn=highest.turn, entry=highest.entry)


def _agreed(user_id: str) -> tuple[Arrivals, UserLease]:
    return Arrivals(user_id=user_id), UserLease(user_id=user_id)


def _number(record: Payload) -> int:
    number = record.get("seq")
    return number if isinstance(number, int) else 0
