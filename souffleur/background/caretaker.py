"""The caretaker: ends silent sessions, embeds raw turns, and lets them expire."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import EmbedderError
from souffleur.telemetry.log_lines import describe, trace_bug
from souffleur.time_source import TimeSource

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.talk.session import WindowRule

ROUND_SECONDS = 60.0
"""Seconds between two rounds."""
EXPIRY_INTERVAL = timedelta(hours=1)
"""The pause between two deletions of expired words, which no read path returns anyway."""
MAX_CLOCK_JUMP = timedelta(days=1)
"""A clock that differs by this much from the seconds that passed was set, maybe wrongly."""


class Caretaker:
    """Does upkeep in the background; calls `wake(user_id)` for users whose session has ended.

    Each round, `write_late` writes turns that are not on disk yet, and `renew` resumes what waited
    for another day.
    """

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        rule: "WindowRule",
        *,
        times: TimeSource,
        wake: Callable[[str], None],
        write_late: Callable[[], object],
        renew: Callable[[], Awaitable[None]],
    ) -> None:
        self._knowledge = knowledge
        self._rule = rule
        self._times = times
        self._wake = wake
        self._write_late = write_late
        self._renew = renew
        self._expired_at: datetime | None = None
        self._seen: tuple[datetime, float] | None = None
        """The clock and the steady seconds at the latest round."""
        self._trusted_from = 0.0
        """The steady second from which the clock is trusted again."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Work in the running event loop until `stop` is called."""
        self._task = asyncio.get_running_loop().create_task(self._keep_going())

    async def stop(self) -> None:
        """Stop, and wait until it has stopped."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

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

    async def embed(self, user_id: str | None = None) -> None:
        """Embed raw turns, so that they can be found; if the embedder fails, they wait."""
        try:
            await self._knowledge.embed_turns(user_id)
        except EmbedderError as error:
            bound = logger.bind(user=user_id)
            bound.warning("raw turns are not found by their sense yet: {}", error)

    def _believes(self, now: datetime) -> bool:
        """Return whether words may expire by this clock; they may not for a day after it jumped."""
        steady, seen = self._times.steady(), self._seen
        self._seen = (now, steady)
        if seen is not None:
            jumped = abs((now - seen[0]) - timedelta(seconds=steady - seen[1]))
            if jumped >= MAX_CLOCK_JUMP:
                logger.warning("the clock jumped by {}: no words expire for a day", jumped)
                self._trusted_from = steady + MAX_CLOCK_JUMP.total_seconds()
        return steady >= self._trusted_from

    async def _keep_going(self) -> None:
        while True:
            await self._times.sleep(ROUND_SECONDS)
            try:
                self._write_late()
                await self._renew()
                await self.tidy()
                await self.embed()
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next round
                logger.error("a round of upkeep failed: {}", describe(error))
                trace_bug(logger, error)
