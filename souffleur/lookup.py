"""Lookup: what a host reads of a user's memories, by plain arguments."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from souffleur.agents.brief import Persona
from souffleur.errors import MessageError, QueryError
from souffleur.knowledge.identity import EVERY_SPHERE, check_id
from souffleur.knowledge.memory import Category, Kind, Memories, MemoryState
from souffleur.knowledge.search.browsing import Wanted, count
from souffleur.knowledge.search.memories import Found, Query, Scope
from souffleur.knowledge.turn import shorten
from souffleur.times import Clock, Moment, moment

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

E = TypeVar("E", bound=StrEnum)
Who = Callable[[str, str], Awaitable[tuple[Persona, str]]]
"""Returns how a user and a persona are called and live, and the sphere of the persona."""

MAX_LIMIT = 10_000
"""Maximum records of one search."""
READABLE = (MemoryState.ACTIVE, MemoryState.PENDING)
"""States in which a memory can expire before a run archives it."""


@dataclass(frozen=True)
class Stats:
    """How many memories a user has."""

    user_id: str
    """Whose they are."""
    total: int
    """Memories in force that have not expired; no episodes and no portraits."""
    kinds: dict[str, int]
    """The same by kind."""
    categories: dict[str, int]
    """The same by category, and the episodes and portraits in force."""
    states: dict[str, int]
    """All memories, episodes and portraits by state, also what has expired."""


class Lookup:
    """Reads of a knowledge base; each is of one user."""

    def __init__(self, knowledge: "KnowledgeBase", who: Who, clock: Clock) -> None:
        self._knowledge = knowledge
        self._who = who
        self._clock = clock

    async def search(
        self,
        text: str,
        *,
        user_id: str,
        agent_id: str | None,
        scope: Scope | str | Sequence[Scope | str],
        limit: int,
        at: Moment | None,
    ) -> list[Found]:
        """Return what matches a text, best first."""
        if not isinstance(text, str):
            raise MessageError(f"what to search for must be a text, not {type(text).__name__}")
        scopes = [scope] if isinstance(scope, str) else scope
        zone, sphere = await self._place(user_id, agent_id)
        query = Query(
            user_id,
            shorten(text),
            moment(at, now=self._clock(), zone=zone),
            sphere=sphere,
            scope=tuple(pick(one, Scope, "scope") for one in scopes),
            limit=check_limit(limit),
            zone=zone,
        )
        return await self._knowledge.known.search(query)

    async def memories(
        self,
        *,
        user_id: str,
        agent_id: str | None,
        kind: Kind | str | None,
        category: Category | str | None,
        state: MemoryState | str | None,
    ) -> Memories:
        """Return a user's memories, oldest first; `None` means any."""
        wanted = pick(state, MemoryState, "state") if state else None
        _, sphere = await self._place(user_id, agent_id)
        return await self._knowledge.list(
            user_id,
            states=(wanted,) if wanted else tuple(MemoryState),
            category=pick(category, Category, "category") if category else None,
            kind=pick(kind, Kind, "kind") if kind else None,
            now=self._clock() if wanted in READABLE else None,
            sphere=sphere,
        )

    async def episodes(self, *, user_id: str, agent_id: str | None, limit: int) -> Memories:
        """Return a user's latest episodes, newest first."""
        now, limit = self._clock(), check_limit(limit)
        _, sphere = await self._place(user_id, agent_id)
        return await self._knowledge.episodes(user_id, limit=limit, now=now, sphere=sphere)

    async def stats(self, user_id: str) -> Stats:
        """Return how many memories a user has, by kind, category and state."""
        now, points = self._clock(), self._knowledge.memories

        async def counted(of: type[E], wanted: Callable[[E], Wanted]) -> dict[str, int]:
            counts = {one.value: await count(points, wanted(one)) for one in of}
            return {name: number for name, number in counts.items() if number}

        told = Wanted(check_id(user_id), now=now)
        every = Wanted(user_id, categories=tuple(Category))
        return Stats(
            user_id,
            total=await count(points, told),
            kinds=await counted(Kind, lambda one: replace(told, kinds=(one,))),
            categories=await counted(Category, lambda one: replace(told, categories=(one,))),
            states=await counted(MemoryState, lambda one: replace(every, states=(one,))),
        )

    async def _place(self, user_id: str, agent_id: str | None) -> tuple[ZoneInfo, str | None]:
        """Return a user's time zone, and the sphere of a persona; every sphere if none is named."""
        named = "default" if agent_id is None else check_id(agent_id, "agent_id")
        persona, sphere = await self._who(check_id(user_id), named)
        return persona.zone, EVERY_SPHERE if agent_id is None else sphere


def pick(value: str, of: type[E], what: str) -> E:
    """Return the member of an enumeration with this value. Raises QueryError.

    >>> pick("todo", Kind, "kind") is Kind.TODO
    True
    """
    try:
        return of(value)
    except ValueError:
        raise QueryError(f"there is no {what} {value!r}: choose one of {', '.join(of)}") from None


def check_limit(limit: object) -> int:
    """Return the limit if it is a number of records. Raises QueryError.

    >>> check_limit(10)
    10
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise QueryError(f"limit must be a whole number from 1 to {MAX_LIMIT:,}, not {limit!r}")
    return limit
