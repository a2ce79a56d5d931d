"""The memory of a point and how it fades, found out once while the point stays as it is."""

import asyncio
import math
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from souffleur.knowledge.decay import effective
from souffleur.knowledge.identity import COMMON, check_id, knows, sphere_conditions
from souffleur.knowledge.memory import GUARDS, NARRATIVE, Category, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.search.nearness import DenseEncoder, hybrid_search
from souffleur.knowledge.search.periods import Period, find_period
from souffleur.knowledge.search.turns import NearTurn, hybrid_search_turns
from souffleur.knowledge.store.codecs import masked_reader, to_memories
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Point,
)
from souffleur.knowledge.store.engine.memo import USERS_KEPT
from souffleur.knowledge.store.labels import has, has_any
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.turn import Turn

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder


RELEVANCE_GATE = 0.3
"""Minimum relevance of a memory that is whispered."""
LEAST_WEIGHT = 0.75
"""Least weight of a relevance in a rank score; importance and recency add up to 0.25."""
BEHIND_RELEVANT = LEAST_WEIGHT * RELEVANCE_GATE
"""Relevance below which nothing is ranked before what is relevant."""
CONTEXT_WEIGHT = 0.4
"""What the talk before counts against the message itself."""
CUE_WEIGHT = 0.8
"""What nearness to a cue counts against nearness to the memory itself."""
HOP_SHARE = 0.6
"""Share of a hit's relevance that a memory with the same name or a relation to it gets."""
MAX_LINKED = 3
OTHER_TIME_WEIGHT = 2 / 3
"""Weight of a turn from outside the time that the text names."""
TOLD_LATER_WEIGHT = 0.85
"""Weight of a turn from soon after that time: things are told a day later ("yesterday I …")."""
TOLD_WITHIN = timedelta(days=7)
"""Time after a period in which what happened then is still told."""
INSTANT = timedelta(microseconds=1)
_UTC = ZoneInfo("UTC")
COMMON_NAME_MEMORIES = 6
"""Number of memories from which their common name no longer links them."""


class Scope(StrEnum):
    """The records that a search covers."""

    MEMORIES = "memories"
    """Facts, core memories and skills, which the monitor sees."""
    EPISODES = "episodes"
    """Summaries of conversations."""
    TURNS = "turns"
    """Raw turns, word for word."""


EVERYWHERE = tuple(Scope)

CLEARLY_MEANT = 0.45
"""Minimum relevance of a memory that a text clearly means, as one to forget."""


@dataclass(frozen=True)
class Query:
    """A search for the records of one user, as of a certain time."""

    user_id: str
    """The user whose records are searched."""
    text: str
    """What to look for."""
    now: datetime
    """The time of the search, by which values fade and plans end."""
    context: str = ""
    """The previous messages, which have less weight."""
    agent_id: str | None = None
    """Return only what this persona learned; `None` means any persona."""
    sphere: str | None = COMMON
    """Return only what may be known in this sphere; `None` means all, for user and host."""
    as_of: datetime | None = None
    """Return what was true then, including superseded memories; `None` means what is true now."""
    limit: int = 8
    """Maximum records returned."""
    categories: tuple[str, ...] = ()
    """Return only these categories; if empty, `scope` decides."""
    scope: tuple[Scope, ...] = (Scope.MEMORIES,)
    """Which records are searched."""
    since: datetime | None = None
    """Return only what was learned or talked about at or after this time."""
    until: datetime | None = None
    """Return only what was learned or talked about before this time."""
    raw_since: datetime | None = None
    """The time before which raw turns have expired."""
    zone: ZoneInfo = _UTC
    """The time zone of dates named in the text."""
    within: float | None = None
    """Maximum seconds for the embedder; `None` means the usual time-out."""
    by_words: bool = False
    """Whether to search by words alone, without the embedder."""
    relevant: bool = False
    """Whether to return only relevant memories and episodes, of those that `limit` leaves."""

    def __post_init__(self) -> None:
        """Check the user's id. Raises InputError if it is invalid."""
        check_id(self.user_id)


