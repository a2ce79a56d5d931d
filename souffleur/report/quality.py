"""The quality of a store in numbers: contents, due times, duplicates, stale memories, failures."""

import asyncio
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, NamedTuple

from souffleur.knowledge.decay import effective
from souffleur.knowledge.identity import (
    COMMON,
    PERSONAS,
    reading_sphere,
    sphere_conditions,
    user_conditions,
)
from souffleur.knowledge.knowledge_base import NEAR_DUPLICATE, KnowledgeBase
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.session import Segment, SegmentState
from souffleur.knowledge.store.codecs import to_memory, to_segment, to_turn
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Payload,
    Point,
    Search as VectorSearch,
    read_pages,
)
from souffleur.knowledge.store.reading import READ_AT_ONCE, read
from souffleur.knowledge.store.records import why_unreadable
from souffleur.knowledge.store.runs.run_log import RunRecord, latest
from souffleur.knowledge.turn import TurnState

Counts = dict[str, int]
"""Numbers by name, the most frequent first."""

BIN = 0.25
"""Width of a histogram bin, in the policy's unit."""
BINS = 13
"""Number of histogram bins, from 0 to 3; the last one contains all values from 3 on."""
SOON = timedelta(days=7)
DAY = timedelta(days=1)
DAYS = 30
"""Number of days ahead for which due memories are counted."""
STALE_AFTER = timedelta(days=90)
STALE_BELOW = 0.5
UNREAD_AFTER = timedelta(days=30)


@dataclass(frozen=True)
class MemoryRef:
    """A memory in a report."""

    id: str
    user_id: str
    content: str
    value: float
    """The effective value at the time of the report."""
    created_at: datetime


@dataclass(frozen=True)
class Pair:
    """Two active memories of one user that should not both be kept."""

    first: MemoryRef
    """The older memory."""
    second: MemoryRef
    cosine: float | None = None
    """The cosine, for near-duplicates."""

    @classmethod
    def of(cls, one: MemoryRef, other: MemoryRef, cosine: float | None = None) -> "Pair":
        """Return a pair of two memories, the older memory first."""
        first, second = sorted((one, other), key=age)
        return cls(first, second, cosine)


@dataclass(frozen=True)
class Failure:
    """A failed task."""

    what: Literal["turn", "segment", "portrait", "run", "record"]
    id: str
    """The id of the point."""
    user_id: str
    """The user; empty for a run over all users."""
    at: datetime | None
    """The time of the turn, or the start of the run; `None` for portraits and records."""
    tries: int
    error: str
    many: int = 1
    """The number of failures; for a run, the failed items."""


@dataclass(frozen=True)
class Cost:
    """The cost of all recorded model calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True)
class Spending:
    """The cost of a user's model calls on one day."""

    day: date
    """The day of the turn or decision, in the zone of the report."""
    user_id: str
    cost: Cost


class _Noted(NamedTuple):
    """A recorded cost."""

    user_id: str
    day: date
    cost: Payload


def age(one: MemoryRef) -> tuple[datetime, str]:
    """Return a sort key that puts the oldest memory first, in a stable order."""
    return one.created_at, one.id


def failed_runs(runs: Iterable[RunRecord]) -> Iterator[Failure]:
    """Yield the failures of runs that were not repeated later; `runs` has the newest run first.

    A later run of the same name, for the same user or for all users, has tried failed items again.
    """
    later: set[tuple[str, str | None]] = set()
    for run in runs:
        if not later & {(run.name, run.of_user), (run.name, None)}:
            later.add((run.name, run.of_user))
            if count := run.counts.get("FAILED", 0):
                why = run.errors[0] if run.errors else ""
                error = f"{run.name}: {count} of {run.due} failed: {why}"
                yield Failure("run", run.id, run.of_user or "", run.began, 1, error, count)


def bin_of(value: float) -> int:
    """Return the index of the histogram bin that contains a value.

    >>> bin_of(0), bin_of(0.25), bin_of(2.99), bin_of(3), bin_of(99)
    (0, 1, 11, 12, 12)
    """
    return min(int(value / BIN), BINS - 1)


