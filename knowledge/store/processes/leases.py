"""The lease of a user: the process that judges the user, the end time, and the open verdicts.

Each new holder has a higher fence number. A verdict becomes valid by a write to the lease. The
write fails if another process has taken the lease, so a process that was paused for longer than its
lease changes nothing.
"""

import asyncio
import random
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import ClassVar
from uuid import uuid4

from pydantic import AwareDatetime

from souffleur.errors import LeaseLostError, StoreError
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import Collection, Filter, Is, Point, read_all
from souffleur.knowledge.store.reading import read, read_each

CLOCK_ERROR = timedelta(days=1)
"""A lease that exceeds the maximum duration by more than this is from a wrong clock, and free."""


class OpenVerdict(Frozen):
    """A valid verdict that may not be applied yet."""

    id: str
    seq: int
    """The number of the verdict's entries in the ledger."""


class UserLease(Frozen):
    """The lease to judge the turns of a user."""

    type: ClassVar = "user lease"

    user_id: str
    holder: str = ""
    """The id of the holder; empty if the lease is free."""
    fence: int = 0
    """The fence number: how often the lease was taken."""
    until: AwareDatetime | None = None
    taken_over: bool = False
    """Whether the lease was taken from a process that had not released it."""
    seq: int = 0
    """The number of the latest verdict."""
    open: tuple[OpenVerdict, ...] = ()
    """The valid verdicts that may not be applied yet."""
    revision: int = 0

    @property
    def id(self) -> str:
        """The id of the lease's point."""
        return derive_id(self.type, self.user_id)

    def is_held(self, now: datetime, period: timedelta) -> bool:
        """Return whether a process holds the lease now; `period` is the duration of leases."""
        if not self.holder or self.until is None:
            return False
        return now < self.until <= now + period + CLOCK_ERROR

    def taken(self, holder: str, now: datetime, period: timedelta) -> "UserLease | None":
        """Return the lease taken by `holder`; `None` if another process holds it.

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
        """Return the lease renewed for a period from now; `None` if another has taken it."""
        if self.fence != fence or not self.holder:
            return None
        return self.model_copy(update={"until": now.astimezone(UTC) + period})

    def released(self, fence: int) -> "UserLease | None":
        """Return the lease as free; `None` if another process has taken it."""
        if self.fence != fence or not self.holder:
            return None
        return self.model_copy(update={"holder": "", "until": None})


@dataclass(frozen=True)
class Fence:
    """The user that a task judges, and the fence number of the task's lease."""

    user_id: str
    number: int
    lost: Callable[[], object]
    """A function that ends the work. It is called if another process has taken the lease."""


working_under: ContextVar[Fence | None] = ContextVar("working_under", default=None)
"""The fence of the running task; `None` for direct actions of a user or host."""


def fence_of(user_id: str) -> Fence | None:
    """Return the fence of the running task if it judges this user, else `None`."""
    fence = working_under.get()
    return fence if fence and fence.user_id == user_id else None


def lease_point(lease: UserLease, by: str, *, first_seq: int = 0) -> Point:
    """Return the point of a lease; `by` is the id of the write. Open verdicts make it unapplied.

    A free lease without verdicts (no number above `first_seq`) has no user id, as its user may have
    been erased.
    """
    derived = {"type": lease.type, "written_by": by, "applied": not lease.open}
    named = {} if lease.holder or lease.seq > first_seq or lease.open else {"user_id": ""}
    return Point(lease.id, {**lease.model_dump(mode="json"), **derived, **named})


MAX_ATTEMPTS = 50
"""Maximum attempts at a write that conflicts with other processes; then it raises StoreError."""

Change = Callable[[UserLease], UserLease | None]


