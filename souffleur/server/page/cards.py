"""Cards: memories in the lists of the page, and the names in memories."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations

from souffleur.api import Souffleur
from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Due, Kind, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.memories import browse
from souffleur.knowledge.search.query import Query, Scope, Wanted
from souffleur.knowledge.store.codecs import to_memory
from souffleur.knowledge.store.engine.collection import Order
from souffleur.knowledge.store.reading import read_many
from souffleur.knowledge.text.match import normalize_text
from souffleur.server import paging

MAX_FOUND = 200
"""Maximum number of cards in a search result, or in a list by strength."""
MAX_SCANNED = 5000
"""Maximum number of memories whose words are searched without an index."""
_SCANNED_AT_ONCE = 500
WEAK = 0.2
"""Minimum relevance of a search result on the page, if it lacks a searched word."""


@dataclass(frozen=True)
class Card:
    """A memory in a list."""

    id: str
    """The id of the memory."""
    content: str
    """The words of the memory."""
    category: Category
    """The category, which decides how the memory fades."""
    kind: Kind
    """The kind of the memory."""
    state: MemoryState
    """The state of the memory."""
    strength: float
    """The present value, from 0 to 1; a memory with the value 1 never fades."""
    uses: int
    """How often the memory was used in a reply."""
    created_at: datetime
    """When the memory was learned."""
    due_at: datetime | None
    """When the memory is due for its next change."""
    due_for: Due | None
    """The next change of the memory."""


@dataclass(frozen=True)
class Cards:
    """A page of cards."""

    items: list[Card]
    """The cards."""
    total: int
    """The number of cards on all pages."""
    next: str | None
    """The `cursor` of the next page; `None` if this is the last."""


def card_of(memory: Memory, now: datetime, policy: Policy) -> Card:
    """Return the card of a memory, with its value at the time `now`."""
    value = decay.effective(memory, now, policy)
    return Card(
        id=memory.id,
        content=memory.content,
        category=memory.category,
        kind=memory.kind,
        state=memory.state,
        strength=round(min(1.0, value / policy.core_value), 3),
        uses=memory.uses,
        created_at=memory.created_at,
        due_at=memory.due_at,
        due_for=memory.due_for,
    )


def cards_of(memory: Souffleur, memories: Iterable[Memory]) -> list[Card]:
    """Return the cards of memories, in their order."""
    now, policy = memory.clock(), memory.knowledge.policy
    return [card_of(one, now, policy) for one in memories]


async def page_of(
    memory: Souffleur, wanted: Wanted, *, limit: int, cursor: str | None, newest_first: bool
) -> Cards:
    """Return a page of cards. Raises RequestError (422) for an invalid cursor."""
    page = await paging.page_of(
        memory, wanted, limit=limit, cursor=cursor, newest_first=newest_first
    )
    return Cards(cards_of(memory, page.items), page.total, page.next)


async def strongest(memory: Souffleur, wanted: Wanted) -> Cards:
    """Return the cards with the highest present value, best first, on one page."""
    points, limit = memory.knowledge.memories, 2 * MAX_FOUND
    order = Order("importance", descending=True)
    page, _ = await points.scroll(wanted.filter, limit=limit, order=order)
    cards = cards_of(memory, await read_many(page, to_memory))
    ranked = sorted(cards, key=lambda card: (-card.strength, card.created_at, card.id))
    return _whole(ranked[:MAX_FOUND])


async def matching(memory: Souffleur, wanted: Wanted, text: str) -> Cards:
    """Return the cards that match a text, best first.

    Active memories are found by their sense and words, memories in other states only by their
    words. With a filter by kind, active memories outside the search result are found by words, too.
    """
    found: list[Memory] = []
    if not wanted.states or MemoryState.ACTIVE in wanted.states:
        found += await _searched(memory, wanted, text)
    rest = tuple(
        one
        for one in wanted.states or MemoryState
        if one != MemoryState.ACTIVE or wanted.kinds  # the result may have few of these kinds
    )
    if rest:
        known = {one.id for one in found}
        scanned = await _scanned(memory, replace(wanted, states=rest), text)
        found += [one for one in scanned if one.id not in known]
    return _whole(cards_of(memory, found[:MAX_FOUND]))


async def _searched(memory: Souffleur, wanted: Wanted, text: str) -> list[Memory]:
    query = Query(
        wanted.user_id,
        text,
        memory.clock(),
        agent_id=wanted.agent_id,
        sphere=None,
        limit=MAX_FOUND,
        categories=wanted.categories,
        scope=(Scope.MEMORIES,),
        since=wanted.since,
        until=wanted.until,
    )
    hits = await memory.knowledge.current.search(query)
    kept = [one.memory for one in hits if one.relevance >= WEAK or _has(one.memory, text)]
    return [one for one in kept if not wanted.kinds or one.kind in wanted.kinds]


async def _scanned(memory: Souffleur, wanted: Wanted, text: str) -> list[Memory]:
    found: list[Memory] = []
    after = None
    for _ in range(MAX_SCANNED // _SCANNED_AT_ONCE):
        page, more = await browse(
            memory.knowledge.memories, wanted, limit=_SCANNED_AT_ONCE, after=after
        )
        found += [one for one in page if _has(one, text)]
        if not more or len(found) >= MAX_FOUND:
            break
        after = (page[-1].created_at, page[-1].id)
    return found


def _has(memory: Memory, text: str) -> bool:
    """Return whether a memory has each word of a text."""
    words = normalize_text(memory.searchable)
    return all(normalize_text(word) in words for word in text.split())


def _whole(cards: Sequence[Card]) -> Cards:
    return Cards(list(cards), len(cards), None)


MAX_READ = 2000
"""Maximum number of memories, the latest first, that are searched for names."""
MAX_NAMES = 40
"""Maximum number of names that are shown, the most mentioned first."""
MAX_LISTED = 12
"""Maximum number of memories that are listed with a name."""
TOGETHER = "together"
"""The type of a tie between two names in the same memory."""


@dataclass(frozen=True)
class Name:
    """A name in memories."""

    name: str
    """The name."""
    count: int
    """The number of memories that mention it."""
    memories: list[str]
    """The ids of the latest memories that mention the name."""


@dataclass(frozen=True)
class Tie:
    """A tie between two names."""

    first: int
    """The index of the first name in the list."""
    second: int
    """The index of the second name in the list."""
    count: int
    """The number of memories with both names, or of links between memories of the two names."""
    type: str
    """The type: `together`, or that of the links: supports, contradicts, refines, guards."""


@dataclass(frozen=True)
class Names:
    """The names in a user's latest memories, and the ties between them."""

    names: list[Name]
    """The names, most mentioned first."""
    ties: list[Tie]
    """The ties between the names, by index."""
    cards: list[Card]
    """The cards of the memories that are listed with names."""