class MemoryCounters:
    """Counts memories one by one."""

    def __init__(self, now: datetime, policy: Policy) -> None:
        self._now = now
        self._policy = policy
        self.users: set[str] = set()
        self.states: Counter[str] = Counter()
        self.categories: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.importance = [0] * BINS
        self.due_soon: Counter[str] = Counter()
        self.overdue: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.due_by_day = [0] * DAYS
        self.active: dict[str, MemoryRef] = {}
        self.stale: list[MemoryRef] = []
        self.never_recalled: list[MemoryRef] = []
        self._wordings: defaultdict[tuple[str, str, str], list[MemoryRef]] = defaultdict(list)

    def add(self, memory: Memory, wording: str) -> None:
        """Count a memory; `wording` is its fingerprint."""
        self.users.add(memory.user_id)
        self.states[memory.state] += 1
        if memory.state is not MemoryState.ACTIVE:
            return
        value = effective(memory, self._now, self._policy)
        one = MemoryRef(memory.id, memory.user_id, memory.content, value, memory.created_at)
        self.active[one.id] = one
        self.categories[memory.category] += 1
        self.kinds[memory.kind] += 1
        self.importance[bin_of(value)] += 1
        self._wordings[one.user_id, reading_sphere(memory.sphere), wording].append(one)
        self._add_due(memory)
        self._add_age(memory, one)

    def _add_due(self, memory: Memory) -> None:
        if memory.due_at is None:
            return
        what, left = str(memory.due_for), memory.due_at - self._now
        self.overdue[what] += left <= timedelta()
        self.late[what] += left < -DAY
        self.due_soon[what] += timedelta() < left < SOON
        if timedelta() < left < DAYS * DAY:
            self.due_by_day[left // DAY] += 1

    def _add_age(self, memory: Memory, one: MemoryRef) -> None:
        unchanged = self._now - max(memory.updated_at, memory.anchor_at)  # imported: since then
        if unchanged > STALE_AFTER and one.value < STALE_BELOW:
            self.stale.append(one)
        unread = memory.recalls == 0 and memory.category not in NARRATIVE
        if unread and self._now - memory.anchor_at > UNREAD_AFTER:
            self.never_recalled.append(one)

    def duplicates(self) -> tuple[Pair, ...]:
        """Return the memories of a user with the same words, each paired with the oldest memory."""
        alike = [sorted(group, key=age) for group in self._wordings.values() if len(group) > 1]
        pairs = [Pair(group[0], other) for group in alike for other in group[1:]]
        return tuple(sorted(pairs, key=lambda pair: (age(pair.first), age(pair.second))))


class JournalCounters:
    """Counts records of the journal one by one."""

    def __init__(self, zone: tzinfo = UTC) -> None:
        """Days begin and end in `zone`."""
        self._zone = zone
        self.users: set[str] = set()
        self.turns: Counter[str] = Counter()
        self.segments: Counter[str] = Counter()
        self._arrived: dict[str, datetime] = {}
        """When turns arrived that were said at another time, by their ids."""
        self._turns_waiting: list[datetime] = []
        self._segments_waiting: list[Segment] = []
        self.failures: list[Failure] = []
        self.verdicts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.undone = 0
        self._judged: dict[str, _Noted] = {}
        self._spent: list[_Noted] = []
        self._costs: dict[str, _Noted] = {}
        """The cost of each verdict according to the ledger."""
        self._verdict_of: dict[str, tuple[int, str]] = {}
        self.handlers: dict[str, Callable[[Point], None]] = {
            "turn": self._add_turn,
            "segment": self._add_segment,
            "upkeep": self._add_portrait,
            "entry": self._add_entry,
        }

    def _add_turn(self, point: Point) -> None:
        turn = to_turn(point)
        self.users.add(turn.user_id)
        self.turns[turn.state] += 1
        if turn.arrived_at:
            self._arrived[turn.id] = turn.arrived_at
        if turn.state is TurnState.PENDING:
            self._turns_waiting.append(turn.waits_since)
        elif turn.state is TurnState.FAILED:
            failure = Failure("turn", turn.id, turn.user_id, turn.at, turn.tries, turn.error)
            self.failures.append(failure)
        if turn.judged:
            self._judged[turn.id] = self._noted(turn.user_id, turn.at, turn.judged)
        if turn.spent:
            self._spent.append(self._noted(turn.user_id, turn.at, turn.spent))

    def _add_segment(self, point: Point) -> None:
        one = to_segment(point)
        self.segments[one.state] += 1
        if one.spent:
            self._spent.append(self._noted(one.user_id, one.at, one.spent))
        if one.state is SegmentState.WAITING:
            self._segments_waiting.append(one)
            if one.tries:
                failure = Failure("segment", one.id, one.user_id, one.at, one.tries, one.error)
                self.failures.append(failure)

    def _add_portrait(self, point: Point) -> None:
        one = read(point, PortraitStatus)
        if one.error:
            failure = Failure("portrait", one.id, one.user_id, None, one.tries, one.error)
            self.failures.append(failure)

    def _add_entry(self, point: Point) -> None:
        payload = point.payload
        # Read without parsing: an entry contains whole memories, and few of its fields are needed.
        if payload.get("refused"):
            self.refusals[payload["refused"]] += 1
        else:
            self.verdicts[payload["op"]] += 1
        self.undone += bool(payload.get("undone_by"))
        if payload.get("cost"):
            decided = datetime.fromisoformat(payload["at"])
            noted = self._noted(payload["user_id"], decided, payload["cost"])
            self._costs[payload["verdict_id"]] = noted
        if payload["op"] != "UNDO":
            latest = (payload["seq"], payload["verdict_id"])
            for turn_id in payload["turn_ids"]:
                self._verdict_of[turn_id] = max(latest, self._verdict_of.get(turn_id, latest))

    def _noted(self, user_id: str, at: datetime, cost: Payload) -> _Noted:
        return _Noted(user_id, at.astimezone(self._zone).date(), cost)

    @property
    def waiting_since(self) -> datetime | None:
        """Since when the oldest turn or segment waits; one that was imported, since its import."""
        segments = (self._arrived.get(one.turn_ids[-1], one.at) for one in self._segments_waiting)
        return min((*self._turns_waiting, *segments), default=None)

    def cost(self) -> Cost:
        """Return the total cost; a verdict counts once, even if it judged several turns."""
        return _total(noted.cost for noted in self._each())

    def spending(self) -> tuple[Spending, ...]:
        """Return the cost by user and day: the latest day first; in a day, the highest first."""
        groups: defaultdict[tuple[date, str], list[Payload]] = defaultdict(list)
        for noted in self._each():
            groups[noted.day, noted.user_id].append(noted.cost)
        found = [Spending(*group, _total(costs)) for group, costs in groups.items()]
        asked = (one for one in found if one.cost.calls)
        return tuple(sorted(asked, key=_latest_and_dearest))

    def _each(self) -> list[_Noted]:
        once = {self._verdict_of.get(id, (0, id))[1]: noted for id, noted in self._judged.items()}
        once |= self._costs
        return [*once.values(), *self._spent]


def _total(costs: Iterable[Payload]) -> Cost:
    each = list(costs)
    calls, into, out, dollars = (
        [noted.get(key, 0) for noted in each]
        for key in ("calls", "input_tokens", "output_tokens", "cost")
    )
    return Cost(int(sum(calls)), int(sum(into)), int(sum(out)), math.fsum(dollars))


def _latest_and_dearest(one: Spending) -> tuple[int, float, float, str]:
    tokens = one.cost.input_tokens + one.cost.output_tokens
    return -one.day.toordinal(), -one.cost.dollars, -tokens, one.user_id


MAX_COMPARED = 2000
"""Maximum number of memories whose neighbours are searched; the newest memories are taken."""
NEIGHBOURS_PER_MEMORY = 10
"""Number of neighbours that are compared with each memory."""
RUNS_SHOWN = 20
"""Number of the latest runs in a report."""
_RUNS_LOOKED_THROUGH = 1000
"""Number of the latest runs that are searched for the runs of a user."""
_SEARCHES_PER_REQUEST = 50
"""Number of searches in a request; other tasks of the event loop run between requests."""


@dataclass(frozen=True)
class Quality:
    """The numbers of a store, or of a single user in it, at one moment."""

    at: datetime
    """The time of the measurement."""
    user_id: str | None
    """The user; `None` means all users."""
    users: int
    """The number of users with a memory."""
    states: Counts
    """All memories by state; the fields below count only active memories."""
    categories: Counts
    """Active memories by category."""
    kinds: Counts
    """Active memories by kind."""
    importance: tuple[int, ...]
    """The number of memories by effective value, in bins of `BIN`."""
    due_soon: Counts
    """Memories due within `SOON`, not yet overdue, by the reason why they are due."""
    overdue: Counts
    """Memories that were due before, by the reason why they are due."""
    late: Counts
    """Memories overdue for more than a day, by the reason why they are due."""
    due_by_day: tuple[int, ...]
    """The number of memories due in each of the next `DAYS` periods of 24 hours from `at`."""
    duplicates: tuple[Pair, ...]
    """Memories with the same words, each with the oldest: three equal memories are two pairs."""
    near_duplicates: tuple[Pair, ...]
    """Memories with different words and a cosine of at least `NEAR_DUPLICATE`; nearest first."""
    compared: int
    """The number of memories whose neighbours were searched."""
    stale: tuple[MemoryRef, ...]
    """Memories unchanged for `STALE_AFTER` and below the value `STALE_BELOW`; the lowest first."""
    never_recalled: tuple[MemoryRef, ...]
    """Memories older than `UNREAD_AFTER` that were never retrieved, without episodes and portraits;
    the oldest first."""
    turns: Counts
    """The number of turns by state."""
    segments: Counts
    """The number of segments by state."""
    waiting_since: datetime | None
    """Since when the oldest turn or segment waits."""
    failures: tuple[Failure, ...]
    """Turns set aside, failed segments, portraits and runs, and unreadable records."""
    runs: tuple[RunRecord, ...]
    """The latest runs, newest first; for a user, only the runs for that user alone."""
    verdicts: Counts
    """The number of ops carried out, including those undone later, by op."""
    refusals: Counts
    """The number of ops refused, by reason."""
    undone: int
    """The number of ops carried out and undone later."""
    cost: Cost
    """The cost of all model calls."""
    spending: tuple[Spending, ...]
    """The cost by user and day: the latest day first; in a day, the highest cost first."""

    @property
    def active(self) -> int:
        """The number of active memories."""
        return self.states.get(MemoryState.ACTIVE, 0)

    @property
    def is_cut(self) -> bool:
        """Whether only the neighbours of some memories were searched."""
        return self.compared < self.active

    @property
    def waiting(self) -> int:
        """The number of turns waiting for the judge and segments waiting for the summarizer."""
        return self.turns.get(TurnState.PENDING, 0) + self.segments.get(SegmentState.WAITING, 0)


async def measure(
    knowledge: KnowledgeBase,
    now: datetime,
    *,
    user_id: str | None = None,
    max_compared: int = MAX_COMPARED,
    zone: tzinfo = UTC,
) -> Quality:
    """Measure the whole store, or the part of a single user; nothing is written.

    The days of costs are days in `zone`. Everything is read once, so the time grows with the
    store; the words of active memories are held in memory. Raises StoreError.
    """
    memories, journal = MemoryCounters(now, knowledge.policy), JournalCounters(zone)
    broken = await _count(knowledge, user_conditions(user_id), memories, journal)
    runs = await _runs(knowledge, user_id)
    failures = [*broken, *journal.failures, *failed_runs(runs)]
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
        turns=_sorted(journal.turns),
        segments=_sorted(journal.segments),
        waiting_since=journal.waiting_since,
        failures=tuple(sorted(failures, key=lambda one: (one.what, one.user_id, one.id))),
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
    """Count every record that can be read; return a failure for each other record."""
    broken: list[Failure] = []

    def is_readable(kind: Literal["memories", "journal"], point: Point) -> bool:
        if why := why_unreadable(kind, point):
            user_id = str(point.payload.get("user_id", ""))
            broken.append(Failure("record", point.id, user_id, None, 0, why))
        return not why

    async for page in read_pages(knowledge.memories, Filter(mine), size=READ_AT_ONCE):
        for point in page:
            if is_readable("memories", point):
                memories.add(to_memory(point), str(point.payload.get("fingerprint")))
    counted = Filter((*mine, OneOf("type", tuple(journal.handlers))))
    async for page in read_pages(knowledge.journal.collection, counted, size=READ_AT_ONCE):
        for point in page:
            if is_readable("journal", point):
                journal.handlers[point.payload["type"]](point)
    return broken


async def _runs(knowledge: KnowledgeBase, user_id: str | None) -> tuple[RunRecord, ...]:
    """Return the latest runs, newest first; for a user, only the runs for that user alone."""
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
                one, other = active[point.id], active.get(hit.point.id)
                differs = point.payload["fingerprint"] != hit.point.payload["fingerprint"]
                if other and differs and hit.score >= NEAR_DUPLICATE:
                    found[frozenset((one.id, other.id))] = Pair.of(one, other, hit.score)
        await asyncio.sleep(0)
    nearest = sorted(
        found.values(), key=lambda one: (-(one.cosine or 0), one.first.id, one.second.id)
    )
    return tuple(nearest)


def _neighbours(point: Point) -> VectorSearch:
    sphere = reading_sphere(str(point.payload.get("sphere") or COMMON))
    user, active = Is("user_id", point.payload["user_id"]), Is("state", MemoryState.ACTIVE)
    mine = Filter((user, active, *sphere_conditions(sphere)))
    return VectorSearch(point.dense or (), mine, NEIGHBOURS_PER_MEMORY + 1)  # + the memory itself


def _sorted(counts: Counter[str]) -> Counts:
    """Return the counts by name as plain strings, the most frequent first, without zeros."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(name): count for name, count in ranked if count}
