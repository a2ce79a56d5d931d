"""Lookup: checks the queries of a host, and counts the memories of a user."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from souffleur.errors import InputError, NotFoundError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.search.memories import count
from souffleur.knowledge.search.query import CLEARLY_MEANT, Query, Scope, Wanted
from souffleur.knowledge.turn import shorten

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

E = TypeVar("E", bound=StrEnum)

MAX_LIMIT = 10_000
"""Maximum records of a search."""
READABLE = (MemoryState.ACTIVE, MemoryState.PENDING)
"""States in which a memory can expire before a run archives it."""


@dataclass(frozen=True)
class Stats:
    """How many memories a user has."""

    user_id: str
    """The user who has these memories."""
    total: int
    """Number of memories in force that have not expired, without episodes and portraits."""
    kinds: dict[str, int]
    """The same number by kind."""
    categories: dict[str, int]
    """The same number by category, and the numbers of episodes and portraits in force."""
    states: dict[str, int]
    """The number of all memories, episodes and portraits by state, expired ones too."""


async def read_stats(knowledge: "KnowledgeBase", user_id: str, now: datetime) -> Stats:
    """Return how many memories a user has, by kind, category and state. Raises StoreError."""
    points = knowledge.memories

    async def counted(of: type[E], wanted: Callable[[E], Wanted]) -> dict[str, int]:
        counts = {one.value: await count(points, wanted(one)) for one in of}
        return {name: number for name, number in counts.items() if number}

    current = Wanted(check_id(user_id), now=now)
    every = Wanted(user_id, categories=tuple(Category))
    return Stats(
        user_id,
        total=await count(points, current),
        kinds=await counted(Kind, lambda one: replace(current, kinds=(one,))),
        categories=await counted(Category, lambda one: replace(current, categories=(one,))),
        states=await counted(MemoryState, lambda one: replace(every, states=(one,))),
    )


def to_query(
    text: str,
    user_id: str,
    scope: Scope | str | Sequence[Scope | str],
    *,
    now: datetime,
    sphere: str | None,
    limit: int,
    zone: ZoneInfo,
) -> Query:
    """Return the query for a host's text. Raises InputError."""
    if not isinstance(text, str):
        raise InputError(f"what to search for must be a text, not {type(text).__name__}")
    scopes = tuple(
        pick(one, Scope, "scope") for one in ([scope] if isinstance(scope, str) else scope)
    )
    words, limit = shorten(text), check_limit(limit)
    return Query(user_id, words, now, sphere=sphere, scope=scopes, limit=limit, zone=zone)


async def find_meant(
    knowledge: "KnowledgeBase", query: str, user_id: str, now: datetime
) -> list[str]:
    """Return the ids of the memories that a query means: by id, or the clearly relevant hits."""
    try:
        return [(await knowledge.get(query, user_id=user_id)).id]
    except NotFoundError:
        everything = Query(user_id, shorten(query), now, sphere=None, limit=20)
        hits = await knowledge.current.search(everything)
        return [hit.memory.id for hit in hits if hit.relevance >= CLEARLY_MEANT]


def pick(value: str, of: type[E], what: str) -> E:
    """Return the member of an enumeration with this value. Raises InputError.

    >>> pick("todo", Kind, "kind") is Kind.TODO
    True
    """
    try:
        return of(value)
    except ValueError:
        raise InputError(f"there is no {what} {value!r}: choose one of {', '.join(of)}") from None


def check_limit(limit: object) -> int:
    """Return the limit if it is a valid number of records. Raises InputError.

    >>> check_limit(10)
    10
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InputError(f"limit must be a whole number from 1 to {MAX_LIMIT:,}, not {limit!r}")
    return limit
