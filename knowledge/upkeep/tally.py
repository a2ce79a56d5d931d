"""What the report of a store counts, while its memories and its journal pass by."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from souffleur.knowledge.decay import effective
from souffleur.knowledge.engine.collection import Payload, Point
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.talk.session import SegmentState
from souffleur.knowledge.talk.talk_codec import to_portrait_status, to_segment, to_turn
from souffleur.knowledge.talk.turn import TurnState
from souffleur.knowledge.upkeep.run_log import RunRecord

Counts = dict[str, int]
"""By name, the most frequent first."""

BIN = 0.25
"""Width of a bin of the histogram, in the policy's unit."""
BINS = 13
"""From 0 to 3; the last holds all from 3 on."""
SOON = timedelta(days=7)
DAY = timedelta(days=1)
DAYS = 30
"""Days ahead for which what is due is counted."""
STALE_AFTER = timedelta(days=90)
STALE_BELOW = 0.5
UNREAD_AFTER = timedelta(days=30)


@dataclass(frozen=True)
class MemoryRef:
    """A memory, named in a report."""

    id: str
    user_id: str
    content: str
    value: float
    """Its effective value at the time of the report."""
    created_at: datetime


@dataclass(frozen=True)
class Pair:
    """Two active memories of one user that ought not to stand beside each other."""

    first: MemoryRef
    """The older one."""
    second: MemoryRef
    cosine: float | None = None
    """Of near-duplicates."""

    @classmethod
    def of(cls, one: MemoryRef, other: MemoryRef, cosine: float | None = None) -> "Pair":
        """Both, in the order of their age."""
        first, second = sorted((one, other), key=age)
        return cls(first, second, cosine)


@dataclass(frozen=True)
class Failure:
    """What was asked for in vain."""

    what: Literal["turn", "segment", "portrait", "run", "record"]
    id: str
    """Of its point."""
    user_id: str
    """Of a run over everybody: empty."""
    at: datetime | None
    """When it was said, or a run began; None for a portrait."""
    tries: int
    error: str
    count: int = 1
    """What it stands for: of a run, all that failed in it."""


@dataclass(frozen=True)
class Cost:
    """What the models have cost, as far as it was noted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


def age(one: MemoryRef) -> tuple[datetime, str]:
    """What sorts the oldest first, always in the same order."""
    return one.created_at, one.id


def failed_runs(runs: Iterable[RunRecord]) -> Iterator[Failure]:
    """The failures of the runs that nothing has made good since; `runs`: the newest first.

    What failed stays due, so a later run of the same name over the same user, or over everybody,
    has tried it again.
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
    """The bin of the histogram that holds a value.

    >>> bin_of(0), bin_of(0.25), bin_of(2.99), bin_of(3), bin_of(99)
    (0, 1, 11, 12, 12)
    """
    return min(int(value / BIN), BINS - 1)


class MemoryCounters:
    """What is counted of the memories while they pass by."""

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
        self._held: set[str] = set()
        self._against: list[tuple[str, str]] = []

    def add(self, memory: Memory, wording: str) -> None:
        """Count one."""
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
        if all(end is None or end > self._now for end in (memory.valid_until, memory.expires_at)):
            self._held.add(one.id)
            links = (link.to for link in memory.relations if link.type == "contradicts")
            self._against += [(one.id, other) for other in links]

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
        if self._now - memory.updated_at > STALE_AFTER and one.value < STALE_BELOW:
            self.stale.append(one)
        unread = memory.recalls == 0 and memory.category not in NARRATIVE
        if unread and self._now - memory.created_at > UNREAD_AFTER:
            self.never_recalled.append(one)

    def duplicates(self) -> tuple[Pair, ...]:
        """Memories of a user in the same words, each with the oldest of them."""
        alike = [sorted(group, key=age) for group in self._wordings.values() if len(group) > 1]
        pairs = [Pair(group[0], other) for group in alike for other in group[1:]]
        return tuple(sorted(pairs, key=lambda pair: (age(pair.first), age(pair.second))))

    def contradictions(self) -> tuple[Pair, ...]:
        """Linked memories of a user that are both held to be true, each pair once."""
        links = {(min(link), max(link)) for link in self._against if set(link) <= self._held}
        both = [(self.active[one], self.active[other]) for one, other in links if one != other]
        pairs = [Pair.of(*two) for two in both]
        mine = [pair for pair in pairs if pair.first.user_id == pair.second.user_id]
        return tuple(sorted(mine, key=lambda pair: (age(pair.first), age(pair.second))))


class JournalCounters:
    """What is counted of the journal while it passes by."""

    def __init__(self) -> None:
        self.users: set[str] = set()
        self.turns: Counter[str] = Counter()
        self.segments: Counter[str] = Counter()
        self.waiting: list[datetime] = []
        self.failures: list[Failure] = []
        self.verdicts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.undone = 0
        self._judged: dict[str, Payload] = {}
        self._spent: list[Payload] = []
        self._costs: dict[str, Payload] = {}
        """By verdict, as the ledger has it."""
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
        if turn.state is TurnState.PENDING:
            self.waiting.append(turn.at)
        elif turn.state is TurnState.FAILED:
            failure = Failure("turn", turn.id, turn.user_id, turn.at, turn.tries, turn.error)
            self.failures.append(failure)
        if turn.judged:
            self._judged[turn.id] = turn.judged
        if turn.spent:
            self._spent.append(turn.spent)

    def _add_segment(self, point: Point) -> None:
        one = to_segment(point)
        self.segments[one.state] += 1
        if one.state is SegmentState.WAITING:
            self.waiting.append(one.at)
            if one.tries:
                failure = Failure("segment", one.id, one.user_id, one.at, one.tries, one.error)
                self.failures.append(failure)

    def _add_portrait(self, point: Point) -> None:
        one = to_portrait_status(point)
        if one.error:
            failure = Failure("portrait", one.id, one.user_id, None, one.tries, one.error)
            self.failures.append(failure)

    def _add_entry(self, point: Point) -> None:
        payload = point.payload
        # Read as it lies: an entry holds whole memories, and few of its fields are wanted.
        if payload.get("refused"):
            self.refusals[payload["refused"]] += 1
        else:
            self.verdicts[payload["op"]] += 1
        self.undone += bool(payload.get("undone_by"))
        if payload.get("cost"):
            self._costs[payload["verdict_id"]] = payload["cost"]
        if payload["op"] != "UNDO":
            latest = (payload["seq"], payload["verdict_id"])
            for turn_id in payload["turn_ids"]:
                self._verdict_of[turn_id] = max(latest, self._verdict_of.get(turn_id, latest))

    def cost(self) -> Cost:
        """Each verdict counts once; turns that were judged in one call share one."""
        once = {self._verdict_of.get(id, (0, id))[1]: noted for id, noted in self._judged.items()}
        once |= self._costs
        each = [*once.values(), *self._spent]
        calls, into, out, dollars = (
            [noted.get(key, 0) for noted in each]
            for key in ("calls", "input_tokens", "output_tokens", "cost")
        )
        return Cost(sum(calls), sum(into), sum(out), math.fsum(dollars))
