"""The lookout: on a store of several processes, sees what others recorded or left undone."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.times import TimeSource

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

LOOK_SECONDS = 1.0
"""Minimum seconds between two looks."""
SHARE_OF_TIME = 0.1
"""Share of the time that looking may take, as the queue grows; the pause is a lease at most."""


Wake = Callable[[Sequence[str], Sequence[str]], object]
"""Is called with users for whom something is new, and with those who have waited for long."""


class Lookout:
    """Looks for users with work, and calls `wake` with them."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        *,
        period: timedelta,
        times: TimeSource,
        wake: Wake,
        first: Callable[[], object],
        back: Callable[[], object],
    ) -> None:
        """`period` is that of the leases.

        `first` is called before each look, `back` when the store is in reach again.
        """
        self._knowledge = knowledge
        self._period = period
        self._times = times
        self._wake = wake
        self._first = first
        self._back = back
        self._seen: dict[str, tuple[int, float]] = {}
        """For each user with work, what was there at the latest wake, and its steady second."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look in the running event loop until `stop` is called."""
        self._task = asyncio.get_running_loop().create_task(self._keep_going())

    async def stop(self) -> None:
        """Stop, and wait until it has stopped."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def look(self) -> None:
        """Wake the users with new work, and the others every third of a lease's period."""
        self._first()
        found, now = await self.find_work(), self._times.steady()
        known = {id: self._seen[id] for id in found if id in self._seen}
        long = now - self._period.total_seconds() / 3
        new = {id for id, mark in found.items() if id not in known or known[id][0] != mark}
        again = {id for id, (_, woken_at) in known.items() if woken_at <= long} - new
        self._seen = known | {id: (found[id], now) for id in new | again}
        self._wake(sorted(new), sorted(again))

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
                await self.look()
                if failed:
                    self._back()
                failed = False
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next look
                level = "DEBUG" if failed else "WARNING"  # once per outage
                logger.log(level, "what waits could not be read: {}", error)
                failed = True
            took = self._times.steady() - begun
            # What failed may have taken as long as the server may, and says nothing of the queue.
            usual = 0.0 if failed else min(took / SHARE_OF_TIME, self._period.total_seconds())
            await self._times.sleep(max(LOOK_SECONDS, usual))
