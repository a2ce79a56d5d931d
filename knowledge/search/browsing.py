"""Browsing: a user's memories in the order in which they were learned, a page at a time.

Unlike `KnowledgeBase.list`, a page reads about as many memories as it holds, however many exist.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.knowledge.identity import EVERY_SPHERE, sphere_conditions, user_conditions
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.search.memories import INSTANT, expired_conditions
from souffleur.knowledge.store.codecs import to_memories, to_memory
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    OneOf,
    Order,
)
from souffleur.knowledge.store.labels import has, has_any
from souffleur.knowledge.store.reading import READ_AT_ONCE, read_matching

Place = tuple[datetime, str]
"""When a memory was learned, and its id: where it stands in the order."""


@dataclass(frozen=True)
class Wanted:
    """Which memories of a user are browsed; what is empty or `None` leaves none out."""

    user_id: str
    """Whose they are."""
    states: tuple[str, ...] = (MemoryState.ACTIVE,)
    """In one of these states."""
    kinds: tuple[str, ...] = ()
    """Of one of these kinds."""
    categories: tuple[str, ...] = ()
    """Of one of these categories; if empty, any but episodes and portraits."""
    agent_id: str | None = None
    """Learned by this persona."""
    sphere: str | None = EVERY_SPHERE
    """Known in this sphere."""
    since: datetime | None = None
    """Learned at or after this time."""
    until: datetime | None = None
    """Learned before this time."""
    now: datetime | None = None
    """What has expired or ended by this time is left out."""

    @property
    def filter(self) -> Filter:
        """The filter that selects them."""
        must: list[Condition] = [*user_conditions(self.user_id), *sphere_conditions(self.sphere)]
        must += [OneOf("state", self.states)] if self.states else []
        must += [has_any("kind", self.kinds)] if self.kinds else []
        must += [has_any("category", self.categories)] if self.categories else []
        must += [has("agent_id", self.agent_id)] if self.agent_id is not None else []
        if self.since is not None or self.until is not None:
            must.append(Between("created_at", self.since, self.until))
        must_not: list[Condition] = list(expired_conditions(self.now)) if self.now else []
        must_not += [] if self.categories else [has_any("category", NARRATIVE)]
        return Filter(tuple(must), tuple(must_not))


async def browse(
    collection: Collection,
    wanted: Wanted,
    *,
    limit: int,
    after: Place | None = None,
    newest_first: bool = True,
) -> tuple[list[Memory], bool]:
    """Return up to `limit` memories that follow a place, and whether there are more.

    What was learned at one moment is read whole, since the engine's order says nothing of it. The
    event loop runs in between.
    """
    order = Order("created_at", descending=newest_first)
    found, beyond = list[Memory](), wanted
    if after:
        same = await _learned_at(collection, wanted, after[0], newest_first)
        found = [one for one in same if follows(place(one), after, newest_first)]
        beyond = _beyond(wanted, after[0], newest_first)
    while len(found) <= limit:
        some = min(READ_AT_ONCE, limit + 1 - len(found))
        page, _ = await collection.scroll(beyond.filter, limit=some, order=order)
        memories = sorted(to_memories(page), key=place, reverse=newest_first)
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
    """Return what is wanted of the memories learned at one moment, in order."""
    begins, ends = moment, moment + INSTANT
    since, until = max(begins, wanted.since or begins), min(ends, wanted.until or ends)
    here = replace(wanted, since=since, until=until).filter
    return sorted(await read_matching(collection, here, to_memory), key=place, reverse=newest_first)


async def count(collection: Collection, wanted: Wanted) -> int:
    """Return how many memories are wanted; the event loop runs before."""
    await asyncio.sleep(0)
    return await collection.count(wanted.filter)


def place(memory: Memory) -> Place:
    """Return where a memory stands in the order."""
    return memory.created_at, memory.id


def follows(here: Place, after: Place, newest_first: bool) -> bool:
    """Return whether a place comes after another one in the order."""
    return here < after if newest_first else here > after


def _beyond(wanted: Wanted, moment: datetime, newest_first: bool) -> Wanted:
    """Return what is wanted of the memories learned before a moment, or after it."""
    if newest_first:
        return replace(wanted, until=min(moment, wanted.until or moment))
    begins = moment + INSTANT
    return replace(wanted, since=max(begins, wanted.since or begins))