class UserLeases:
    """The leases of all users, in a journal's collection."""

    def __init__(self, collection: Collection, *, first_seq: int) -> None:
        """Start numbers after `first_seq`, the highest number in the store, for new leases."""
        self._collection = collection
        self._first_seq = first_seq
        self._done: dict[str, set[str]] = {}
        """Applied verdicts of this process, by user, that the lease still lists as open."""

    async def read(self, user_id: str) -> UserLease:
        """Return the lease of a user, or a free lease."""
        free = UserLease(user_id=user_id, seq=self._first_seq)
        found = await self._collection.get([free.id])
        return read(found[0], UserLease).model_copy(update={"user_id": user_id}) if found else free

    async def with_open_verdicts(self) -> list[UserLease]:
        """Return the leases of all users with open verdicts."""
        wanted = Filter((Is("type", UserLease.type), Is("applied", False)))
        return read_each(await read_all(self._collection, wanted), partial(read, model=UserLease))

    async def change(
        self, user_id: str, change: Change, *, known: UserLease | None = None
    ) -> UserLease | None:
        """Write the lease that `change` returns and return it; `None` if `change` returns `None`.

        The write also removes applied verdicts from the lease. `known` is the lease from an earlier
        read: it saves a read if no process has written the lease since.
        """
        for attempt in range(MAX_ATTEMPTS):
            lease = known if known and not attempt else await self.read(user_id)
            new = change(lease)
            if new is None:
                return None
            done = self._done.get(user_id, set()).copy()
            new = new.model_copy(
                update={
                    "open": tuple(one for one in new.open if one.id not in done),
                    "revision": lease.revision + 1,
                }
            )
            point = lease_point(new, by=str(uuid4()), first_seq=self._first_seq)
            revisions = {point.id: lease.revision} if lease.revision else {}
            if await self._collection.swap([point], revisions):
                self._forget(user_id, done)
                return new
            await asyncio.sleep(random.uniform(0, 0.002) * attempt)
        raise StoreError(f"the lease of {user_id!r} could not be written: others were faster")

    async def take(
        self, user_id: str, holder: str, now: datetime, period: timedelta
    ) -> UserLease | None:
        """Take the lease and return it; `None` if another process holds it."""
        return await self.change(user_id, lambda lease: lease.taken(holder, now, period))

    async def raise_number(self, user_id: str, seq: int) -> None:
        """Raise a user's number: the next verdicts get numbers above `seq`."""

        def raised(lease: UserLease) -> UserLease | None:
            return lease.model_copy(update={"seq": seq}) if lease.seq < seq else None

        await self.change(user_id, raised)

    async def commit(self, user_id: str, verdict_id: str) -> int:
        """Make a verdict with written drafts valid; return its number in the ledger.

        Raises LeaseLostError if the running task judges the user and another process has taken the
        lease.
        """
        fence = fence_of(user_id)

        def decided(lease: UserLease) -> UserLease:
            if fence and (lease.fence != fence.number or not lease.holder):
                fence.lost()
                raise LeaseLostError(f"another process judges {user_id!r} now")
            if any(one.id == verdict_id for one in lease.open):
                return lease  # an earlier write succeeded, but could not be identified
            seq = lease.seq + 1
            opened = (*lease.open, OpenVerdict(id=verdict_id, seq=seq))
            return lease.model_copy(update={"seq": seq, "open": opened})

        lease = await self.change(user_id, decided)
        assert lease is not None
        return next(one.seq for one in lease.open if one.id == verdict_id)

    async def note_done(self, user_id: str, verdict_id: str) -> None:
        """Note that a verdict is applied; the next write to the lease removes it from the lease.

        The lease is written now, unless the running task holds it and will write it later anyway.
        """
        self._done.setdefault(user_id, set()).add(verdict_id)
        if fence_of(user_id) is None:
            await self.change(user_id, lambda lease: lease if lease.open else None)

    def _forget(self, user_id: str, done: set[str]) -> None:
        left = self._done.get(user_id, set()) - done
        if left:
            self._done[user_id] = left
        else:
            self._done.pop(user_id, None)
