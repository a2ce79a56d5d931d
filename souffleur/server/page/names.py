"""Names: the people, places and things that memories mention, and what joins them."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.browsing import Wanted, browse
from souffleur.server.page.cards import Card, cards_of

MAX_READ = 2000
"""The latest memories, in which names are looked for."""
MAX_NAMES = 40
"""Names that are shown: those that most memories mention."""
MAX_LISTED = 12
"""Memories that are listed with a name."""
TOGETHER = "together"
"""The type of a tie between names that a memory mentions together."""


@dataclass(frozen=True)
class Name:
    """A name that memories mention."""

    name: str
    """The name."""
    count: int
    """The number of memories that mention it."""
    memories: list[str]
    """The ids of the latest of them."""


@dataclass(frozen=True)
class Tie:
    """What joins two names."""

    first: int
    """The place of one name in the list."""
    second: int
    """The place of the other."""
    count: int
    """The number of memories that mention both, or of links between memories of the two."""
    type: str
    """together, or the type of the links: supports, contradicts, refines, guards."""


@dataclass(frozen=True)
class Names:
    """The names in a user's latest memories, and what joins them."""

    names: list[Name]
    """The names, most mentioned first."""
    ties: list[Tie]
    """What joins them, by their places."""
    cards: list[Card]
    """The memories that are listed with names."""


async def names_of(memory: Souffleur, user_id: str) -> Names:
    """Return the names in a user's latest memories in force, and what joins them."""
    wanted, points = Wanted(user_id, now=memory.clock()), memory.knowledge.memories
    found, _ = await browse(points, wanted, limit=MAX_READ)
    names = names_in(found)
    shown = {id for one in names for id in one.memories}
    ties = ties_between(found, {one.name: place for place, one in enumerate(names)})
    await asyncio.sleep(0)
    return Names(names, ties, cards_of(memory, [one for one in found if one.id in shown]))


def names_in(memories: Sequence[Memory]) -> list[Name]:
    """Return the names that most of these memories mention; their memories are in this order."""
    mentioned: defaultdict[str, list[str]] = defaultdict(list)
    for one in memories:
        for name in _names(one):
            mentioned[name].append(one.id)
    ranked = sorted(mentioned.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Name(name, len(ids), ids[:MAX_LISTED]) for name, ids in ranked[:MAX_NAMES]]


def ties_between(memories: Sequence[Memory], places: Mapping[str, int]) -> list[Tie]:
    """Return what joins these names: memories that mention both, and links between memories."""
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
