"""Browsing: a user's memories in the order in which they were learned, a page at a time.

Unlike `KnowledgeBase.list`, a page reads about as many memories as it holds, however many exist.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.field_docs import explain_fields
from souffleur.knowledge.engine.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Order,
)
from souffleur.knowledge.finding.search import INSTANT, expired_conditions
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.memory_codec import to_memories, to_memory
from souffleur.knowledge.reading import read_matching

Place = tuple[datetime, str]
"""When a memory was learned, and its id: where it stands in the order."""


@explain_fields
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
    since: datetime | None = None
    """Learned at or after this time."""
    until: datetime | None = None
    """Learned before this time."""
    now: datetime | None = None
    """What has expired or ended by this time is left out."""

    @property
    def filter(self) -> Filter:
        """The filter that selects them."""
        must: list[Condition] = list(user_conditions(self.user_id))
        must += [OneOf("state", self.states)] if self.states else []
        must += [OneOf("kind", self.kinds)] if self.kinds else []
        must += [OneOf("category", self.categories)] if self.categories else []
        must += [Is("agent_id", self.agent_id)] if self.agent_id is not None else []
        if self.since is not None or self.until is not None:
            must.append(Between("created_at", self.since, self.until))
        must_not: list[Condition] = list(expired_conditions(self.now)) if self.now else []
        must_not += [] if self.categories else [OneOf("category", NARRATIVE)]
        return Filter(tuple(must), tuple(must_not))


async def browse(
    collection: Collection,
    wanted: Wanted,
    *,
    limit: int,
    after: Place | None = None,
    newest_first: bool = True,
) -> tuple[list[Memory], bool]:
    """Return up to `limit` memories that follow a place, and whether there are more."""
    order = Order("created_at", descending=newest_first)
    beyond = _beyond(wanted, after[0], newest_first) if after else wanted
    page, _ = await collection.scroll(beyond.filter, limit=limit + 1, order=order)
    memories = to_memories(page)
    # What was learned at one moment is read whole: the engine's order says nothing of it.
    moments = {memories[-1].created_at} if memories and len(page) > limit else set()
    for moment in moments | ({after[0]} if after else set()):
        memories += await read_matching(collection, _at(wanted, moment).filter, to_memory)
    each = {memory.id: memory for memory in memories}.values()
    ranked = sorted(each, key=place, reverse=newest_first)
    left = [one for one in ranked if after is None or follows(place(one), after, newest_first)]
    return left[:limit], len(left) > limit


async def count(collection: Collection, wanted: Wanted) -> int:
    """Return how many memories are wanted."""
    return await collection.count(wanted.filter)


def place(memory: Memory) -> Place:
    """Return where a memory stands in the order."""
    return memory.created_at, memory.id


def follows(here: Place, after: Place, newest_first: bool) -> bool:
    """Return whether a place comes after another one in the order."""
    return here < after if newest_first else here > after


def _at(wanted: Wanted, moment: datetime) -> Wanted:
    """Return what is wanted of the memories learned at one moment."""
    begins, ends = moment, moment + INSTANT
    since, until = max(begins, wanted.since or begins), min(ends, wanted.until or ends)
    return replace(wanted, since=since, until=until)


def _beyond(wanted: Wanted, moment: datetime, newest_first: bool) -> Wanted:
    """Return what is wanted of the memories learned before a moment, or after it."""
    if newest_first:
        return replace(wanted, until=min(moment, wanted.until or moment))
    begins = moment + INSTANT
    return replace(wanted, since=max(begins, wanted.since or begins))
