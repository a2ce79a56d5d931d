"""Import of an export, and copy of a whole store to another place.

An import writes missing records and overwrites no records: a second import of a file changes
nothing, and after an interruption the same import continues. A copy goes to an empty place, for
another embedder, policy or path. It only reads the old store, so an interrupted copy can be deleted
and started again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from pydantic import Field

from souffleur.errors import FileError, NotFoundError, UnreadableError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.policy import POLICIES, Policy
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.codecs import kind_of
from souffleur.knowledge.store.engine.collection import Filter, Point
from souffleur.knowledge.store.export import read_points, survey
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.opening import (
    StoreLocation,
    check_empty,
    open_collections,
    open_knowledge,
    stored_dimension,
)
from souffleur.knowledge.store.records import Numbers, record_of, unembedded, walk, write
from souffleur.knowledge.store.upgrade import Progress, no_progress
from souffleur.knowledge.turn import TurnState

RECORDS_AT_ONCE = 64
"""Number of records per read, and per request to the embedder."""
DIFFERS = "another version is there"
"""The reason to skip a record that the store has with other contents."""


class Imported(Frozen):
    """The result of an import; after a dry run, the result it would have."""

    source: str
    """The origin of the file: souffleur, mem0, …"""
    dry_run: bool = False
    """Whether the import was a dry run, which writes nothing."""
    new: dict[str, int]
    """The number of written records, by kind: memory, turn, entry, …"""
    known: dict[str, int] = Field(default_factory=dict)
    """The number of records that the store already had, by kind."""
    skipped: dict[str, int] = Field(default_factory=dict)
    """The number of skipped records, by kind and reason."""
    unread: tuple[str, ...] = ()
    """The first thousand unreadable parts of the file, each with its name and the reason."""
    calls: int = 0
    """Estimated number of model calls for the new records."""
    input_tokens: int = 0
    """Estimated number of prompt tokens of these calls, for chats."""
    output_tokens: int = 0
    """Estimated number of answer tokens of these calls, for chats."""
    dollars: float = 0.0
    """Estimated cost of these calls by `price_in` and `price_out`; 0 if these are not set."""
    days: int = 0
    """Estimated number of daily budgets for these calls; 0 without a budget."""


@dataclass
class _Tally:
    """The numbers of records in an import."""

    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    """The number of new turns that wait to be judged, by user."""


async def import_export(
    knowledge: KnowledgeBase,
    file: Path,
    *,
    user_id: str | None = None,
    dry_run: bool = False,
    wake: Callable[[str], None] = lambda user_id: None,
) -> Imported:
    """Write the records of an export that the store lacks, after a check of the whole file.

    With `user_id`, a file with records of other users is refused; `None` allows all users. `wake`
    is called for each user with new turns to judge. Raises FileError, NotFoundError,
    StoreMismatchError, StoreError, EmbedderError. After an error, the written records stay, and the
    same import can continue.
    """
    found = await asyncio.to_thread(survey, file)
    if user_id is not None and (others := found.users.keys() - {user_id}):
        raise FileError(
            f"{file} has records of others than {user_id!r} ({len(others)}): nothing was imported"
        )
    tally, made_by = _Tally(), POLICIES[found.head.policy]
    try:
        for name, highest in () if dry_run else found.users.items():
            if name and (highest.turn or highest.entry):
                numbers = {"turn": highest.turn, "entry": highest.entry}
                await knowledge.journal.raise_numbers(name, **numbers)
        lines = read_points(file, found)
        while page := await asyncio.to_thread(lambda: list(islice(lines, RECORDS_AT_ONCE))):
            for collection in ("memories", "journal"):
                points = [point for _, name, point in page if name == collection]
                new = await _find_new(knowledge, collection, points, tally)
                if new and not dry_run:
                    await write(knowledge, collection, new, made_by)
    finally:
        for name in () if dry_run else tally.waiting:
            wake(name)
    return Imported(
        source="souffleur",
        dry_run=dry_run,
        new=_sorted(tally.new),
        known=_sorted(tally.known),
        skipped=_sorted(tally.skipped),
        calls=tally.waiting.total(),
    )


async def _find_new(
    knowledge: KnowledgeBase, collection: str, points: Sequence[Point], tally: _Tally
) -> list[Point]:
    """Return the records that the store lacks; count all records in `tally`."""
    both = {one.schema.name: one for one in (knowledge.memories, knowledge.journal.collection)}
    stored = {one.id: one for one in await both[collection].get([one.id for one in points])}
    for point in points:
        kind = kind_of(collection, point.payload)
        if point.id not in stored:
            tally.new[kind] += 1
            if kind == "turn" and point.payload.get("state") == TurnState.PENDING:
                tally.waiting[str(point.payload["user_id"])] += 1
        elif _is_same(collection, stored[point.id], point):
            tally.known[kind] += 1
        else:
            tally.skipped[f"{kind}: {DIFFERS}"] += 1
    return [point for point in points if point.id not in stored]


def _is_same(collection: str, stored: Point, given: Point) -> bool:
    try:
        one, other = (record_of(collection, unembedded(point)) for point in (stored, given))
    except UnreadableError:
        return False
    return one == other


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))


async def copy_store(
    source: StoreLocation,
    target: StoreLocation,
    embedder: Embedder,
    policy: Policy,
    *,
    step: Progress = no_progress,
) -> int:
    """Copy all records, embedded by `embedder` and converted to `policy`.

    Returns the number of memories. Raises NotFoundError if there is no store at `source`,
    StoreMismatchError if `target` is not empty.
    """
    dimension = await stored_dimension(source)
    if dimension is None:
        raise NotFoundError(f"there is no store at {source}: set SOUFFLEUR_PATH to the one to copy")
    async with AsyncExitStack() as closing:
        old = await open_collections(source, dimension, closing)
        journal = Journal(old[1], last_seq=0)
        made_with = await journal.meta()
        if made_with is None:
            raise NotFoundError("there is no store to migrate: SOUFFLEUR_PATH names an empty one")
        made_by, count = POLICIES[made_with["policy"]], await old[0].count(Filter())
        total, done, numbers = count + await old[1].count(Filter()), 0, Numbers()
        new = await open_knowledge(target, embedder, policy)
        closing.push_async_callback(new.close)
        await check_empty(new.memories, new.journal.collection, target)
        async for part in walk(old, journal, Filter(), size=RECORDS_AT_ONCE):
            await write(new, part.collection, part.points, made_by)
            numbers.note(part.points)
            done += len(part.points)
            step(done, total)
        await numbers.carry_on(new.journal)
        return count
