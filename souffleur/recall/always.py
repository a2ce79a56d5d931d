"""Standing: what a recall reads of a user whatever the message says, kept until it changes."""

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
"""What the user has told; core and system have a part of their own."""
MAX_UNASKED = 40
"""Memories that are weighed unasked, by their value."""
MAX_NEAR_PLANS = 3
MAX_PLANS_READ = 20
"""Plans that are read at once; if there are as many, they are read again each time."""
AHEAD = timedelta(hours=1)
"""Time for which the plans of the next days are read at once."""


@dataclass(frozen=True)
class Place:
    """Whose memories are read, and from where."""

    user_id: str
    sphere: str
    """What the persona may know."""
    own: str
    """The sphere of what the persona itself is."""
    episodes: int
    """Number of the latest episodes."""


@dataclass(frozen=True)
class Standing:
    """What is read of a user whatever is said, as of a moment."""

    episodes: Sequence[Memory] = ()
    """The latest, newest first."""
    core: Sequence[Memory] = ()
    personas: Sequence[Memory] = ()
    """What personas are, wherever they talk."""
    system: Sequence[Memory] = ()
    portrait: Sequence[Memory] = ()
    """The one in force, if there is any."""
    boundaries: Sequence[Memory] = ()
    important: Sequence[Memory] = ()
    """Twice as many as are weighed unasked, by their importance."""
    plans: Sequence[Memory] = ()
    """Plans that are near, or will be within `AHEAD`, the earliest first."""
    fadings: Sequence[Fading] = ()
    """How those that are important fade, in their order; if empty, that is not computed yet."""

    def near_plans(self, now: datetime) -> list[Memory]:
        """Return the plans of these days, the earliest first."""
        low, high = near_expiries(now)
        near = [one for one in self.plans if one.expires_at and low <= one.expires_at < high]
        return near[:MAX_NEAR_PLANS]

    def most_valuable(self, now: datetime, policy: Policy) -> list[tuple[Memory, float]]:
        """Return what is weighed unasked, with its value, the most valuable first."""
        fadings = self.fadings or [fading(one, policy) for one in self.important]
        valued = [(one, how.at(now)) for one, how in zip(self.important, fadings, strict=True)]
        return sorted(valued, key=itemgetter(1), reverse=True)[:MAX_UNASKED]

    def until(self, now: datetime) -> datetime:
        """Return from when, after `now`, something else may be read; `now` if that is unknown."""
        if len(self.plans) >= MAX_PLANS_READ:
            return now
        every = (memory for part in _parts(self).values() for memory in part)
        return next_end(every, now) or now + AHEAD


class Shelf:
    """Where what was read of users is kept, if this process alone writes to their store."""

    def __init__(self, memo: "Memo", place: Place, now: datetime) -> None:
        self._now = now
        self._kept = KeptUntil(memo, (place.user_id, PERSONAS), place, now)

    def find(self) -> Standing | None:
        """Return what was read and holds at this moment; the host may change its `data`."""
        kept = self._kept.find()
        return _own(*kept) if kept else None

    def keep(self, standing: Standing) -> None:
        """Keep what was read since this shelf was made, until it is written or its time is over."""
        parts = _parts(standing)
        changeable = [name for name, part in parts.items() if any(one.data for one in part)]
        size = sum(map(len, parts.values()))
        until = min(standing.until(self._now), self._now + AHEAD)
        self._kept.keep((_own(standing, changeable), changeable), size, until)


def _parts(standing: Standing) -> dict[str, Sequence[Memory]]:
    """Return the memories of each part."""
    named = (one.name for one in fields(standing))
    return {name: getattr(standing, name) for name in named if name != "fadings"}


def _own(standing: Standing, changeable: Collection[str]) -> Standing:
    """Return it with `data` of its own, which a host may change, in the parts that have any."""
    if not changeable:
        return standing
    own: dict[str, Any] = {name: _copied(getattr(standing, name)) for name in changeable}
    return replace(standing, **own)


def _copied(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    return tuple(
        one.model_copy(update={"data": deepcopy(one.data)}) if one.data else one for one in memories
    )
