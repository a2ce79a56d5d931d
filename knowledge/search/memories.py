"""Searching memories by meaning, words, cues and links; and browsing them in order."""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from souffleur.knowledge.decay import effective
from souffleur.knowledge.memory import GUARDS, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.query import (
    INSTANT,
    RELEVANCE_GATE,
    Found,
    Query,
    Scope,
    Wanted,
    may_read,
    memories_filter,
    ranking_key,
    relevance_of,
)
from souffleur.knowledge.search.words import encode_query, lexical_nearness, lexical_scale
from souffleur.knowledge.store.codecs import to_memories, to_memory
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    Order,
    Point,
    Search,
    Sparse,
)
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.reading import READ_AT_ONCE, read_matching

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder

HITS_PER_SEARCH = 40
"""Number of hits taken from each search."""
LEAST_WEIGHT = 0.75
"""Minimum weight of the relevance in a rank score; importance and recency add up to 0.25."""
BEHIND_RELEVANT = LEAST_WEIGHT * RELEVANCE_GATE
"""Relevance below which no memory ranks before a relevant memory."""
HOP_SHARE = 0.6
"""Share of a hit's relevance that a linked memory gets, by the same name or a relation."""
MAX_LINKED = 3
"""Maximum number of linked memories in a result."""
COMMON_NAME_MEMORIES = 6
"""Number of memories with the same name from which the name links them no longer."""

Parts = dict[str, float]
"""Nearness from 0 to 1: cosine and lexical of the text, cue_cosine and cue_lexical of its cues."""
Position = tuple[datetime, str]
"""The position of a memory in the order of learning: its time and its id."""


async def search(
    collection: Collection, embedder: "Embedder", policy: Policy, query: Query
) -> list[Found]:
    """Return up to `query.limit` memories and episodes, best first, in a stable order."""
    allowed = [memories_filter(query, scope) for scope in query.scope if scope is not Scope.TURNS]
    if not allowed:
        return []
    near = await _near(collection, embedder, query, allowed)
    if query.relevant:
        near = [(point, parts) for point, parts in near if relevance_of(parts) >= BEHIND_RELEVANT]
    parts = {point.id: parts for point, parts in near}
    memories = to_memories(point for point, _ in near)
    ranked = [_found(one, parts[one.id], query, policy) for one in memories]
    ranked.sort(key=ranking_key)
    linked = await _follow_links(collection, policy, query, allowed[0], ranked)
    if linked:
        ids = {found.memory.id for found in linked}
        others = [found for found in ranked if found.memory.id not in ids]
        ranked = sorted([*others, *linked], key=ranking_key)
    best = ranked[: query.limit]
    return [found for found in best if found.relevant] if query.relevant else best


async def _near(
    collection: Collection, embedder: "Embedder", query: Query, allowed: Sequence[Filter]
) -> list[tuple[Point, Parts]]:
    """Return the points nearest to any text of a query, unordered, in one round trip.

    The rarity of words is counted over the user's active memories.
    """
    if not query.texts:
        return []
    corpus = Filter((Is("user_id", query.user_id), Is("state", MemoryState.ACTIVE)))
    asks: list[tuple[str, float, Search]] = []
    for text, weight in query.texts:
        asks += _searches("lexical", weight, encode_query(text), allowed, corpus)
    if not query.by_words:
        texts = [text for text, _ in query.texts]
        vectors = await embedder.embed_queries(texts, within=query.within)
        for vector, (_, weight) in zip(vectors, query.texts, strict=True):
            asks += _searches("cosine", weight, vector, allowed)
    scale = await lexical_scale(collection, corpus)
    hits = await collection.search([ask for _, _, ask in asks])
    points: dict[str, Point] = {}
    parts: dict[str, Parts] = {}
    for (name, weight, _), found in zip(asks, hits, strict=True):
        dense = name.endswith("cosine")
        for point, score in found:
            near = weight * (embedder.nearness(score) if dense else lexical_nearness(score, scale))
            mine = parts.setdefault(point.id, {})
            points.setdefault(point.id, point)
            mine[name] = max(near, mine.get(name, near))
    return [(point, parts[id]) for id, point in points.items()]


