"""The memories that a recall reads for any message."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from souffleur.knowledge.decay import effective
from souffleur.knowledge.identity import PERSONAS
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.policy import Policy
from souffleur.recall.finder import Finder

LIVED = (Category.FACT, Category.SKILL)
"""Categories of memories from the talk; core and system have a part of their own."""
MAX_READ = 160
"""Maximum memories that are read for any message."""
MAX_NEAR_PLANS = 3


@dataclass(frozen=True)
class Place:
    """The user and the spheres whose memories are read."""

    user_id: str
    sphere: str
    """The sphere that the persona may read."""
    own: str
    """The sphere of the persona's own definition."""


@dataclass(frozen=True)
class Always:
    """The memories of a user that are read for any message, at one moment."""

    core: Sequence[Memory] = ()
    personas: Sequence[Memory] = ()
    """The definitions of personas."""
    system: Sequence[Memory] = ()
    portrait: Memory | None = None
    """The portrait in force, without what was replaced since."""
    boundaries: Sequence[Memory] = ()
    important: Sequence[Memory] = ()
    """The most important memories, a maximum of `MAX_READ`, oldest first."""
    plans: Sequence[Memory] = ()
    """Plans of these days, the earliest first."""

    def values(self, now: datetime, policy: Policy) -> dict[str, float]:
        """Return the values of the important memories, by id."""
        return {one.id: effective(one, now, policy) for one in self.important}


async def read_always(finder: Finder, place: Place, now: datetime) -> Always:
    """Return the memories that every recall of a user reads; a part that fails is empty."""
    knowledge, part, user_id, sphere = finder.knowledge, finder.part, place.user_id, place.sphere
    read = partial(knowledge.list, now=now)
    here = partial(read, user_id, sphere=sphere)
    valued = partial(knowledge.most_important, user_id, limit=MAX_READ, categories=LIVED)
    plans = partial(knowledge.plans_near, user_id, limit=MAX_NEAR_PLANS)

    async def portraits() -> list[Memory]:
        found = await knowledge.current_portrait(user_id, sphere)
        return [found] if found else []

    core, personas, system, portrait, boundaries, most, near = await asyncio.gather(
        part(partial(here, category=Category.CORE)),
        part(partial(read, PERSONAS, category=Category.SYSTEM, sphere=place.own)),
        part(partial(here, category=Category.SYSTEM)),
        part(portraits),
        part(partial(here, kind=Kind.BOUNDARY)),
        part(partial(valued, now=now, sphere=sphere)),
        part(partial(plans, now=now, sphere=sphere)),
    )
    return Always(core, personas, system, next(iter(portrait), None), boundaries, most, near)
