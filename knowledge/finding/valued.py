"""Valued: the memories of a user that are read first, kept until one of them changes."""

from collections.abc import Hashable, Sequence
from datetime import datetime, timedelta

from souffleur.knowledge.decay import next_end
from souffleur.knowledge.engine.kept_until import KeptUntil
from souffleur.knowledge.engine.memo import Memo
from souffleur.knowledge.memory import Memory

LONGEST = timedelta(hours=1)
"""Time for which what was read at a moment holds, if nothing ends before."""


class Valued:
    """What was read of one user by one question, if this process alone writes to the store."""

    def __init__(self, memo: Memo, user_id: str, asked: Hashable, now: datetime) -> None:
        """`asked` tells this question from others."""
        self._now = now
        self._kept = KeptUntil(memo, (user_id,), asked, now)

    def find(self) -> Sequence[Memory] | None:
        """Return what was read and holds at this moment; `None` if nothing does."""
        found: Sequence[Memory] | None = self._kept.find()
        return found

    def keep(self, memories: Sequence[Memory]) -> None:
        """Keep what was read until a memory of the user is written, or one of these ends.

        What has `data`, which a caller may change, is not kept.
        """
        if any(one.data for one in memories):
            return
        longest = self._now + LONGEST
        until = min(next_end(memories, self._now) or longest, longest)
        self._kept.keep(tuple(memories), len(memories), until)
