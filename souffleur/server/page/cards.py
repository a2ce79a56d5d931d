"""Cards: memories as the page lists them, without what only their own view shows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge import decay
from souffleur.knowledge.identity import EVERY_SPHERE
from souffleur.knowledge.memory import Category, Due, Kind, Memory, MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.browsing import Wanted, browse
from souffleur.knowledge.search.memories import Query, Scope
from souffleur.knowledge.store.codecs import to_memory
from souffleur.knowledge.store.engine.collection import Order
from souffleur.knowledge.store.reading import read_many
from souffleur.knowledge.text.match import normalize_text
from souffleur.server import paging

MAX_FOUND = 200
"""Maximum cards that a search, or the order by strength, brings."""
MAX_SCANNED = 5000
"""Maximum memories, of certain kinds or no longer in use, whose words are looked through."""
_SCANNED_AT_ONCE = 500
WEAK = 0.2
"""Relevance below which a search on the page shows nothing."""


@dataclass(frozen=True)
class Card:
    """A memory in a list."""

    id: str
    """The id of the memory."""
    content: str
    """Its words."""
    category: Category
    """The category by which it fades."""
    kind: Kind
    """What it is about."""
    state: MemoryState
    """Its state."""
    agent_id: str
    """The persona that learned it."""
    strength: float
    """Its value now, from 0 to 1, where 1 is what never fades."""
    uses: int
    """How often it shaped a reply."""
    verified: bool
    """Whether the user confirmed it."""
    created_at: datetime
    """When it was learned."""
    updated_at: datetime
    """When it was last changed."""
    last_used_at: datetime | None
    """When it last shaped a reply."""
    expires_at: datetime | None
    """When it is over, for plans."""
    due_at: datetime | None
    """When something happens to it next."""
    due_for: Due | None
    """What happens to it then."""


@dataclass(frozen=True)
class Cards:
    """A page of cards."""

    items: list[Card]
    """The cards."""
    total: int
    """The number on all pages."""
    next: str | None
    """The `cursor` of the next page; `None` if this is the last."""


def card_of(memory: Memory, now: datetime, policy: Policy) -> Card:
    """Return the card of a memory; `now` decides how much of its value is left."""
    value = decay.effective(memory, now, policy)
    return Card(
        id=memory.id,
        content=memory.content,
        category=memory.category,
        kind=memory.kind,
        state=memory.state,
        agent_id=memory.agent_id,
        strength=round(min(1.0, value / policy.core_value), 3),
        uses=memory.uses,
        verified=memory.verified,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        last_used_at=memory.last_used_at,
        expires_at=memory.expires_at,
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
    """Return a page of cards. Raises RequestError (422) for what is no cursor."""
    page = await paging.page_of(
        memory, wanted, limit=limit, cursor=cursor, newest_first=newest_first
    )
    return Cards(cards_of(memory, page.items), page.total, page.next)


async def strongest(memory: Souffleur, wanted: Wanted) -> Cards:
    """Return the cards of the highest value now, best first, on one page."""
    points, limit = memory.knowledge.memories, 2 * MAX_FOUND
    order = Order("importance", descending=True)
    page, _ = await points.scroll(wanted.filter, limit=limit, order=order)
    cards = cards_of(memory, await read_many(page, to_memory))
    ranked = sorted(cards, key=lambda card: (-card.strength, card.created_at, card.id))
    return _whole(ranked[:MAX_FOUND])


async def matching(memory: Souffleur, wanted: Wanted, text: str) -> Cards:
    """Return the cards that a text finds, best first.

    Those not in use, and of certain kinds those that are not among the nearest, are found by their
    words alone.
    """
    found: list[Memory] = []
    if not wanted.states or MemoryState.ACTIVE in wanted.states:
        found += await _searched(memory, wanted, text)
    rest = tuple(
        one
        for one in wanted.states or MemoryState
        if one != MemoryState.ACTIVE or wanted.kinds  # of the nearest, few may be of these kinds
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
        sphere=EVERY_SPHERE,
        limit=MAX_FOUND,
        categories=wanted.categories,
        scope=(Scope.MEMORIES,),
        since=wanted.since,
        until=wanted.until,
    )
    hits = await memory.knowledge.known.search(query)
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
    """Return whether each word of a text is in a memory."""
    words = normalize_text(memory.searchable)
    return all(normalize_text(word) in words for word in text.split())


def _whole(cards: Sequence[Card]) -> Cards:
    return Cards(list(cards), len(cards), None)
