"""Valued: the memories of a user that are read first, kept until one of them changes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from souffleur.knowledge.engine.memo import Memo
from souffleur.knowledge.memory import Memory

LONGEST = timedelta(hours=1)
"""Time for which what was read at a moment holds, if nothing ends before."""


@dataclass(frozen=True)
class _Kept:
    memories: Sequence[Memory]
    since: datetime
    until: datetime


class Valued:
    """What was read of one user by one question, if this process alone writes to the store."""

    def __init__(self, memo: Memo, user_id: str, asked: Hashable, now: datetime) -> None:
        """`asked` tells this question from others."""
        self._memo = memo if memo.life is None else None
        self._user_id = user_id
        self._asked = asked
        self._now = now
        self._versions = memo.versions((user_id,))

    def find(self) -> Sequence[Memory] | None:
        """Return what was read and holds at this moment; `None` if nothing does."""
        kept = self._memo and self._memo.find_made(self._user_id, self._asked)
        if not isinstance(kept, _Kept) or not kept.since <= self._now < kept.until:
            return None
        return kept.memories

    def keep(self, memories: Sequence[Memory]) -> None:
        """Keep what was read until a memory of the user is written, or one of these ends.

        What has `data`, which a caller may change, is not kept.
        """
        if self._memo is None or any(one.data for one in memories):
            return
        ends = (end for one in memories for end in (one.expires_at, one.valid_until))
        until = min((end for end in ends if end and end > self._now), default=self._now + LONGEST)
        kept = _Kept(tuple(memories), self._now, min(until, self._now + LONGEST))
        size, owners = len(memories), (self._user_id,)
        self._memo.keep_made(owners, self._asked, kept, size, self._versions)
