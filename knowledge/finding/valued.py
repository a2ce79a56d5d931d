"""Valued: the memories of a user that are read first, kept until one of them changes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from souffleur.knowledge.decay import Fading, by_age, by_value, next_end
from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.engine.kept_until import KeptUntil
from souffleur.knowledge.engine.memo import Memo
from souffleur.knowledge.finding.fading import to_fading
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.policy import Policy

LONGEST = timedelta(hours=1)
"""Time for which what was read at a moment holds, if nothing ends before."""


@dataclass(frozen=True)
class Valued:
    """Memories by their age, and of each how it fades, which is not found out for each moment."""

    memories: Sequence[Memory]
    fadings: Sequence[Fading]

    @classmethod
    def of(cls, points: Sequence[Point], policy: Policy) -> "Valued":
        """Return the memories of points, and how they fade under a policy."""
        found = {one.memory.id: one for one in to_fading(points, policy)}
        memories = by_age([one.memory for one in found.values()])
        return cls(memories, [found[one.id].fading for one in memories])

    def best(self, limit: int, now: datetime) -> list[Memory]:
        """Return the most valuable at a moment, best first; those of one value stay in order."""
        return by_value(self.memories, self.fadings, now)[:limit]


class KeptValued:
    """What was read of one user by one question, if this process alone writes to the store."""

    def __init__(self, memo: Memo, user_id: str, asked: Hashable, now: datetime) -> None:
        """`asked` tells this question from others."""
        self._now = now
        self._kept = KeptUntil(memo, (user_id,), asked, now)

    def find(self) -> Valued | None:
        """Return what was read and holds at this moment; `None` if nothing does."""
        found: Valued | None = self._kept.find()
        return found

    def keep(self, valued: Valued) -> None:
        """Keep what was read until a memory of the user is written, or one of these ends.

        What has `data`, which a caller may change, is not kept.
        """
        memories = valued.memories
        if any(one.data for one in memories):
            return
        longest = self._now + LONGEST
        until = min(next_end(memories, self._now) or longest, longest)
        self._kept.keep(valued, len(memories), until)
