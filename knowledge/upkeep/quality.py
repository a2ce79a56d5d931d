"""The quality of a store in numbers: contents, due times, duplicates, stale memories, failures."""

import asyncio
import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from souffleur.field_docs import explain_fields
from souffleur.knowledge.engine.collection import (
    Collection,
    Condition,
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
from souffleur.knowledge.reading import READ_AT_ONCE
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
    Spending,
    age,
    failed_runs,
)

MAX_COMPARED = 2000
"""Maximum number of (the newest) memories whose neighbours are searched."""
NEIGHBOURS_PER_MEMORY = 10
"""Number of neighbours that are compared with each memory."""
RUNS_SHOWN = 20
"""Number of the latest runs in a report."""
_RUNS_LOOKED_THROUGH = 1000
"""Number of the latest runs that are searched for those of one user."""
_SEARCHES_PER_REQUEST = 50
"""Number of searches in one request; the event loop runs between requests."""


@explain_fields
@dataclass(frozen=True)
class Quality:
    """The numbers of a store, or of one user in it, at one moment."""

    at: datetime
    """When they were read."""
    user_id: str | None
    """The user; `None` means all users."""
    users: int
    """The number of users with a memory."""
    states: Counts
    """All memories by state; the fields below count only active ones."""
    categories: Counts
    """Active memories by category."""
    kinds: Counts
    """Active memories by kind."""
    importance: tuple[int, ...]
    """The number of memories by effective value, in bins of `BIN`."""
    due_soon: Counts
    """Memories due within `SOON`, not yet overdue, by what they are due for."""
    overdue: Counts
    """Memories that were due before, by what they are due for."""
    late: Counts
    """Memories overdue for more than a day, by what they are due for."""
    due_by_day: tuple[int, ...]
    """The number of memories due in each of the next `DAYS` periods of 24 hours from `at`."""
    duplicates: tuple[Pair, ...]
    """Memories with the same words, each with the oldest of them: three alike are two pairs."""
    near_duplicates: tuple[Pair, ...]
    """Differently worded memories with a cosine of at least `NEAR_DUPLICATE`; the nearest first."""
    compared: int
    """The number of memories whose neighbours were searched."""
    stale: tuple[MemoryRef, ...]
    """Memories unchanged for `STALE_AFTER` and below the value `STALE_BELOW`; the lowest first."""
    never_recalled: tuple[MemoryRef, ...]
    """Memories older than `UNREAD_AFTER` that were never retrieved; the oldest first.

    Episodes and portraits, whose retrievals are not counted, are left out.
    """
    contradictions: tuple[Pair, ...]
    """Pairs linked as contradicting each other of which both are still valid."""
    turns: Counts
    """The number of turns by state."""
    segments: Counts
    """The number of segments by state."""
    waiting_since: datetime | None
    """When the oldest waiting turn or segment was said."""
    failures: tuple[Failure, ...]
    """Failures of all kinds.

    These are turns set aside; segments, portraits and runs that failed and will be tried again; and
    unreadable records.
    """
    runs: tuple[RunRecord, ...]
    """The latest runs, newest first; for a user, only the runs for that user alone."""
    verdicts: Counts
    """The number of ops carried out, including those undone later, by op."""
    refusals: Counts
    """The number of ops refused, by reason."""
    undone: int
    """The number of ops carried out and undone later."""
    cost: Cost
    """What judging and the other work of models cost."""
    spending: tuple[Spending, ...]
    """The cost by user and day: the latest day first, of a day the dearest first."""

    @property
    def active(self) -> int:
        """The number of active memories."""
        return self.states.get(MemoryState.ACTIVE, 0)

    @property
    def is_cut(self) -> bool:
        """Whether there were too many memories to search the neighbours of each."""
        return self.compared < self.active

    @property
    def waiting(self) -> int:
        """The number of turns that wait to be judged and segments that wait to be summarised."""
        return self.turns.get(TurnState.PENDING, 0) + self.segments.get(SegmentState.WAITING, 0)


async def measure(
    knowledge: KnowledgeBase,
    now: datetime,
    *,
    user_id: str | None = None,
    max_compared: int = MAX_COMPARED,
    zone: tzinfo = UTC,
) -> Quality:
    """Measure the whole store, or one user's part of it; nothing is written.

    The days of its costs begin and end in `zone`. Raises StoreError. Everything is read once, so
    the time grows with the store, and the words of active memories are kept in memory meanwhile.
    """
    memories, journal = MemoryCounters(now, knowledge.policy), JournalCounters(zone)
    broken = await _count(knowledge, user_conditions(user_id), memories, journal)
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
        spending=journal.spending(),
    )


async def _count(
    knowledge: KnowledgeBase,
    mine: tuple[Condition, ...],
    memories: MemoryCounters,
    journal: JournalCounters,
) -> list[Failure]:
    """Count every record that can be read; return the others."""
    broken: list[Failure] = []
    async for page in read_pages(knowledge.memories, Filter(mine), size=READ_AT_ONCE):
        for point in page:
            if why := why_unreadable("memories", point):
                broken.append(_broken(point, why))
            else:
                memories.add(to_memory(point), str(point.payload.get("fingerprint")))
    counted = Filter((*mine, OneOf("type", tuple(journal.handlers))))
    async for page in read_pages(knowledge.journal.collection, counted, size=READ_AT_ONCE):
        for point in page:
            if why := why_unreadable("journal", point):
                broken.append(_broken(point, why))
            else:
                journal.handlers[point.payload["type"]](point)
    return broken


async def _runs(knowledge: KnowledgeBase, user_id: str | None) -> tuple[RunRecord, ...]:
    """Return the latest runs, newest first; runs for all users are not shown to a single one."""
    found = await latest(knowledge.journal, limit=_RUNS_LOOKED_THROUGH)
    return tuple(one for one in found if user_id in (None, one.of_user))


async def _near(
    collection: Collection, sought: Sequence[MemoryRef], active: Mapping[str, MemoryRef]
) -> tuple[Pair, ...]:
    """Return the near-duplicates of these memories by their stored vectors, each pair once."""
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
    """Return the counts by name as plain strings, the most frequent first, without zeros."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(name): count for name, count in ranked if count}
