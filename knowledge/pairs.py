"""Pairs of memories that a model has not judged yet in their current wording.

A conflict set is a memory and others of its kind that may contradict it. A boundary task has
boundaries and memories that they may speak of.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from souffleur.knowledge.identity import SHARED, reading_sphere, sphere_conditions, user_conditions
from souffleur.knowledge.memory import NARRATIVE, Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import derive_id, entry_id
from souffleur.knowledge.search.query import INSTANT, expired_conditions
from souffleur.knowledge.search.words import encode_query
from souffleur.knowledge.store.codecs import fingerprint, to_memories
from souffleur.knowledge.store.engine.collection import (
    Between,
    Condition,
    Filter,
    Hit,
    Is,
    Point,
    Search as VectorSearch,
    read_all,
)
from souffleur.knowledge.store.labels import has, has_any
from souffleur.knowledge.text.match import normalize_text

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

NEAR_RIVAL = 0.4
"""Minimum cosine of possible contradictions, as a fraction of the way from the floor to 1.

It is lower than for merging: the same statement about two cities is less near than the same fact
in other words.
"""
MAX_RIVALS = 8
"""Maximum memories that are judged against one memory at once."""
CONFLICT_CATEGORIES = (Category.FACT, Category.CORE, Category.SKILL)
"""Categories that are checked; not those that are written from many turns or by the host."""

_HITS_PER_SEARCH = 64
"""Number of hits taken from each search."""
_MEMORIES_PER_REQUEST = 16
"""Number of memories in one request; the event loop runs between requests."""


MAX_MEMORIES = 40
"""Maximum memories in one request."""
MAX_BOUNDARIES = 10
"""Maximum boundaries in one request."""

_NEVER_JUDGED = {*NARRATIVE, Category.SYSTEM}
_MARK_LENGTH = 8


@dataclass(frozen=True)
class ConflictSet:
    """A memory, and others that may contradict it."""

    memory: Memory
    others: tuple[Memory, ...]
    """The others, of the same user, persona and kind; the nearest first."""


async def users_with_candidates(
    knowledge: "KnowledgeBase", now: datetime, since: datetime | None, user_id: str | None = None
) -> list[str]:
    """Return the users with a memory that `find_conflict_sets` reads, sorted.

    If `user_id` is given, only that user is considered.
    """
    return sorted({memory.user_id for memory in await _fresh(knowledge, user_id, now, since)})


async def find_conflict_sets(
    knowledge: "KnowledgeBase", user_id: str, now: datetime, since: datetime | None
) -> list[ConflictSet]:
    """Return the sets of a user's memories that may contradict each other, each pair once.

    Covers the memories created, reworded or restored at or after `since` (`None`: all), the newest
    first. They are read by index; other memories are only read if they share a name with one of
    these or are near it. Skips pairs that were already judged in this wording, are linked as
    contradicting, or replace one another.
    """
    found: list[ConflictSet] = []
    met: set[frozenset[str]] = set()
    fresh = await _fresh(knowledge, user_id, now, since)
    for start in range(0, len(fresh), _MEMORIES_PER_REQUEST):
        batch = fresh[start : start + _MEMORIES_PER_REQUEST]
        for memory, near in zip(batch, await _near(knowledge, batch, now), strict=True):
            unmet = [other for other in near if frozenset((memory.id, other.id)) not in met]
            others = (await _unjudged(knowledge, memory, unmet))[:MAX_RIVALS]
            met |= {frozenset((memory.id, other.id)) for other in others}
            found += [ConflictSet(memory, tuple(others))] if others else []
        await asyncio.sleep(0)
    return found


def conflict_verdict_id(one: Memory, other: Memory) -> str:
    """Return the id of the verdict on two memories in their current wording, in either order."""
    worded = sorted((memory.id, fingerprint(memory.content)) for memory in (one, other))
    return derive_id("arbitrate", *(part for pair in worded for part in pair))


def conflict_entry_id(one: Memory, other: Memory) -> str:
    """Return the id of the ledger entry of the verdict on two memories."""
    return entry_id(conflict_verdict_id(one, other), 0)


async def _fresh(
    knowledge: "KnowledgeBase", user_id: str | None, now: datetime, since: datetime | None
) -> list[Memory]:
    allowed = _allowed(now, *user_conditions(user_id))
    made = [Between("created_at", low=since)] if since else []
    points = await read_all(knowledge.memories, Filter((*allowed.must, *made), allowed.must_not))
    found = {memory.id: memory for memory in to_memories(points)}
    if since:
        renewed = await _renewed(knowledge, user_id, since)
        others = to_memories(await knowledge.memories.get(sorted(renewed - found.keys())))
        mine = (one for one in others if user_id in {None, one.user_id})
        found |= {one.id: one for one in mine if _holds(one, now)}
    return sorted(found.values(), key=lambda one: (one.created_at, one.id), reverse=True)


async def _renewed(knowledge: "KnowledgeBase", user_id: str | None, since: datetime) -> set[str]:
    """Return the ids of memories whose words or state changed since, according to the ledger."""
    must = (Is("type", "entry"), Between("at", low=since), *user_conditions(user_id))
    entries = await read_all(knowledge.journal.collection, Filter(must))
    # Read without parsing: an entry contains whole memories, and two fields of each are needed.
    changes = [change for point in entries for change in point.payload["changes"]]
    return {change["after"]["id"] for change in changes if _is_renewed(change)}


def _is_renewed(change: dict[str, Any]) -> bool:
    before, after = change["before"], change["after"]
    return before is None or any(before[key] != after[key] for key in ("content", "state"))


async def _near(
    knowledge: "KnowledgeBase", batch: Sequence[Memory], now: datetime
) -> list[list[Memory]]:
    """Return for each memory those that share a name with it or are near, the nearest first."""
    points = await knowledge.memories.get([memory.id for memory in batch], vectors=True)
    vectors = {point.id: point for point in points}
    asked = [_searches(memory, vectors.get(memory.id), now) for memory in batch]
    answers = iter(await knowledge.memories.search([ask for asks in asked for ask in asks]))
    least = knowledge.embedder.floor + NEAR_RIVAL * (1 - knowledge.embedder.floor)
    return [
        _rank(memory, [(ask, next(answers)) for ask in asks], least, now)
        for memory, asks in zip(batch, asked, strict=True)
    ]


def _searches(memory: Memory, point: Point | None, now: datetime) -> list[VectorSearch]:
    """Return the searches: dense in all memories, dense among shared names, and by the names."""
    alike = _allowed(
        now,
        Is("user_id", memory.user_id),
        has("agent_id", memory.agent_id),
        has("kind", memory.kind),
        *sphere_conditions(reading_sphere(memory.sphere)),
    )
    named = Filter((*alike.must, has_any("entities", memory.entities)), alike.must_not)
    words = encode_query(" ".join(memory.entities))
    asks = []
    if point and point.dense:
        asks.append(VectorSearch(point.dense, alike, _HITS_PER_SEARCH))
        asks += [VectorSearch(point.dense, named, _HITS_PER_SEARCH)] if memory.entities else []
    if words.indices:  # the index knows a name only in its own spelling
        asks.append(VectorSearch(words, alike, _HITS_PER_SEARCH, idf_within=alike))
    return asks


def _rank(
    memory: Memory,
    answers: Sequence[tuple[VectorSearch, Sequence[Hit]]],
    least: float,
    now: datetime,
) -> list[Memory]:
    cosines: dict[str, float] = {}
    others: dict[str, Memory] = {}
    for ask, hits in answers:
        others |= {one.id: one for one in to_memories(hit.point for hit in hits)}
        if isinstance(ask.vector, tuple):
            cosines |= {hit.point.id: hit.score for hit in hits}
    names = _names(memory)
    rivalling = [
        other
        for id, other in others.items()
        if _may_rival(memory, other, now) and (cosines.get(id, 0) >= least or names & _names(other))
    ]
    return sorted(rivalling, key=lambda other: (-round(cosines.get(other.id, 0), 6), other.id))


def _names(memory: Memory) -> set[str]:
    return {normalize_text(name) for name in memory.entities} - {""}


async def _unjudged(
    knowledge: "KnowledgeBase", memory: Memory, others: Sequence[Memory]
) -> list[Memory]:
    entries = {other.id: conflict_entry_id(memory, other) for other in others}
    judged = {p.id for p in await knowledge.journal.collection.get(list(entries.values()))}
    return [other for other in others if entries[other.id] not in judged]


def _may_rival(memory: Memory, other: Memory, now: datetime) -> bool:
    if memory.sphere != other.sphere:
        return False
    if memory.id == other.id or fingerprint(memory.content) == fingerprint(other.content):
        return False
    return _holds(other, now) and not (_is_tied(memory, other.id) or _is_tied(other, memory.id))


def _is_tied(memory: Memory, other: str) -> bool:
    """Return whether a memory contradicts or replaces the other, or is replaced by it."""
    against = {link.to for link in memory.relations if link.type == "contradicts"}
    return other in {*against, *memory.supersedes, memory.superseded_by}


def _allowed(now: datetime, *conditions: Condition) -> Filter:
    """Return the filter that selects the memories for which `_holds` is true."""
    must = (*conditions, Is("state", MemoryState.ACTIVE), has_any("category", CONFLICT_CATEGORIES))
    return Filter(must, (*expired_conditions(now), Between("valid_from", low=now + INSTANT)))


def _holds(memory: Memory, now: datetime) -> bool:
    ends = (memory.expires_at, memory.valid_until)
    return (
        memory.state is MemoryState.ACTIVE
        and memory.category in CONFLICT_CATEGORIES
        and all(end is None or end > now for end in ends)
        and (memory.valid_from is None or memory.valid_from <= now)
    )


@dataclass(frozen=True)
class BoundaryTask:
    """Boundaries of a user, and memories that no boundary here was judged against."""

    boundaries: tuple[Memory, ...]
    """Boundaries that one persona learned, in one sphere."""
    memories: tuple[Memory, ...]
    """Memories in one sphere."""


def pair_mark(boundary: Memory, memory: Memory) -> str:
    """Return the mark that a boundary keeps of a memory that it was judged against.

    Rewording either changes the mark, so that the two are judged again.
    """
    wordings = fingerprint(boundary.content), fingerprint(memory.content)
    return derive_id("guards", memory.id, *wordings)[:_MARK_LENGTH]


def is_judged(boundary: Memory, memory: Memory) -> bool:
    """Return whether a boundary was judged against a memory as both are worded."""
    return pair_mark(boundary, memory) in boundary.judged


def find_boundary_tasks(memories: Iterable[Memory]) -> list[BoundaryTask]:
    """Return the tasks among active memories; each unjudged pair is in one task."""
    each: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.category not in _NEVER_JUDGED:
            each[memory.user_id].append(memory)
    return [task for mine in each.values() for task in _boundary_tasks_of(mine)]


def _boundary_tasks_of(memories: Sequence[Memory]) -> list[BoundaryTask]:
    """Return the tasks of one user; boundaries with the same unjudged memories share a task."""
    boundaries = [one for one in memories if one.kind is Kind.BOUNDARY]
    together: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for boundary in boundaries:
        unjudged: defaultdict[str, list[str]] = defaultdict(list)
        for memory in memories:
            if _is_unjudged(boundary, memory):
                unjudged[memory.sphere].append(memory.id)
        for ids in unjudged.values():
            together[boundary.agent_id, boundary.sphere, *ids].append(boundary)
    by_id = {memory.id: memory for memory in memories}
    return [
        BoundaryTask(
            tuple(some[at : at + MAX_BOUNDARIES]),
            tuple(by_id[id] for id in ids[start : start + MAX_MEMORIES]),
        )
        for (_, _, *ids), some in together.items()
        for at in range(0, len(some), MAX_BOUNDARIES)
        for start in range(0, len(ids), MAX_MEMORIES)
    ]


def _is_unjudged(boundary: Memory, memory: Memory) -> bool:
    """Return whether both may be whispered in one talk, and this wording was not judged."""
    met = memory.sphere == boundary.sphere or SHARED in (memory.sphere, boundary.sphere)
    other = memory.kind is not Kind.BOUNDARY
    return met and other and not is_judged(boundary, memory)
