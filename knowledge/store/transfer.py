"""Records from elsewhere: an export is imported, or a whole store is copied to another place.

An import writes the records that are not there yet, and overwrites none: importing twice is
importing once, and an import that was interrupted goes on where it was. A copy is made to an empty
place, for another embedder, policy or path. It only reads the old store, so an interrupted copy can
be deleted and made again.
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
"""Number of records that are read at once, and whose texts are embedded in one request."""
DIFFERS = "another version is there"
"""Why a record is skipped if the store has it with other contents."""


class Imported(Frozen):
    """What an import wrote, or in a dry run would write."""

    source: str
    """What the file is: souffleur, mem0, …"""
    dry_run: bool = False
    """Whether nothing was written."""
    new: dict[str, int]
    """The number of records that were written, by kind: memory, turn, entry, …"""
    known: dict[str, int] = Field(default_factory=dict)
    """The number of records that were there already, by kind."""
    skipped: dict[str, int] = Field(default_factory=dict)
    """The number of records that were not written, by kind and reason."""
    unread: tuple[str, ...] = ()
    """The parts that could not be read, each with its name and the reason; the first thousand."""
    calls: int = 0
    """About how often a model is asked about the new records."""
    input_tokens: int = 0
    """About the tokens of the prompts of these calls, for chats."""
    output_tokens: int = 0
    """About the tokens of their answers, for chats."""
    dollars: float = 0.0
    """About what they cost, by `price_in` and `price_out`; 0 if these are not set."""
    days: int = 0
    """About how many days' budgets they need; 0 if none is set."""


@dataclass
class _Tally:
    """The numbers of records of an import."""

    new: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    """New turns that wait to be judged, by user."""


async def import_export(
    knowledge: KnowledgeBase,
    file: Path,
    *,
    user_id: str | None = None,
    dry_run: bool = False,
    wake: Callable[[str], None] = lambda user_id: None,
) -> Imported:
    """Write the records of an export that the store does not have; check the whole file first.

    With `user_id`, a file with records of other users is refused; `None` means everybody. `wake` is
    called with each user whose turns wait to be judged. Raises FileError, NotFoundError,
    StoreMismatchError, StoreError, EmbedderError; the records that were written by then stay, and
    the same import goes on from there.
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
    """Return the records that the store does not have; count all of them."""
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