@dataclass(frozen=True)
class Found:
    """A memory, an episode or a raw turn, and why it was found."""

    item: Memory | Turn
    """What was found."""
    score: float
    """The rank score: relevance, weighted by importance and recency."""
    relevance: float
    """The relevance from 0 (unrelated) to 1 (the same words and sense)."""
    effective: float
    """The importance now, in the policy's unit."""
    parts: dict[str, float] = field(default_factory=dict)
    """The score taken apart: cosine, lexical and those of its cues, importance, recency, hop; of
    turns also context."""

    @property
    def memory(self) -> Memory:
        """The memory or episode. Raises TypeError for a raw turn (only with `Scope.TURNS`)."""
        if isinstance(self.item, Turn):
            raise TypeError("this is a raw turn: read `item`")
        return self.item

    @property
    def scope(self) -> Scope:
        """The scope in which it was found."""
        if isinstance(self.item, Turn):
            return Scope.TURNS
        episode = self.item.category is Category.EPISODE
        return Scope.EPISODES if episode else Scope.MEMORIES

    @property
    def text(self) -> str:
        """The content of the memory, or the words of the turn."""
        return self.item.words if isinstance(self.item, Turn) else self.item.content

    @property
    def at(self) -> datetime:
        """When it was learned or said."""
        return self.item.at if isinstance(self.item, Turn) else self.item.created_at

    @property
    def by_itself(self) -> float:
        """The relevance of what it says, without that of its cues and of names in common."""
        return 1 - _farness(self.parts)

    @property
    def relevant(self) -> bool:
        """Whether it is relevant enough to be whispered."""
        return self.relevance >= RELEVANCE_GATE


def expired_conditions(moment: datetime) -> tuple[Condition, Condition]:
    """Return the conditions that select what has expired or ceased to be true by `moment`."""
    high = moment + INSTANT
    return Between("expires_at", high=high), Between("valid_until", high=high)


def memories_filter(query: Query, scope: Scope = Scope.MEMORIES) -> Filter:
    """Return the filter for memories: this user's, never archived, forgotten or pending."""
    must: list[Condition] = [Is("user_id", query.user_id), *sphere_conditions(query.sphere)]
    must_not: list[Condition] = []
    if query.agent_id:
        must.append(has("agent_id", query.agent_id))
    if query.categories:
        must.append(has_any("category", query.categories))
    elif scope is Scope.EPISODES:
        must.append(has("category", Category.EPISODE))
    else:
        must_not.append(has_any("category", NARRATIVE))
    moment = query.as_of or query.now
    must_not += expired_conditions(moment)
    if query.as_of:
        must.append(OneOf("state", (MemoryState.ACTIVE, MemoryState.SUPERSEDED)))
        must_not.append(Between("valid_from", low=moment + INSTANT))
    else:
        must.append(Is("state", MemoryState.ACTIVE))
    must += _within(query, scope)
    return Filter(tuple(must), tuple(must_not))


def turns_filter(query: Query) -> Filter:
    """Return the filter for raw turns: this user's, in the query's time, not hidden or expired."""
    must: list[Condition] = [Is("type", "turn"), Is("user_id", query.user_id)]
    must += sphere_conditions(query.sphere)
    must += [has("agent_id", query.agent_id)] if query.agent_id else []
    since = max(filter(None, (query.since, query.raw_since)), default=None)
    must.append(Between("at", since, query.until or query.now + INSTANT))
    return Filter(tuple(must), (Is("gone", True),))


def _within(query: Query, scope: Scope) -> list[Condition]:
    if query.since is None and query.until is None:
        return []
    if scope is Scope.EPISODES:  # talk that lasted into the time, or began in it
        return [Between("created_at", low=query.since), Between("valid_from", high=query.until)]
    return [Between("created_at", query.since, query.until)]


