"""The quality of a store: what is in it, what is due, said twice, stale or failed, in numbers."""

import asyncio
import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from souffleur.knowledge.engine.collection import (
    Collection,
    Filter,
    Is,
    OneOf,
    Point,
    Search as VectorSearch,
    read_pages,
)
from souffleur.knowledge.identity import (
    COMMON,
    PERSONAS,
    reading_sphere,
    sphere_conditions,
    user_conditions,
)
from souffleur.knowledge.knowledge_base import NEAR_DUPLICATE, KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.memory_codec import to_memory
from souffleur.knowledge.talk.session import SegmentState
from souffleur.knowledge.talk.turn import TurnState
from souffleur.knowledge.upkeep.repair import why_unreadable
from souffleur.knowledge.upkeep.run_log import RunRecord, latest
from souffleur.knowledge.upkeep.tally import (
    Cost,
    Counts,
    Failure,
    JournalCounters,
    MemoryCounters,
    MemoryRef,
    Pair,
    age,
    failed_runs,
)

MAX_COMPARED = 2000
"""Memories, the newest, whose nearest others are looked for: each is a search."""
NEIGHBOURS_PER_MEMORY = 10
"""Neighbours looked at for each."""
RUNS_SHOWN = 20
"""Of the latest, so many are told."""
_RUNS_LOOKED_THROUGH = 1000
"""Runs, the latest, among which those of one user are looked for."""
_SEARCHES_PER_REQUEST = 50
"""Searches in one request; between requests the event loop goes on."""


@dataclass(frozen=True)
class Quality:
    """A store, or what it holds of one user, at one moment."""

    at: datetime
    user_id: str | None
    """None: everybody's."""
    users: int
    states: Counts
    """All memories by state; all that follows counts the active ones alone."""
    categories: Counts
    kinds: Counts
    importance: tuple[int, ...]
    """Effective values in bins of `BIN`."""
    due_soon: Counts
    """By what for: due within `SOON`, and not yet."""
    overdue: Counts
    late: Counts
    """Of the overdue, those that have been so for more than a day."""
    due_by_day: tuple[int, ...]
    """Due in each of the next `DAYS` stretches of 24 hours, from `at` on."""
    duplicates: tuple[Pair, ...]
    """Word for word the same; each with the oldest of its wording, so three alike are two pairs."""
    near_duplicates: tuple[Pair, ...]
    """Of a cosine of `NEAR_DUPLICATE` and more, and worded differently; the nearest first."""
    compared: int
    """Memories whose neighbours were looked for."""
    stale: tuple[MemoryRef, ...]
    """Unchanged for `STALE_AFTER` and worth less than `STALE_BELOW`; the least worth first."""
    never_recalled: tuple[MemoryRef, ...]
    """Older than `UNREAD_AFTER`, not once retrieved, and no episode or portrait, of which no
    retrieval is counted; the oldest first."""
    contradictions: tuple[Pair, ...]
    """Linked as contradicting each other, and both still held to be true."""
    turns: Counts
    """By state, likewise the segments."""
    segments: Counts
    waiting_since: datetime | None
    """When the oldest turn or segment that waits was said."""
    failures: tuple[Failure, ...]
    """Turns set aside; segments, portraits and runs that failed and are tried again; records that
    cannot be read."""
    runs: tuple[RunRecord, ...]
    """The latest, newest first; of a user, those that were of that user alone."""
    verdicts: Counts
    """Ops of the ledger that were carried out, later undone or not."""
    refusals: Counts
    undone: int
    cost: Cost

    @property
    def active(self) -> int:
        """How many memories are active."""
        return self.states.get(MemoryState.ACTIVE, 0)

    @property
    def is_cut(self) -> bool:
        """Whether there were too many memories to look for the neighbours of each."""
        return self.compared < self.active

    @property
    def waiting(self) -> int:
        """Turns that wait to be judged, and segments to be summarised."""
        return self.turns.get(TurnState.PENDING, 0) + self.segments.get(SegmentState.WAITING, 0)


