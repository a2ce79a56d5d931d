"""Search: dense and lexical nearness, weighted by effective importance and recency.

Both lists come from the engine in one round trip and are fused here, by score, not by rank: ranks
cannot tell whether the best hit is any good, and a whisper needs a gate. Fusing by score also did
better than reciprocal rank fusion on dialogue turns.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from souffleur.knowledge import life
from souffleur.knowledge.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Point,
    Search,
)
from souffleur.knowledge.lexical import encode_query
from souffleur.knowledge.memory import Memory, State
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.records import to_memory

if TYPE_CHECKING:
    from souffleur.knowledge.embedder import Embedder

GATE = 0.3
"""Relevance below which a memory is not whispered."""
CANDIDATES = 40
"""Hits taken from each list."""
CONTEXT_WEIGHT = 0.4
"""What the talk before counts against the message itself."""
HOP_SHARE = 0.6
"""Part of a hit's relevance that reaches a memory about the same name."""
HOP_MOST = 3
INSTANT = timedelta(microseconds=1)
COMMON_NAME = 6
"""A name on more memories than this says nothing."""


@dataclass(frozen=True)
class Query:
    """What is looked for, whose, and as of when."""

    user_id: str
    text: str
    now: datetime
    context: str = ""
    """The messages before; they count less."""
    agent_id: str | None = None
    """Only what this persona learnt; None: all personas'."""
    as_of: datetime | None = None
    """What was true then, superseded memories included; None: what is true now."""
    limit: int = 8
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """A memory and why it came up."""

    memory: Memory
    score: float
    """What it is ranked by: relevance, weighted by importance and recency."""
    relevance: float
    """0 (unrelated) to 1 (the same words and sense)."""
    effective: float
    """Its importance now, in the policy's unit."""
    parts: dict[str, float] = field(default_factory=dict)
    """The score taken apart: cosine, lexical, importance, recency, hop."""

    @property
    def relevant(self) -> bool:
        """Whether it passes the gate."""
        return self.relevance >= GATE


def over(moment: datetime) -> tuple[Condition, Condition]:
    """What has expired, or ceased to be true, by then."""
    high = moment + INSTANT
    return Between("expires_at", high=high), Between("valid_until", high=high)


def readable(query: Query) -> Filter:
    """What a read may return: this user's, in force; never archived, forgotten or pending."""
    must: list[Condition] = [Is("user_id", query.user_id)]
    must_not: list[Condition] = []
    if query.agent_id:
        must.append(Is("agent_id", query.agent_id))
    if query.categories:
        must.append(OneOf("category", query.categories))
    moment = query.as_of or query.now
    must_not += over(moment)
    if query.as_of:
        must.append(OneOf("state", (State.ACTIVE, State.SUPERSEDED)))
        must_not.append(Between("valid_from", low=moment + INSTANT))
    else:
        must.append(Is("state", State.ACTIVE))
    return Filter(tuple(must), tuple(must_not))


async def search(
    collection: Collection, embedder: "Embedder", policy: Policy, query: Query
) -> list[Found]:
    """Up to `query.limit` memories, best first; ties by id, so that order is stable."""
    texts = [text for text in (query.text, query.context) if text.strip()]
    if not texts:
        return []
    allowed = readable(query)
    corpus = Filter((Is("user_id", query.user_id), Is("state", State.ACTIVE)))
    hits = await collection.search(
        [
            ask
            for text, vector in zip(texts, await embedder.embed_queries(texts), strict=True)
            for ask in (
                Search(vector, allowed, CANDIDATES),
                Search(encode_query(text), allowed, CANDIDATES, idf_within=corpus),
            )
        ]
    )
    scale = math.log1p(await collection.count(corpus)) or 1.0
    weights = (1.0, CONTEXT_WEIGHT) if query.text.strip() else (CONTEXT_WEIGHT,)
    points: dict[str, Point] = {}
    parts: dict[str, dict[str, float]] = {}
    for place, found in enumerate(hits):
        weight, name = weights[place // 2], ("cosine", "lexical")[place % 2]
        for hit in found:
            points[hit.point.id] = hit.point
            mine = parts.setdefault(hit.point.id, {})
            nearness = (
                _dense(hit.score, embedder.floor)
                if name == "cosine"
                else _lexical(hit.score, scale)
            )
            mine[name] = max(mine.get(name, 0.0), weight * nearness)
    ranked = [_found(to_memory(points[id]), parts[id], query, policy) for id in points]
    ranked.sort(key=_order)
    led_to = {
        found.memory.id: found for found in await _hop(collection, policy, query, allowed, ranked)
    }
    ranked = [found for found in ranked if found.memory.id not in led_to] + [*led_to.values()]
    return sorted(ranked, key=_order)[: query.limit]


def _dense(cosine: float, floor: float) -> float:
    """Cosine above what unrelated texts reach, scaled to 0..1."""
    return max(0.0, (cosine - floor) / (1 - floor))


def _lexical(score: float, scale: float) -> float:
    """Saturating: one term that only this memory has gives about a half."""
    return score / (score + scale) if score > 0 else 0.0


def _found(
    memory: Memory, parts: dict[str, float], query: Query, policy: Policy, hop: float = 0.0
) -> Found:
    relevance = 1 - (1 - parts.get("cosine", 0.0)) * (1 - parts.get("lexical", 0.0))
    relevance = max(relevance, hop)
    value = life.effective(memory, query.now, policy)
    importance = min(1.0, value / policy.core_value)
    recency = math.exp(-memory.since(query.now) / 30)
    score = relevance * (0.75 + 0.2 * importance + 0.05 * recency)
    whole = {**parts, "importance": importance, "recency": recency, "hop": hop}
    return Found(memory, score, relevance, value, whole)


def _order(found: Found) -> tuple[float, str]:
    return -round(found.score, 6), found.memory.id


async def _hop(
    collection: Collection,
    policy: Policy,
    query: Query,
    allowed: Filter,
    ranked: Sequence[Found],
) -> list[Found]:
    """What the best hits lead to, by name or relation, and would not have passed the gate."""
    best = [found for found in ranked[:3] if found.relevant]
    if not best:
        return []
    seen = {found.memory.id for found in ranked if found.relevant}
    reach: dict[str, float] = {}
    memories: dict[str, Memory] = {}
    for found in best:
        for memory in await _neighbours(collection, query, allowed, found.memory):
            if memory.id not in seen:
                memories[memory.id] = memory
                reach[memory.id] = max(reach.get(memory.id, 0), HOP_SHARE * found.relevance)
    new = [_found(memory, {}, query, policy, hop=reach[id]) for id, memory in memories.items()]
    return sorted(new, key=_order)[:HOP_MOST]


async def _neighbours(
    collection: Collection, query: Query, allowed: Filter, memory: Memory
) -> Iterable[Memory]:
    points: list[Point] = []
    for name in memory.entities[:3]:
        about = Filter((*allowed.must, Is("entities", name)), allowed.must_not)
        page, _ = await collection.scroll(about, limit=COMMON_NAME + 1)
        points += page if len(page) <= COMMON_NAME else []
    linked = await collection.get([relation.to for relation in memory.relations])
    related = (to_memory(point) for point in linked)
    return [*map(to_memory, points), *(one for one in related if _may_read(one, query))]


def _may_read(memory: Memory, query: Query) -> bool:
    """What `readable` says of a point that was not found by a filter; of now, not of then."""
    ends = (memory.expires_at, memory.valid_until)
    return (
        memory.user_id == query.user_id
        and memory.state is State.ACTIVE
        and query.agent_id in {None, memory.agent_id}
        and all(end is None or end > query.now for end in ends)
    )
