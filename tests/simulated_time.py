"""Time that a test lets pass: an hour takes as long as what happens in it."""

import asyncio
import heapq
import itertools
from datetime import datetime, timedelta

from souffleur.times import TimeSource
from tests.place import SERVER

SETTLED = 200
"""Turns of the event loop in which all that is ready has gone on as far as it can."""


class SimulatedTime:
    """A clock, steady seconds and sleeping, all moved by `pass_`."""

    def __init__(self, start: datetime) -> None:
        self.at = start
        self._seconds = 0.0
        self._count = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self.source = TimeSource(lambda: self.at, lambda: self._seconds, self._sleep)

    async def pass_(self, seconds: float) -> None:
        """Let time pass, waking whoever sleeps until then, each at its moment."""
        end = self._seconds + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            moment, _, event = heapq.heappop(self._sleepers)
            self._move(moment)
            event.set()
            await self._settle()
        self._move(end)

    def jump(self, by: timedelta) -> None:
        """Set the clock; no second passes."""
        self.at += by

    async def _sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        event = asyncio.Event()
        heapq.heappush(self._sleepers, (self._seconds + seconds, next(self._count), event))
        await event.wait()

    def _move(self, moment: float) -> None:
        self.at += timedelta(seconds=moment - self._seconds)
        self._seconds = moment

    async def _settle(self) -> None:
        for _ in range(SETTLED):
            await asyncio.sleep(0.005 if SERVER else 0)  # a server's answers take a while
