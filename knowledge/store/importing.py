"""Importing an export: what is not there yet is written; what is there is never overwritten.

So importing twice is importing once, and an import that was interrupted goes on where it was.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from pydantic import Field

from souffleur.errors import FileError, UnreadableError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.store.backup_file import kind_of
from souffleur.knowledge.store.codecs import to_memory
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.store.export import Survey, read_points, survey
from souffleur.knowledge.store.migration import (
    POINTS_COPIED,
    carried,
    put_memories,
    put_records,
    unembedded,
)
from souffleur.knowledge.store.repair import record_of
from souffleur.knowledge.turn import TurnState

DIFFERS = "another version is there"
"""Why a record is skipped that is there and is not the same."""


class Imported(Frozen):
    """What an import took, or in a dry run would take."""

    source: str
    """What the file is: souffleur, mem0, …"""
    dry_run: bool = False
    """Whether nothing was written."""
    new: dict[str, int]
    """The number of records that were written, by kind: memory, turn, entry, …"""
    known: dict[str, int] = Field(default_factory=dict)
    """The number of those that were there already, by kind."""
    skipped: dict[str, int] = Field(default_factory=dict)
    """The number of those that were not taken, by kind and reason."""
    unread: tuple[str, ...] = ()
    """What could not be read and was left out, each with its name and why; the first thousand."""
    calls: int = 0
    """About how often a model is asked about what is new."""
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
    """Take what is in an export and not in the store; the whole file is checked before that.

    `user_id` refuses a file with records of others; `None` means everybody. `wake` is called with
    the users whose turns wait to be judged. Raises FileError, NotFoundError,
    StoreMismatchError, StoreError, EmbedderError; what was taken by then stays, and the same import
    goes on from there.
    """
    found = await asyncio.to_thread(survey, file)
    if user_id is not None and (others := found.users.keys() - {user_id}):
        raise FileError(
            f"{file} has records of others than {user_id!r} ({len(others)}): nothing was imported"
        )
    tally = _Tally()
    try:
        if not dry_run:
            for name, highest in found.users.items():
                if name and (highest.turn or highest.entry):
                    numbers = {"turn": highest.turn, "entry": highest.entry}
                    await knowledge.journal.raise_numbers(name, **numbers)
        lines = read_points(file, found)
        while page := await asyncio.to_thread(lambda: list(islice(lines, POINTS_COPIED))):
            for collection in ("memories", "journal"):
                points = [point for _, name, point in page if name == collection]
                await _take(knowledge, found, collection, points, tally, dry_run=dry_run)
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


async def _take(
    knowledge: KnowledgeBase,
    found: Survey,
    collection: str,
    points: Sequence[Point],
    tally: _Tally,
    *,
    dry_run: bool,
) -> None:
    both = {one.schema.name: one for one in (knowledge.memories, knowledge.journal.collection)}
    there = {one.id: one for one in await both[collection].get([one.id for one in points])}
    policy, former = knowledge.policy, POLICIES[found.head.policy]
    new: list[Point] = []
    for point in points:
        kind = kind_of(collection, point.payload)
        if point.id not in there:
            new.append(point)
            tally.new[kind] += 1
            if kind == "turn" and point.payload.get("state") == TurnState.PENDING:
                tally.waiting[str(point.payload["user_id"])] += 1
        elif _is_same(collection, there[point.id], point):
            tally.known[kind] += 1
        else:
            tally.skipped[f"{kind}: {DIFFERS}"] += 1
    if dry_run or not new:
        return
    if collection == "memories":
        await put_memories(knowledge, [carried(to_memory(one), former, policy) for one in new])
    else:
        await put_records(knowledge, new)


def _is_same(collection: str, there: Point, given: Point) -> bool:
    try:
        return _bare(collection, there) == _bare(collection, given)
    except UnreadableError:
        return False


def _bare(collection: str, point: Point) -> object:
    return record_of(collection, unembedded(Point(point.id, point.payload)))


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))
