"""What a reader makes of points as of a moment, kept until they change or its time is over."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from souffleur.knowledge.engine.memo import Memo


@dataclass(frozen=True)
class _Kept:
    value: Any
    since: datetime
    until: datetime


class KeptUntil:
    """The answer to one question, kept if this process alone writes to the store."""

    def __init__(self, memo: Memo, owners: Sequence[str], asked: Hashable, now: datetime) -> None:
        """`owners` are the users whose points it is made of; `asked` tells it from others."""
        self._memo = memo if memo.life is None else None
        self._owners = tuple(owners)
        self._asked = asked
        self._now = now
        self._versions = memo.versions(self._owners)

    def find(self) -> Any:
        """Return what was made and holds at this moment; `None` if nothing does."""
        kept = self._memo and self._memo.find_made(self._owners[0], self._asked)
        if not isinstance(kept, _Kept) or not kept.since <= self._now < kept.until:
            return None
        return kept.value

    def keep(self, value: Any, size: int, until: datetime) -> None:
        """Keep what was made of `size` points since this was begun; a caller must not change it."""
        if self._memo and until > self._now:
            kept = _Kept(value, self._now, until)
            self._memo.keep_made(self._owners, self._asked, kept, size, self._versions)
