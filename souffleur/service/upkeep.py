"""Background rounds: upkeep of the store, and polling for work of other processes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import StoreError
from souffleur.service.judging import embed_turns
from souffleur.telemetry.log_lines import describe, trace_bug

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.session import WindowRule
    from souffleur.knowledge.store.runs.watermarks import Leader
    from souffleur.service.queue import Queue
    from souffleur.times import TimeSource

ROUND_SECONDS = 60.0
"""Seconds between two rounds of upkeep."""
EXPIRY_INTERVAL = timedelta(hours=1)
"""Time between two deletions of expired words; nothing returns these words in between."""
MAX_CLOCK_JUMP = timedelta(days=1)
"""If the clock and the steady seconds differ by this much, the clock was set, maybe wrongly."""
POLL_SECONDS = 1.0
"""Minimum seconds between two polls."""
POLL_SHARE = 0.1
"""Maximum share of the time that polling takes; the maximum pause is the period of a lease."""


class Upkeep:
    """Ends silent sessions, embeds raw turns, deletes expired words, embeds a store anew.

    Each round first calls `retry`, which writes late turns and resumes turns that had no budget.
    """

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        rule: "WindowRule",
        *,
        times: "TimeSource",
        wake: Callable[[str], None],
        retry: Callable[[], Awaitable[None]],
        leader: "Leader | None" = None,
    ) -> None:
        """`wake` is called with each user whose session has ended.

        If several processes share a store, only the leading process does the rounds. Without a
        `leader`, this process does them.
        """
        self._knowledge = knowledge
        self._rule = rule
        self._times = times
        self._wake = wake
        self._retry = retry
        self._leader = leader
        self._expired_at: datetime | None = None
        self._seen: tuple[datetime, float] | None = None
        """The clock and the steady seconds at the latest round."""
        self._trusted_from = 0.0
        """The steady second from which on the clock is trusted again."""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Do rounds in the running event loop until `stop` is called."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._embed_anew()), loop.create_task(self._keep_going())]

    async def stop(self) -> None:
        """Stop, and wait until it has stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def give_up_lead(self) -> None:
        """Give up the lead, so that another process can lead at once."""
        if self._leader:
            with suppress(StoreError):  # the lease runs out by itself
                await self._leader.release()

    async def tidy(self) -> None:
        """Do one round of upkeep, without embedding raw turns."""
        now, sessions = self._times.now(), self._knowledge.sessions
        for user_id in await sessions.end_idle(now, self._rule):
            self._wake(user_id)
        if not self._believes(now):
            return
        if self._expired_at is None or abs(now - self._expired_at) >= EXPIRY_INTERVAL:
            self._expired_at = now
            if self._knowledge.raw_days:
                await sessions.expire(now, self._knowledge.raw_days)

    def _believes(self, now: datetime) -> bool:
        """Return whether to let words expire by this clock: not for a day after it jumped."""
        steady, seen = self._times.steady(), self._seen
        self._seen = (now, steady)
        if seen is not None:
            jumped = abs((now - seen[0]) - timedelta(seconds=steady - seen[1]))
            if jumped >= MAX_CLOCK_JUMP:
                logger.warning("the clock jumped by {}: no words expire for a day", jumped)
                self._trusted_from = steady + MAX_CLOCK_JUMP.total_seconds()
        return steady >= self._trusted_from

    async def _embed_anew(self) -> None:
        """Embed the memories that lost their vectors; tries again until it succeeds."""
        while True:
            try:
                if count := await self._knowledge.embed_anew():
                    logger.info("{} memories are embedded anew", count)
                return
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next try
                logger.error("the store is not embedded anew yet: {}", describe(error))
                trace_bug(logger, error)
            await self._times.sleep(ROUND_SECONDS)

    async def _keep_going(self) -> None:
        while True:
            await self._times.sleep(ROUND_SECONDS)
            try:
                await self._retry()
                if self._leader is None or await self._leader.lead(self._times.now()):
                    await self.tidy()
                    await embed_turns(self._knowledge)
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next round
                logger.error("a round of upkeep failed: {}", describe(error))
                trace_bug(logger, error)


class Polling:
    """Finds users with work that other processes have written to the store, or left undone."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        queue: "Queue | None",
        *,
        period: timedelta,
        times: "TimeSource",
        first: Callable[[], object],
    ) -> None:
        """`period` is the period of the leases; `first` is called before each poll.

        Without a `queue`, this process judges nothing, and a poll wakes nobody.
        """
        self._knowledge = knowledge
        self._queue = queue
        self._period = period
        self._times = times
        self._first = first
        self._seen: dict[str, tuple[int, float]] = {}
        """For each user with work: the number from `find_work` and the second of the last wake."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Poll in the running event loop until `stop` is called."""
        self._task = asyncio.get_running_loop().create_task(self._keep_going())

    async def stop(self) -> None:
        """Stop, and wait until it has stopped."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def poll(self) -> None:
        """Wake the users with new work, and the other users every third of a lease's period."""
        self._first()
        found, now = await self.find_work(), self._times.steady()
        known = {id: self._seen[id] for id in found if id in self._seen}
        long = now - self._period.total_seconds() / 3
        new = {id for id, mark in found.items() if id not in known or known[id][0] != mark}
        again = {id for id, (_, woken_at) in known.items() if woken_at <= long} - new
        self._seen = known | {id: (found[id], now) for id in new | again}
        if self._queue:
            self._queue.wake_found(sorted(new), sorted(again))

    async def find_work(self) -> Mapping[str, int]:
        """Return the users with work, each with a number that changes when work is added."""
        journal = self._knowledge.journal
        marks = await journal.users_with_pending_turns()
        for segment in await self._knowledge.sessions.waiting_segments():
            marks.setdefault(segment.user_id, 0)
        for lease in await journal.leases.with_open_verdicts():
            if not lease.is_held(self._times.now(), self._period):
                marks.setdefault(lease.user_id, 0)
        return marks

    async def _keep_going(self) -> None:
        failed = False
        while True:
            begun = self._times.steady()
            try:
                await self.poll()
                if failed and self._queue:
                    self._queue.wake_stalled()
                failed = False
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next poll
                level = "DEBUG" if failed else "WARNING"  # once per outage
                logger.log(level, "what waits could not be read: {}", error)
                failed = True
            took = self._times.steady() - begun
            # The time of a failed poll says nothing about the size of the queue: it may have
            # waited for the server.
            usual = 0.0 if failed else min(took / POLL_SHARE, self._period.total_seconds())
            await self._times.sleep(max(POLL_SECONDS, usual))