async def search(
    collection: Collection, embedder: "Embedder", policy: Policy, query: Query
) -> list[Found]:
    """Return up to `query.limit` memories and episodes, best first, in a stable order."""
    allowed = [memories_filter(query, scope) for scope in query.scope if scope is not Scope.TURNS]
    if not allowed:
        return []
    encoder, corpus = _encoder(embedder, query), _corpus(query.user_id)
    near = await hybrid_search(collection, encoder, _texts(query), allowed, corpus)
    if query.relevant:
        near = [(point, parts) for point, parts in near if _relevance(parts) >= BEHIND_RELEVANT]
    parts = {point.id: parts for point, parts in near}
    memories = to_memories(point for point, _ in near)
    ranked = [_found_memory(one, parts[one.id], query, policy) for one in memories]
    ranked.sort(key=ranking_key)
    led_to = {
        found.memory.id: found
        for found in await _follow_links(collection, policy, query, allowed[0], ranked)
    }
    if led_to:
        ranked = [found for found in ranked if found.memory.id not in led_to] + [*led_to.values()]
        ranked.sort(key=ranking_key)
    best = ranked[: query.limit]
    return [found for found in best if found.relevant] if query.relevant else best


@lru_cache(maxsize=USERS_KEPT)
def _corpus(user_id: str) -> Filter:
    """Return the memories over which the rarity of words is counted."""
    return Filter((Is("user_id", user_id), Is("state", MemoryState.ACTIVE)))


async def search_turns(
    collection: Collection,
    embedder: "Embedder",
    query: Query,
    withheld: AbstractSet[Group] = NEVER_KEPT,
) -> list[Found]:
    """Return up to `query.limit` raw turns, best first, with data of these groups masked."""
    corpus = Filter((Is("user_id", query.user_id), Is("type", "turn"), Is("embedded", True)))
    near = await hybrid_search_turns(
        collection, _encoder(embedder, query), _texts(query), turns_filter(query), corpus
    )
    if not near:
        return []
    period = await asyncio.to_thread(_named_time, query)
    ranked = [(_rank(one, query.now, period), one) for one in near]
    ranked.sort(key=_turn_order)
    found = read_each((one.point for _, one in ranked[: query.limit]), masked_reader(withheld))
    turns = {turn.id: turn for turn in found}
    return [
        _found_turn(score, one, turns[one.point.id], query.now)
        for score, one in ranked[: query.limit]
        if one.point.id in turns
    ]


def ranking_key(found: Found) -> tuple[float, float, str]:
    """Return the sort key: best first; ties by id for memories, then by time for turns."""
    said = found.item.at.timestamp() if isinstance(found.item, Turn) else 0.0
    return -round(found.score, 6), said, found.item.id


def _turn_order(ranked: tuple[float, NearTurn]) -> tuple[float, float, str]:
    """Return the same as `ranking_key` for a turn that is not read from its point yet."""
    score, near = ranked
    return -round(score, 6), near.at.timestamp(), near.point.id


def _encoder(embedder: "Embedder", query: Query) -> DenseEncoder | None:
    return None if query.by_words else DenseEncoder(embedder, query.within)


def _texts(query: Query) -> list[tuple[str, float]]:
    both = ((query.text, 1.0), (query.context, CONTEXT_WEIGHT))
    return [(text, weight) for text, weight in both if text.strip()]


def _named_time(query: Query) -> Period | None:
    """Return the past period that the text names, unless that is the previous talk."""
    period = find_period(query.text, query.now, query.zone)
    return None if period is not None and period.last else period


def _rank(near: NearTurn, now: datetime, period: Period | None) -> float:
    # A question about earlier talk means no time in particular: recency only settles near ties.
    return near.rank * _time_weight(near.at, period) * (0.84 + 0.01 * _recency(near.at, now))


def _time_weight(at: datetime, period: Period | None) -> float:
    if period is None or period.start <= at < period.end:
        return 1.0
    told_later = period.end <= at < period.end + TOLD_WITHIN
    return TOLD_LATER_WEIGHT if told_later else OTHER_TIME_WEIGHT


def _recency(at: datetime, now: datetime) -> float:
    return math.exp(-max(0.0, (now - at).total_seconds()) / 86400 / 30)