def _searches(
    name: str,
    weight: float,
    vector: tuple[float, ...] | Sparse,
    allowed: Sequence[Filter],
    corpus: Filter | None = None,
) -> list[tuple[str, float, Search]]:
    """Return two searches in each allowed set: by the texts themselves and by their cues."""
    return [
        (part, weight, Search(vector, some, HITS_PER_SEARCH, corpus, by_cues))
        for some in allowed
        for part, by_cues in ((name, False), (f"cue_{name}", True))
    ]


def _found(memory: Memory, parts: Parts, query: Query, policy: Policy, hop: float = 0.0) -> Found:
    """Return a memory with its rank score; `hop` is the minimum relevance of a linked memory."""
    relevance = max(hop, relevance_of(parts))
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
    """Return memories that are linked to the best hits by name or relation and are not hits."""
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
    new = [_found(memory, {}, query, policy, hop=reach[id]) for id, memory in memories.items()]
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
    return [*to_memories(points), *(one for one in to_memories(linked) if may_read(one, query))]


async def _page(collection: Collection, filter: Filter, limit: int) -> list[Point]:
    page, _ = await collection.scroll(filter, limit=limit)
    return page


async def browse(
    collection: Collection,
    wanted: Wanted,
    *,
    limit: int,
    after: Position | None = None,
    newest_first: bool = True,
) -> tuple[list[Memory], bool]:
    """Return up to `limit` memories that follow a position, and whether there are more.

    Reads about as many memories as it returns, in a store of any size. Memories of one moment are
    read together, since the engine's order does not sort them. The event loop runs in between.
    """
    order = Order("created_at", descending=newest_first)
    found, beyond = list[Memory](), wanted
    if after:
        same = await _learned_at(collection, wanted, after[0], newest_first)
        found = [one for one in same if follows(position(one), after, newest_first)]
        beyond = _beyond(wanted, after[0], newest_first)
    while len(found) <= limit:
        some = min(READ_AT_ONCE, limit + 1 - len(found))
        page, _ = await collection.scroll(beyond.filter, limit=some, order=order)
        memories = sorted(to_memories(page), key=position, reverse=newest_first)
        if len(page) < some or not memories:
            found += memories
            break
        last = memories[-1].created_at
        found += [one for one in memories if one.created_at != last]
        found += await _learned_at(collection, wanted, last, newest_first)
        beyond = _beyond(wanted, last, newest_first)
        await asyncio.sleep(0)
    return found[:limit], len(found) > limit


async def _learned_at(
    collection: Collection, wanted: Wanted, moment: datetime, newest_first: bool
) -> list[Memory]:
    """Return the wanted memories that were learned at one moment, in order."""
    begins, ends = moment, moment + INSTANT
    since, until = max(begins, wanted.since or begins), min(ends, wanted.until or ends)
    here = replace(wanted, since=since, until=until).filter
    found = await read_matching(collection, here, to_memory)
    return sorted(found, key=position, reverse=newest_first)


async def count(collection: Collection, wanted: Wanted) -> int:
    """Return the number of wanted memories; the event loop runs before."""
    await asyncio.sleep(0)
    return await collection.count(wanted.filter)


def position(memory: Memory) -> Position:
    """Return the position of a memory in the order of learning."""
    return memory.created_at, memory.id


def follows(here: Position, after: Position, newest_first: bool) -> bool:
    """Return whether a position comes after another one in the order."""
    return here < after if newest_first else here > after


def _beyond(wanted: Wanted, moment: datetime, newest_first: bool) -> Wanted:
    """Return the same request for memories learned before a moment, or after it."""
    if newest_first:
        return replace(wanted, until=min(moment, wanted.until or moment))
    begins = moment + INSTANT
    return replace(wanted, since=max(begins, wanted.since or begins))
