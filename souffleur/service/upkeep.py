"""The caretaker: ends silent sessions, embeds raw turns, lets them expire, renews old stores."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import EmbedderError
from souffleur.knowledge.store.schema import is_current
from souffleur.telemetry.log_lines import describe, trace_bug
from souffleur.times import TimeSource

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.session import WindowRule

ROUND_SECONDS = 60.0
"""Seconds between two rounds."""
EXPIRY_INTERVAL = timedelta(hours=1)
"""The pause between two deletions of expired words, which no read path returns anyway."""
MAX_START = 0.5
"""Seconds that a start waits for an older store to be brought up, which goes on behind the talk."""
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
        leads: Callable[[datetime], Awaitable[bool]] | None = None,
    ) -> None:
        """`leads` says whether a round is this process's to do; without it, every round is."""
        self._leads = leads
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
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Work in the running event loop until `stop` is called."""
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._bring_up()), loop.create_task(self._keep_going())]

    async def settle(self) -> None:
        """Wait, for a moment at most, until the store is of this version; if it is, go on."""
        made_with = await self._knowledge.journal.meta()
        if made_with and is_current(made_with):
            return  # without a turn of the event loop, in which what waits would begin
        await asyncio.wait(self._tasks[:1], timeout=MAX_START)

    async def stop(self) -> None:
        """Stop, and wait until it has stopped."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

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

    async def _bring_up(self) -> None:
        """Bring the store up to this version, however often that fails."""
        while True:
            try:
                if await self._knowledge.bring_up():
                    await self._wake_all()
                if count := await self._knowledge.embed_anew():
                    logger.info("{} memories are embedded anew", count)
                return
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next try
                logger.error("the store is not brought up yet: {}", describe(error))
                trace_bug(logger, error)
            await self._times.sleep(ROUND_SECONDS)

    async def _wake_all(self) -> None:
        after: int | None = 0
        while after is not None:
            users, after = await self._knowledge.journal.users_waiting(after=after)
            for user_id in users:
                self._wake(user_id)

    async def _keep_going(self) -> None:
        while True:
            await self._times.sleep(ROUND_SECONDS)
            try:
                self._write_late()
                await self._renew()
                if self._leads is None or await self._leads(self._times.now()):
                    await self.tidy()
                    await self.embed()
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next round
                logger.error("a round of upkeep failed: {}", describe(error))
                trace_bug(logger, error)
