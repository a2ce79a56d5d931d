"""The quality of a store: what is in it, what is due, said twice, stale or failed, in numbers."""

import asyncio
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from souffleur.knowledge.collection import (
    PAGE,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Payload,
    Point,
    Search as VectorSearch,
)
from souffleur.knowledge.knowledge_base import NEAR, KnowledgeBase
from souffleur.knowledge.life import effective
from souffleur.knowledge.memory import Memory, State
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.records import to_memory
from souffleur.knowledge.search import NARRATIVE
from souffleur.knowledge.session import SegmentState
from souffleur.knowledge.talk_records import to_segment, to_turn, to_upkeep
from souffleur.knowledge.turn import TurnState

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
COMPARED = 2000
"""Memories, the newest, whose nearest others are looked for: each is a search."""
NEAREST = 10
"""Neighbours looked at for each."""
_AT_ONCE = 50
"""Searches in one request; between requests the event loop goes on."""


@dataclass(frozen=True)
class Mention:
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

    first: Mention
    """The older one."""
    second: Mention
    cosine: float | None = None
    """Of near-duplicates."""


@dataclass(frozen=True)
class Failure:
    """What a model was asked for in vain."""

    what: Literal["turn", "segment", "portrait"]
    id: str
    """Of its point."""
    user_id: str
    at: datetime | None
    """When it was said; None for a portrait."""
    tries: int
    error: str


