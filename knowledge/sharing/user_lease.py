"""The lease of a user: which process judges, until when, and which verdicts it has decided on.

Each taker has a higher fence. A verdict of a judge holds by one write to the lease, which fails if
somebody else has taken it: a process that was paused for longer than its lease changes nothing.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from pydantic import AwareDatetime

from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.reading import read

CLOCK_ERROR = timedelta(days=1)
"""A lease that is this much longer than any was written by a wrong clock, and is free."""


class OpenVerdict(Frozen):
    """A verdict that is decided on, and may not be carried out yet."""

    id: str
    seq: int
    """The number that its entries have in the ledger."""


class UserLease(Frozen):
    """Who may judge a user's turns."""

    type: ClassVar = "user lease"

    user_id: str
    holder: str = ""
    """The id of the holder; empty if it is free."""
    fence: int = 0
    """How often it was taken."""
    until: AwareDatetime | None = None
    taken_over: bool = False
    """Whether it was taken from a process that did not release it."""
    seq: int = 0
    """The number of the latest verdict."""
    open: tuple[OpenVerdict, ...] = ()
    """Verdicts that are decided on, and not known to be carried out."""
    revision: int = 0

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id(self.type, self.user_id)

    def is_held(self, now: datetime, period: timedelta) -> bool:
        """Return whether somebody holds it now; `period` is that of the leases."""
        if not self.holder or self.until is None:
            return False
        return now < self.until <= now + period + CLOCK_ERROR

    def taken(self, holder: str, now: datetime, period: timedelta) -> "UserLease | None":
        """Return the lease as `holder` takes it; `None` if another holds it.

        >>> noon, second = datetime(2026, 1, 3, 12, tzinfo=UTC), timedelta(seconds=1)
        >>> lease = UserLease(user_id="ann").taken("a", noon, 30 * second)
        >>> lease.taken("b", noon + 29 * second, 30 * second)
        >>> lease.taken("b", noon + 30 * second, 30 * second).fence
        2
        """
        if self.holder != holder and self.is_held(now, period):
            return None
        new = {"holder": holder, "fence": self.fence + 1, "until": now.astimezone(UTC) + period}
        return self.model_copy(update={**new, "taken_over": bool(self.holder)})

    def renewed(self, fence: int, now: datetime, period: timedelta) -> "UserLease | None":
        """Return the lease until a period from now; `None` if another has taken it."""
        if self.fence != fence or not self.holder:
            return None
        return self.model_copy(update={"until": now.astimezone(UTC) + period})

    def released(self, fence: int) -> "UserLease | None":
        """Return the free lease; `None` if another has taken it."""
        if self.fence != fence or not self.holder:
            return None
        return self.model_copy(update={"holder": "", "until": None})


@dataclass(frozen=True)
class Fence:
    """On whose behalf a task works, and by which taking of the lease."""

    user_id: str
    number: int
    lost: Callable[[], object]
    """Called when another process turns out to have taken the lease: ends the work."""


working_under: ContextVar[Fence | None] = ContextVar("working_under", default=None)
"""The fence of the running task; what a user or host does by hand has none."""


def fence_of(user_id: str) -> Fence | None:
    """Return the fence under which the running task judges a user, if it does."""
    fence = working_under.get()
    return fence if fence and fence.user_id == user_id else None


def lease_point(lease: UserLease, by: str, *, first_seq: int = 0) -> Point:
    """Return the point of a lease, written by the write `by`; open verdicts make it unapplied.

    A free lease under which nothing was decided, no number after the first one, names nobody: its
    user may have been erased.
    """
    derived = {"type": lease.type, "written_by": by, "applied": not lease.open}
    named = {} if lease.holder or lease.seq > first_seq or lease.open else {"user_id": ""}
    return Point(lease.id, {**lease.model_dump(mode="json"), **derived, **named})


def to_user_lease(point: Point) -> UserLease:
    """Return the lease of a point. Raises UnreadableError."""
    return read(point, UserLease, derived={"type", "written_by", "applied"})
