"""The memories that a recall reads for any message, cached until they change."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from souffleur.knowledge.decay import Fading, fading, near_expiries, next_end
from souffleur.knowledge.identity import PERSONAS
from souffleur.knowledge.memory import Category, Memory
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.store.engine.memo import KeptUntil

if TYPE_CHECKING:
    from souffleur.knowledge.store.engine.memo import Memo

LIVED = (Category.FACT, Category.SKILL)
"""Categories of memories from the talk; core and system have a part of their own."""
MAX_READ = 160
"""Maximum memories that are read for any message."""
MAX_UNASKED = 40
"""Maximum memories, by value, that are weighed although the message does not match them."""
MAX_NEAR_PLANS = 3
MAX_PLANS_READ = 20
"""Maximum plans read at once; if there are as many, they are not cached."""
AHEAD = timedelta(hours=1)
"""Maximum time in the cache; plans that become near within it are read as well."""


@dataclass(frozen=True)
class Place:
    """The user and the spheres whose memories are read."""

    user_id: str
    sphere: str
    """The sphere that the persona may read."""
    own: str
    """The sphere of the persona's own definition."""
    episodes: int
    """Number of the latest episodes that are read."""


@dataclass(frozen=True)
class Always:
    """The memories of a user that are read for any message, at one moment."""

    episodes: Sequence[Memory] = ()
    """The latest episodes, newest first."""
    core: Sequence[Memory] = ()
    personas: Sequence[Memory] = ()
    """The definitions of personas."""
    system: Sequence[Memory] = ()
    portrait: Sequence[Memory] = ()
    """The portrait in force; empty if there is no portrait."""
    boundaries: Sequence[Memory] = ()
    important: Sequence[Memory] = ()
    """The most important memories, a maximum of `MAX_READ`, oldest first."""
    plans: Sequence[Memory] = ()
    """Plans that are near now or become near within `AHEAD`, the earliest first."""
    fadings: Sequence[Fading] = ()
    """How each of the important memories fades, in their order; empty if not computed yet."""

    def near_plans(self, now: datetime) -> list[Memory]:
        """Return the plans of these days, the earliest first."""
        low, high = near_expiries(now)
        near = [one for one in self.plans if one.expires_at and low <= one.expires_at < high]
        return near[:MAX_NEAR_PLANS]

    def valued(self, now: datetime, policy: Policy) -> list[tuple[Memory, float]]:
        """Return the important memories with their values, the highest value first."""
        fadings = self.fadings or [fading(one, policy) for one in self.important]
        valued = [(one, how.at(now)) for one, how in zip(self.important, fadings, strict=True)]
        return sorted(valued, key=itemgetter(1), reverse=True)

    def until(self, now: datetime) -> datetime:
        """Return when the memories must be read again; `now` if that is unknown."""
        if len(self.plans) >= MAX_PLANS_READ:
            return now
        every = (memory for part in _parts(self).values() for memory in part)
        return next_end(every, now) or now + AHEAD


class AlwaysCache:
    """Caches the `Always` of users, if only this process writes to the store."""

    def __init__(self, memo: "Memo", place: Place, now: datetime) -> None:
        self._now = now
        self._kept = KeptUntil(memo, (place.user_id, PERSONAS), place, now)

    def find(self) -> Always | None:
        """Return the cached memories if they are still valid; the host may change their `data`."""
        kept = self._kept.find()
        return _own(*kept) if kept else None

    def keep(self, always: Always) -> None:
        """Cache the memories until a memory of them is written or their time is over."""
        parts = _parts(always)
        changeable = [name for name, part in parts.items() if any(one.data for one in part)]
        size = sum(map(len, parts.values()))
        until = min(always.until(self._now), self._now + AHEAD)
        self._kept.keep((_own(always, changeable), changeable), size, until)


def _parts(always: Always) -> dict[str, Sequence[Memory]]:
    """Return the memories of each part."""
    named = (one.name for one in fields(always))
    return {name: getattr(always, name) for name in named if name != "fadings"}


def _own(always: Always, changeable: Collection[str]) -> Always:
    """Return a copy whose `data` a host may change; only `changeable` parts contain data."""
    if not changeable:
        return always
    own: dict[str, Any] = {name: _copied(getattr(always, name)) for name in changeable}
    return replace(always, **own)


def _copied(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    return tuple(
        one.model_copy(update={"data": deepcopy(one.data)}) if one.data else one for one in memories
    )