@dataclass(frozen=True)
class Cost:
    """What judging turns has cost, as far as it was noted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0


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
    """Of a cosine of `NEAR` and more, and worded differently; the nearest first."""
    compared: int
    """Memories whose neighbours were looked for."""
    stale: tuple[Mention, ...]
    """Unchanged for `STALE_AFTER` and worth less than `STALE_BELOW`; the least worth first."""
    never_recalled: tuple[Mention, ...]
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
    """Turns set aside; segments and portraits that failed and are tried again."""
    verdicts: Counts
    """Ops of the ledger that were carried out, later undone or not."""
    refusals: Counts
    undone: int
    cost: Cost

    @property
    def active(self) -> int:
        """How many memories are active."""
        return self.states.get(State.ACTIVE, 0)

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
    most_compared: int = COMPARED,
) -> Quality:
    """Read the whole store, or all that is of one user, once; nothing is written.

    Raises StoreError. Time grows with the store; the words of active memories are held meanwhile.
    """
    whose: tuple[Condition, ...] = () if user_id is None else (Is("user_id", user_id),)
    kept, told = _Kept(now, knowledge.policy), _Told()
    async for point in _each(knowledge.memories, Filter(whose)):
        kept.take(to_memory(point), point.payload["fingerprint"])
    types = OneOf("type", tuple(told.takers))
    async for point in _each(knowledge.journal.collection, Filter((*whose, types))):
        told.takers[point.payload["type"]](point.payload)
    newest = heapq.nlargest(most_compared, kept.active.values(), key=_age)
    return Quality(
        at=now,
        user_id=user_id,
        users=len(kept.users | told.users),
        states=_sorted(kept.states),
        categories=_sorted(kept.categories),
        kinds=_sorted(kept.kinds),
        importance=tuple(kept.importance),
        due_soon=_sorted(kept.due_soon),
        overdue=_sorted(kept.overdue),
        late=_sorted(kept.late),
        due_by_day=tuple(kept.due_by_day),
        duplicates=kept.duplicates(),
        near_duplicates=await _near(knowledge.memories, newest, kept.active),
        compared=len(newest),
        stale=tuple(sorted(kept.stale, key=lambda one: (one.value, one.id))),
        never_recalled=tuple(sorted(kept.never_recalled, key=_age)),
        contradictions=kept.contradictions(),
        turns=_sorted(told.turns),
        segments=_sorted(told.segments),
        waiting_since=min(told.waiting, default=None),
        failures=tuple(sorted(told.failures, key=lambda one: (one.what, one.user_id, one.id))),
        verdicts=_sorted(told.verdicts),
        refusals=_sorted(told.refusals),
        undone=told.undone,
        cost=told.cost(),
    )


def bin_of(value: float) -> int:
    """The bin of the histogram that holds a value.

    >>> bin_of(0), bin_of(0.25), bin_of(2.99), bin_of(3), bin_of(99)
    (0, 1, 11, 12, 12)
    """
    return min(int(value / BIN), BINS - 1)


class _Kept:
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
        self.active: dict[str, Mention] = {}
        self.stale: list[Mention] = []
        self.never_recalled: list[Mention] = []
        self._wordings: defaultdict[tuple[str, str], list[Mention]] = defaultdict(list)
        self._held: set[str] = set()
        self._against: list[tuple[str, str]] = []

    def take(self, memory: Memory, wording: str) -> None:
        """Count one."""
        self.users.add(memory.user_id)
        self.states[memory.state] += 1
        if memory.state is not State.ACTIVE:
            return
        value = effective(memory, self._now, self._policy)
        one = Mention(memory.id, memory.user_id, memory.content, value, memory.created_at)
        self.active[one.id] = one
        self.categories[memory.category] += 1
        self.kinds[memory.kind] += 1
        self.importance[bin_of(value)] += 1
        self._wordings[one.user_id, wording].append(one)
        self._take_due(memory)
        self._take_age(memory, one)
        if all(end is None or end > self._now for end in (memory.valid_until, memory.expires_at)):
            self._held.add(one.id)
            links = (link.to for link in memory.relations if link.type == "contradicts")
            self._against += [(one.id, other) for other in links]

    def _take_due(self, memory: Memory) -> None:
        if memory.due_at is None:
            return
        what, left = str(memory.due_for), memory.due_at - self._now
        self.overdue[what] += left <= timedelta()
        self.late[what] += left < -DAY
        self.due_soon[what] += timedelta() < left < SOON
        if timedelta() < left < DAYS * DAY:
            self.due_by_day[left // DAY] += 1

    def _take_age(self, memory: Memory, one: Mention) -> None:
        if self._now - memory.updated_at > STALE_AFTER and one.value < STALE_BELOW:
            self.stale.append(one)
        unread = memory.recalls == 0 and memory.category not in NARRATIVE
        if unread and self._now - memory.created_at > UNREAD_AFTER:
            self.never_recalled.append(one)

    def duplicates(self) -> tuple[Pair, ...]:
        """Memories of a user in the same words, each with the oldest of them."""
        alike = [sorted(group, key=_age) for group in self._wordings.values() if len(group) > 1]
        pairs = [Pair(group[0], other) for group in alike for other in group[1:]]
        return tuple(sorted(pairs, key=lambda pair: (_age(pair.first), _age(pair.second))))

    def contradictions(self) -> tuple[Pair, ...]:
        """Linked memories of a user that are both held to be true, each pair once."""
        links = {(min(link), max(link)) for link in self._against if set(link) <= self._held}
        both = [(self.active[one], self.active[other]) for one, other in links if one != other]
        pairs = [_pair(*two) for two in both]
        mine = [pair for pair in pairs if pair.first.user_id == pair.second.user_id]
        return tuple(sorted(mine, key=lambda pair: (_age(pair.first), _age(pair.second))))


class _Told:
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
        self._verdict_of: dict[str, tuple[int, str]] = {}
        self.takers: dict[str, Callable[[Payload], None]] = {
            "turn": self._take_turn,
            "segment": self._take_segment,
            "upkeep": self._take_upkeep,
            "entry": self._take_entry,
        }

    def _take_turn(self, payload: Payload) -> None:
        turn = to_turn(payload)
        self.users.add(turn.user_id)
        self.turns[turn.state] += 1
        if turn.state is TurnState.PENDING:
            self.waiting.append(turn.at)
        elif turn.state is TurnState.FAILED:
            failure = Failure("turn", turn.id, turn.user_id, turn.at, turn.tries, turn.error)
            self.failures.append(failure)
        if turn.judged:
            self._judged[turn.id] = turn.judged

    def _take_segment(self, payload: Payload) -> None:
        one = to_segment(payload)
        self.segments[one.state] += 1
        if one.state is SegmentState.WAITING:
            self.waiting.append(one.at)
            if one.tries:
                failure = Failure("segment", one.id, one.user_id, one.at, one.tries, one.error)
                self.failures.append(failure)

    def _take_upkeep(self, payload: Payload) -> None:
        one = to_upkeep(payload)
        if one.error:
            failure = Failure("portrait", one.id, one.user_id, None, one.tries, one.error)
            self.failures.append(failure)

    def _take_entry(self, payload: Payload) -> None:
        # Read as it lies: an entry holds whole memories, and few of its fields are wanted.
        if payload.get("refused"):
            self.refusals[payload["refused"]] += 1
        else:
            self.verdicts[payload["op"]] += 1
        self.undone += bool(payload.get("undone_by"))
        if payload["op"] != "UNDO":
            latest = (payload["seq"], payload["verdict_id"])
            for turn_id in payload["turn_ids"]:
                self._verdict_of[turn_id] = max(latest, self._verdict_of.get(turn_id, latest))

    def cost(self) -> Cost:
        """Turns that were judged in one call share its cost, so each verdict counts once."""
        once = {self._verdict_of.get(id, (0, id))[1]: noted for id, noted in self._judged.items()}
        calls, into, out, dollars = (
            [noted.get(key, 0) for noted in once.values()]
            for key in ("calls", "input_tokens", "output_tokens", "cost")
        )
        return Cost(sum(calls), sum(into), sum(out), math.fsum(dollars))


async def _each(collection: Collection, wanted: Filter) -> AsyncIterator[Point]:
    """All points that match, a page at a time; the event loop goes on in between."""
    after: str | None = None
    while True:
        page, after = await collection.scroll(wanted, limit=PAGE, after=after)
        for point in page:
            yield point
        if after is None:
            return
        await asyncio.sleep(0)


async def _near(
    collection: Collection, sought: Sequence[Mention], active: Mapping[str, Mention]
) -> tuple[Pair, ...]:
    """The near-duplicates of these memories, by their own vectors, each pair once."""
    found: dict[frozenset[str], Pair] = {}
    for start in range(0, len(sought), _AT_ONCE):
        ids = [one.id for one in sought[start : start + _AT_ONCE]]
        points = [point for point in await collection.get(ids, vectors=True) if point.dense]
        hits = await collection.search([_neighbours(point) for point in points])
        for point, near in zip(points, hits, strict=True):
            for hit in near:
                if hit.score >= NEAR and _differ(point, hit.point) and hit.point.id in active:
                    both = active[point.id], active[hit.point.id]
                    found[frozenset((point.id, hit.point.id))] = _pair(*both, cosine=hit.score)
        await asyncio.sleep(0)
    return tuple(
        sorted(
            found.values(), key=lambda pair: (-(pair.cosine or 0), pair.first.id, pair.second.id)
        )
    )


def _neighbours(point: Point) -> VectorSearch:
    mine = Filter((Is("user_id", point.payload["user_id"]), Is("state", State.ACTIVE)))
    return VectorSearch(point.dense or (), mine, NEAREST + 1)  # it finds itself too


def _differ(one: Point, other: Point) -> bool:
    return bool(one.payload["fingerprint"] != other.payload["fingerprint"])


def _pair(one: Mention, other: Mention, cosine: float | None = None) -> Pair:
    first, second = sorted((one, other), key=_age)
    return Pair(first, second, cosine)


def _age(one: Mention) -> tuple[datetime, str]:
    return one.created_at, one.id


def _sorted(counts: Counter[str]) -> Counts:
    """Names as plain strings; those that never came up are left out."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    return {str(name): count for name, count in ranked if count}
