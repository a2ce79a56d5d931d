"""Grouping: finds old, little-used memories and expiring episodes that are near enough to merge."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.query import INSTANT, expired_conditions
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import (
    AnyOf,
    Between,
    Condition,
    Filter,
    Is,
    Missing,
    read_all,
)
from souffleur.knowledge.store.labels import has, has_any
from souffleur.knowledge.text.match import normalize_text

UNUSED_FOR = timedelta(days=90)
"""Time without use after which a memory is old."""
FEW_USES = 5
"""Number of uses below which a memory is little used."""
EXPIRES_WITHIN = timedelta(days=4)
"""Time before its expiry from which an episode is about to expire."""
GROUP_SIZES = range(3, 9)
"""Allowed numbers of memories in a group."""
NEAR_IN_GROUP = 0.5
"""Minimum cosine of near memories, as a fraction of the way from the embedder's floor to 1."""
SHARED_LABELS = 2
"""Number of shared names and topics that make two memories near at any cosine."""

Vector = tuple[float, ...]

_LASTING = (Category.SYSTEM, Category.CORE, Category.PROFILE)


async def users_with_candidates(
    knowledge: KnowledgeBase, now: datetime, user_id: str | None = None
) -> list[str]:
    """Return the users with enough memories for a group, sorted.

    If `user_id` is given, only that user is considered.
    """
    counts: Counter[str] = Counter()
    for wanted in (_unused(user_id, now, knowledge.policy), _expiring(user_id, now)):
        points = await read_all(knowledge.memories, wanted)
        counts.update(str(point.payload["user_id"]) for point in points)
    return sorted(user for user, count in counts.items() if count >= GROUP_SIZES.start)


async def find_groups(knowledge: KnowledgeBase, user_id: str, now: datetime) -> list[list[Memory]]:
    """Return groups of a user's memories that may be merged; see `group_memories`.

    Memories that are old enough or about to expire are read by index; vectors are only read for
    memories that may be in a group.
    """
    found: dict[str, Memory] = {}
    for wanted in (_unused(user_id, now, knowledge.policy), _expiring(user_id, now)):
        for memory in to_memories(await read_all(knowledge.memories, wanted)):
            if is_expiring(memory, now) or is_old(memory, now):
                found[memory.id] = memory
    crowds = Counter(map(_group_key, found.values()))
    crowded = [
        memory for memory in found.values() if crowds[_group_key(memory)] >= GROUP_SIZES.start
    ]
    if not crowded:
        return []
    points = await knowledge.memories.get([memory.id for memory in crowded], vectors=True)
    vectors = {point.id: point.dense for point in points if point.dense is not None}
    return await asyncio.to_thread(group_memories, crowded, vectors, knowledge.embedder.floor)


def group_memories(
    memories: Sequence[Memory], vectors: Mapping[str, Vector], floor: float
) -> list[list[Memory]]:
    """Return groups of near memories of one user, persona, category and (except episodes) kind.

    This is greedy: the oldest memory takes the memories nearest to it, if there are enough, and so
    on. A memory with too few near memories is in no group. `vectors` are of unit length, by id;
    memories without a vector are only near by shared names and topics. `floor` is the cosine of
    unrelated texts.

    >>> from datetime import UTC
    >>> day = datetime(2025, 1, 1, tzinfo=UTC)
    >>> born = {"anchor_at": day, "created_at": day, "updated_at": day}
    >>> notes = [Memory(id=id, user_id="ann", content=id, **born) for id in "abcd"]
    >>> vectors = {"a": (1.0, 0.0), "b": (0.8, 0.6), "c": (0.0, 1.0), "d": (0.96, 0.28)}
    >>> [[memory.id for memory in found] for found in group_memories(notes, vectors, 0.2)]
    [['a', 'b', 'd']]
    """
    crowds: dict[tuple[str, ...], list[Memory]] = {}
    for memory in sorted(memories, key=lambda memory: (memory.created_at, memory.id)):
        crowds.setdefault(_group_key(memory), []).append(memory)
    least = floor + NEAR_IN_GROUP * (1 - floor)
    return [found for crowd in crowds.values() for found in _greedy(crowd, vectors, least)]


def is_old(memory: Memory, now: datetime) -> bool:
    """Return whether a memory is long unused and little used; a review's KEEP is not a use."""
    last = memory.last_used_at or memory.created_at
    return memory.uses < FEW_USES and last < now - UNUSED_FOR


def is_expiring(memory: Memory, now: datetime) -> bool:
    """Return whether a memory is an episode that is about to expire or is overdue."""
    ends = memory.expires_at
    return memory.category is Category.EPISODE and ends is not None and ends <= now + EXPIRES_WITHIN


def _unused(user_id: str | None, now: datetime, policy: Policy) -> Filter:
    """Return the filter for old memories that decay and have no expiry, as plans do."""
    must: list[Condition] = [
        *user_conditions(user_id),
        Is("state", MemoryState.ACTIVE),
        Between("created_at", high=now - UNUSED_FOR),
        AnyOf((Missing("expires_at"), has("category", Category.EPISODE))),
        Missing("valid_until"),
    ]
    if policy.lasting_at is not None:
        must.append(Between("importance", high=policy.lasting_at))
    return Filter(tuple(must), (has_any("category", _LASTING), *expired_conditions(now)))


def _expiring(user_id: str | None, now: datetime) -> Filter:
    return Filter(
        (
            *user_conditions(user_id),
            Is("state", MemoryState.ACTIVE),
            has("category", Category.EPISODE),
            Between("expires_at", high=now + EXPIRES_WITHIN + INSTANT),
        )
    )


def _group_key(memory: Memory) -> tuple[str, ...]:
    """Return the values that all members of a group have in common."""
    key = (memory.user_id, memory.agent_id, memory.sphere, memory.category)
    return key if memory.category is Category.EPISODE else (*key, memory.kind)


def _greedy(
    crowd: Sequence[Memory], vectors: Mapping[str, Vector], least: float
) -> list[list[Memory]]:
    rows = _rows(crowd, vectors)
    labels = [
        {normalize_text(label) for label in (*one.entities, *one.topics)} - {""} for one in crowd
    ]
    left = dict.fromkeys(range(len(crowd)))
    found = []
    for oldest in range(len(crowd)):
        if oldest not in left or len(left) < GROUP_SIZES.start:
            continue
        cosines = np.round(rows @ rows[oldest], 6)
        mates = [
            index
            for index in left
            if index != oldest
            and (cosines[index] >= least or len(labels[index] & labels[oldest]) >= SHARED_LABELS)
        ]
        nearest = sorted(mates, key=lambda index: (-cosines[index], index))[: GROUP_SIZES.stop - 2]
        if len(nearest) + 1 >= GROUP_SIZES.start:
            members = sorted((oldest, *nearest))
            found.append([crowd[index] for index in members])
            left = {index: None for index in left if index not in members}
    return found


def _rows(crowd: Sequence[Memory], vectors: Mapping[str, Vector]) -> NDArray[np.float64]:
    """Return a row for each memory; without a vector, zeros, which are near to nothing."""
    length = max((len(vectors[one.id]) for one in crowd if one.id in vectors), default=1)
    rows = np.zeros((len(crowd), length))
    for index, one in enumerate(crowd):
        if one.id in vectors:
            rows[index] = vectors[one.id]
    return rows