async def names_of(memory: Souffleur, user_id: str) -> Names:
    """Return the names in a user's latest active memories, and the ties between them."""
    wanted, points = Wanted(user_id, now=memory.clock()), memory.knowledge.memories
    found, _ = await browse(points, wanted, limit=MAX_READ)
    names = names_in(found)
    shown = {id for one in names for id in one.memories}
    ties = ties_between(found, {one.name: place for place, one in enumerate(names)})
    await asyncio.sleep(0)
    return Names(names, ties, cards_of(memory, [one for one in found if one.id in shown]))


def names_in(memories: Sequence[Memory]) -> list[Name]:
    """Return the most mentioned names in memories; the order of the memories stays the same."""
    mentioned: defaultdict[str, list[str]] = defaultdict(list)
    for one in memories:
        for name in _names(one):
            mentioned[name].append(one.id)
    ranked = sorted(mentioned.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Name(name, len(ids), ids[:MAX_LISTED]) for name, ids in ranked[:MAX_NAMES]]


def ties_between(memories: Sequence[Memory], places: Mapping[str, int]) -> list[Tie]:
    """Return the ties between names: from memories with both names, and from their links.

    `places` has the index of each name.
    """
    of = {one.id: sorted(places[name] for name in _names(one) & places.keys()) for one in memories}
    joined: Counter[tuple[int, int, str]] = Counter()
    for one in memories:
        joined.update((a, b, TOGETHER) for a, b in combinations(of[one.id], 2))
        for link in one.relations:
            others = of.get(link.to, ())
            pairs = {(min(a, b), max(a, b)) for a in of[one.id] for b in others if a != b}
            joined.update((a, b, link.type) for a, b in pairs)
    return [Tie(first, second, n, type) for (first, second, type), n in sorted(joined.items())]


def _names(memory: Memory) -> set[str]:
    return {name.strip() for name in memory.entities if name.strip()}
