"""The leases of all users in a store: taken, renewed, released, and written to by verdicts."""

import asyncio
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

from souffleur.errors import LeaseLostError, StoreError
from souffleur.knowledge.engine.collection import Collection, Filter, Is, read_all
from souffleur.knowledge.reading import read_each
from souffleur.knowledge.sharing.user_lease import (
    OpenVerdict,
    UserLease,
    fence_of,
    lease_point,
    to_user_lease,
)

MAX_ATTEMPTS = 50
"""Maximum attempts at a write that others get ahead of, before the store counts as in trouble."""

Change = Callable[[UserLease], UserLease | None]


class UserLeases:
    """The leases in a journal's collection."""

    def __init__(self, collection: Collection, *, first_seq: int) -> None:
        """`first_seq` is the highest number in the store, from before users had leases."""
        self._collection = collection
        self._first_seq = first_seq
        self._done: dict[str, set[str]] = {}
        """Verdicts that this process knows to be carried out, by user, until the lease says so."""

    async def read(self, user_id: str) -> UserLease:
        """Return the lease of a user; a free one if there is none."""
        free = UserLease(user_id=user_id, seq=self._first_seq)
        found = await self._collection.get([free.id])
        return to_user_lease(found[0]).model_copy(update={"user_id": user_id}) if found else free

    async def with_open_verdicts(self) -> list[UserLease]:
        """Return the leases of all users with verdicts that may not be carried out."""
        wanted = Filter((Is("type", UserLease.type), Is("applied", False)))
        return read_each(await read_all(self._collection, wanted), to_user_lease)

    async def change(
        self, user_id: str, change: Change, *, known: UserLease | None = None
    ) -> UserLease | None:
        """Write what `change` makes of the lease; return it, or `None` if it makes nothing.

        Verdicts that are carried out leave it meanwhile. `known` saves a read if nobody has
        written the lease since.
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
        """Take the lease; `None` if another holds it."""
        return await self.change(user_id, lambda lease: lease.taken(holder, now, period))

    async def raise_number(self, user_id: str, seq: int) -> None:
        """Have the user's verdicts be numbered after `seq`."""

        def raised(lease: UserLease) -> UserLease | None:
            return lease.model_copy(update={"seq": seq}) if lease.seq < seq else None

        await self.change(user_id, raised)

    async def commit(self, user_id: str, verdict_id: str) -> int:
        """Decide on a verdict whose drafts are written; return its number in the ledger.

        Raises LeaseLostError if the running task judges the user and another has taken the lease.
        """
        fence = fence_of(user_id)

        def decided(lease: UserLease) -> UserLease:
            if fence and (lease.fence != fence.number or not lease.holder):
                fence.lost()
                raise LeaseLostError(f"another process judges {user_id!r} now")
            if any(one.id == verdict_id for one in lease.open):
                return lease  # the write before was not recognised as ours
            seq = lease.seq + 1
            opened = (*lease.open, OpenVerdict(id=verdict_id, seq=seq))
            return lease.model_copy(update={"seq": seq, "open": opened})

        lease = await self.change(user_id, decided)
        assert lease is not None
        return next(one.seq for one in lease.open if one.id == verdict_id)

    async def note_done(self, user_id: str, verdict_id: str) -> None:
        """Note that a verdict is carried out; the lease says so from its next write on.

        That is now, unless the running task holds the lease and will write it anyway.
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