def _found_turn(score: float, near: NearTurn, turn: Turn, now: datetime) -> Found:
    """Return a found turn; its neighbours count for its rank, but not for its relevance."""
    whole = {**near.parts, "recency": _recency(turn.at, now)}
    return Found(turn, score, _relevance(near.parts), 0.0, whole)


def _relevance(parts: dict[str, float]) -> float:
    """Return how near the text or, for less, a cue is, by sense or words."""
    if "cue_cosine" not in parts and "cue_lexical" not in parts:
        return 1 - _farness(parts)
    cues = 1 - (1 - parts.get("cue_cosine", 0.0)) * (1 - parts.get("cue_lexical", 0.0))
    return 1 - _farness(parts) * (1 - CUE_WEIGHT * cues)


def _farness(parts: dict[str, float]) -> float:
    """Return how far the text itself is from the query, by both sense and words."""
    return (1 - parts.get("cosine", 0.0)) * (1 - parts.get("lexical", 0.0))


def _found_memory(
    memory: Memory,
    parts: dict[str, float],
    query: Query,
    policy: Policy,
    hop: float = 0.0,
) -> Found:
    """Return a memory with its rank score; `hop` is the least relevance of a linked memory."""
    relevance = max(hop, _relevance(parts))
    value = effective(memory, query.now, policy)
    importance = min(value / policy.core_value, 1.0)
    recency = math.exp(-memory.since(query.now) / 30)
    score = relevance * (LEAST_WEIGHT + 0.2 * importance + 0.05 * recency)
    whole = {**parts, "importance": importance, "recency": recency, "hop": hop}
    return Found(memory, score, relevance, value, whole)


async def _follow_links(
    collection: Collection,
    policy: Policy,
    query: Query,
    allowed: Filter,
    ranked: Sequence[Found],
) -> list[Found]:
    """Return memories that the best hits link to by name or relation and that are not hits."""
    best = [found for found in ranked[:3] if found.relevant]
    linked = [found for found in best if found.memory.entities or found.memory.relations]
    if not linked:
        return []
    seen = {found.memory.id for found in ranked if found.relevant}
    reach: dict[str, float] = {}
    memories: dict[str, Memory] = {}
    around = await asyncio.gather(
        *(_neighbours(collection, query, allowed, found.memory) for found in linked)
    )
    for found, near in zip(linked, around, strict=True):
        for memory in near:
            if memory.id not in seen:
                memories[memory.id] = memory
                reach[memory.id] = max(reach.get(memory.id, 0), HOP_SHARE * found.relevance)
    new = [
        _found_memory(memory, {}, query, policy, hop=reach[id]) for id, memory in memories.items()
    ]
    return sorted(new, key=ranking_key)[:MAX_LINKED]


async def _neighbours(
    collection: Collection, query: Query, allowed: Filter, memory: Memory
) -> Iterable[Memory]:
    about = [
        Filter((*allowed.must, has("entities", name)), allowed.must_not)
        for name in memory.entities[:3]
    ]
    related = [link.to for link in memory.relations if link.type != GUARDS]
    few = COMMON_NAME_MEMORIES + 1
    *pages, linked = await asyncio.gather(
        *(_page(collection, one, few) for one in about), collection.get(related)
    )
    points = [point for page in pages if len(page) < few for point in page]
    return [*to_memories(points), *(one for one in to_memories(linked) if _may_read(one, query))]


async def _page(collection: Collection, filter: Filter, limit: int) -> list[Point]:
    page, _ = await collection.scroll(filter, limit=limit)
    return page


def _may_read(memory: Memory, query: Query) -> bool:
    """Return whether `memories_filter` would select a memory that was not found by a filter."""
    moment, ends = query.as_of or query.now, (memory.expires_at, memory.valid_until)
    then = {MemoryState.ACTIVE, MemoryState.SUPERSEDED} if query.as_of else {MemoryState.ACTIVE}
    began = query.as_of is None or memory.valid_from is None or memory.valid_from <= moment
    return (
        memory.user_id == query.user_id
        and memory.state in then
        and knows(query.sphere, memory.sphere)
        and query.agent_id in {None, memory.agent_id}
        and began
        and all(end is None or end > moment for end in ends)
    )
