"""Leases: of several processes that share a store, only one judges a user at a time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4
from weakref import WeakSet

from loguru import logger

from souffleur.errors import LeaseLostError, SouffleurError
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.processes import several
from souffleur.knowledge.store.processes.leases import Fence, UserLease, working_under
from souffleur.times import TimeSource

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

T = TypeVar("T")

RENEWALS = 3
"""Number of renewals within the period of a lease."""


class Leases:
    """Takes the lease of a user, and keeps it while this process works for the user."""

    def __init__(self, knowledge: "KnowledgeBase", *, seconds: float, times: TimeSource) -> None:
        """A lease is free again if it is not renewed for `seconds`."""
        self.holder = str(uuid4())
        self._knowledge = knowledge
        self._period = timedelta(seconds=seconds)
        self._times = times
        self._cut_off = WeakSet[asyncio.Task[Any]]()
        """Tasks that were cancelled because another process has taken the lease."""

    @asynccontextmanager
    async def claim(self, user_id: str) -> AsyncIterator[bool]:
        """Hold the lease of a user while a model works; yields whether this process may work.

        Yields `False` if another process holds the lease, or if the user's memory is off.
        """
        if not (await self._knowledge.cache.choices.find(user_id)).memory:
            yield False
            return
        async with self.hold(user_id) as mine:
            yield mine

    @asynccontextmanager
    async def hold(self, user_id: str) -> AsyncIterator[bool]:
        """Hold the lease of a user; yields whether it is held. If it is lost, cancels the task.

        First carries out the verdicts that an earlier holder left unfinished. A store of one
        process has no leases: yields `True`.
        """
        if not self._journal.collection.shared:
            yield True
            return
        async with self._held(user_id) as held:
            yield held

    @asynccontextmanager
    async def _held(self, user_id: str) -> AsyncIterator[bool]:
        lease = await self._journal.leases.take(
            user_id, self.holder, self._times.now(), self._period
        )
        if lease is None:
            yield False
            return
        task = asyncio.current_task()
        assert task is not None
        fence = Fence(user_id, lease.fence, partial(self._end, task, user_id))
        token = working_under.set(fence)
        renewing = asyncio.create_task(self._renew(lease, task))
        try:
            await self._take_over(lease)
            yield True
        finally:
            renewing.cancel()
            with contextlib.suppress(SouffleurError):  # the lease runs out by itself
                await self._journal.leases.change(user_id, lambda one: one.released(lease.fence))
            with contextlib.suppress(ValueError):  # in another context the variable is not set
                working_under.reset(token)

    async def is_elsewhere(self, user_id: str) -> bool:
        """Return whether another process holds the lease of a user now."""
        if not self._journal.collection.shared:
            return False
        lease = await self._journal.leases.read(user_id)
        return lease.holder != self.holder and lease.is_held(self._times.now(), self._period)

    async def wait_for(self, user_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Work under the lease of a user, as soon as no other process holds the lease.

        If another process takes the lease meanwhile, cancels the work and raises LeaseLostError.
        """
        while True:
            try:
                async with self.hold(user_id) as mine:
                    if mine:
                        return await work()
            except asyncio.CancelledError:
                self._raise_if_lost(user_id)
                raise
            await self._times.sleep(self._period.total_seconds() / 30)

    def _raise_if_lost(self, user_id: str) -> None:
        """Raise LeaseLostError if the lost lease is the only reason why this task is cancelled."""
        task = asyncio.current_task()
        if task and task in self._cut_off and not task.uncancel():
            self._cut_off.discard(task)
            lost = f"another process judges {user_id!r} now, and this was broken off: try again"
            raise LeaseLostError(lost) from None

    def _end(self, task: asyncio.Task[Any], user_id: str) -> None:
        """Cancel a task because another process has taken its lease."""
        logger.bind(user=user_id).warning("another process judges this user now")
        self._cut_off.add(task)
        task.cancel()

    @property
    def _journal(self) -> Journal:
        return self._knowledge.journal

    async def _take_over(self, lease: UserLease) -> None:
        if lease.open:
            await self._knowledge.recover(lease.user_id)
        if lease.taken_over:
            await several.drop_drafts(self._journal.collection, lease.user_id, lease.fence)

    async def _renew(self, lease: UserLease, work: asyncio.Task[object]) -> None:
        pause = self._period.total_seconds() / RENEWALS
        while True:
            await self._times.sleep(pause)
            renew = partial(
                UserLease.renewed, fence=lease.fence, now=self._times.now(), period=self._period
            )
            try:
                renewed = await self._journal.leases.change(lease.user_id, renew)
            except SouffleurError as error:
                logger.bind(user=lease.user_id).warning("a lease was not renewed: {}", error)
                continue
            if renewed is None:
                self._end(work, lease.user_id)
                return