async def measure(
    knowledge: KnowledgeBase,
    now: datetime,
    *,
    user_id: str | None = None,
    max_compared: int = MAX_COMPARED,
) -> Quality:
    """Read the whole store, or all that is of one user, once; nothing is written.

    Raises StoreError. Time grows with the store; the words of active memories are held meanwhile.
    """
    mine = user_conditions(user_id)
    memories, journal = MemoryCounters(now, knowledge.policy), JournalCounters()
    broken: list[Failure] = []
    async for page in read_pages(knowledge.memories, Filter(mine)):
        for point in page:
            if why := why_unreadable("memories", point):
                broken.append(_broken(point, why))
            else:
                memories.add(to_memory(point), str(point.payload.get("fingerprint")))
    types = OneOf("type", tuple(journal.handlers))
    async for page in read_pages(knowledge.journal.collection, Filter((*mine, types))):
        for point in page:
            if why := why_unreadable("journal", point):
                broken.append(_broken(point, why))
            else:
                journal.handlers[point.payload["type"]](point)
    runs = await _runs(knowledge, user_id)
    newest = heapq.nlargest(max_compared, memories.active.values(), key=age)
    return Quality(
        at=now,
        user_id=user_id,
        users=len((memories.users | journal.users) - {PERSONAS}),
        states=_sorted(memories.states),
        categories=_sorted(memories.categories),
        kinds=_sorted(memories.kinds),
        importance=tuple(memories.importance),
        due_soon=_sorted(memories.due_soon),
        overdue=_sorted(memories.overdue),
        late=_sorted(memories.late),
        due_by_day=tuple(memories.due_by_day),
        duplicates=memories.duplicates(),
        near_duplicates=await _near(knowledge.memories, newest, memories.active),
        compared=len(newest),
        stale=tuple(sorted(memories.stale, key=lambda one: (one.value, one.id))),
        never_recalled=tuple(sorted(memories.never_recalled, key=age)),
        contradictions=memories.contradictions(),
        turns=_sorted(journal.turns),
        segments=_sorted(journal.segments),
        waiting_since=min(journal.waiting, default=None),
        failures=tuple(
            sorted(
                [*broken, *journal.failures, *failed_runs(runs)],
                key=lambda one: (one.what, one.user_id, one.id),
            )
        ),
        runs=runs[:RUNS_SHOWN],
        verdicts=_sorted(journal.verdicts),
        refusals=_sorted(journal.refusals),
        undone=journal.undone,
        cost=journal.cost(),
    )


async def _runs(knowledge: KnowledgeBase, user_id: str | None) -> tuple[RunRecord, ...]:
    """The latest, newest first; what a run over everybody did is told to nobody in particular."""
    found = await latest(knowledge.journal, limit=_RUNS_LOOKED_THROUGH)
    return tuple(one for one in found if user_id in (None, one.of_user))


async def _near(
    collection: Collection, sought: Sequence[MemoryRef], active: Mapping[str, MemoryRef]
) -> tuple[Pair, ...]:
    """The near-duplicates of these memories, by their own vectors, each pair once."""
    found: dict[frozenset[str], Pair] = {}
    for start in range(0, len(sought), _SEARCHES_PER_REQUEST):
        ids = [one.id for one in sought[start : start + _SEARCHES_PER_REQUEST]]
        points = [point for point in await collection.get(ids, vectors=True) if point.dense]
        hits = await collection.search([_neighbours(point) for point in points])
        for point, near in zip(points, hits, strict=True):
            for hit in near:
                if (
                    hit.score >= NEAR_DUPLICATE
                    and _differ(point, hit.point)
                    and hit.point.id in active
                ):
                    both = active[point.id], active[hit.point.id]
                    found[frozenset((point.id, hit.point.id))] = Pair.of(*both, cosine=hit.score)
        await asyncio.sleep(0)
    return tuple(
        sorted(
            found.values(), key=lambda pair: (-(pair.cosine or 0), pair.first.id, pair.second.id)
        )
    )


def _broken(point: Point, why: str) -> Failure:
    return Failure("record", point.id, str(point.payload.get("user_id", "")), None, 0, why)


def _neighbours(point: Point) -> VectorSearch:
    sphere = reading_sphere(str(point.payload.get("sphere") or COMMON))
    mine = Filter(
        (
            Is("user_id", point.payload["user_id"]),
            Is("state", MemoryState.ACTIVE),
            *sphere_conditions(sphere),
        )
    )
    return VectorSearch(point.dense or (), mine, NEIGHBOURS_PER_MEMORY + 1)  # it finds itself too


def _differ(one: Point, other: Point) -> bool:
    return bool(one.payload["fingerprint"] != other.payload["fingerprint"])


def _sorted(counts: Counter[str]) -> Counts:
    """Names as plain strings; those that never came up are left out."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(name): count for name, count in ranked if count}
