"""Stalls: users whose work waits for an endpoint or the store, and when each is tried again."""

import asyncio
from collections.abc import Awaitable, Callable

from loguru import logger

from souffleur.background.attempts import Endpoints
from souffleur.background.patience import MAX_STALL_PAUSE, MIN_RETRY_PAUSE, Patience, Stall
from souffleur.errors import EndpointError, OutageError, SouffleurError

Sleep = Callable[[float], Awaitable[None]]


class Stalls:
    """Has `serve(user_id)` tried for one user at a time, the longest waiting first."""

    def __init__(
        self,
        serve: Callable[[str], Awaitable[object]],
        endpoints: Endpoints,
        patience: Patience,
        *,
        sleep: Sleep,
        steady: Callable[[], float],
    ) -> None:
        self._serve = serve
        self._endpoints = endpoints
        self._patience = patience
        self._sleep = sleep
        self._steady = steady
        self.users: dict[str, Stall] = {}
        """Who waits, the longest waiting first."""
        self.task: asyncio.Task[None] | None = None
        """Tries users while there are any."""

    def note(self, user_id: str, error: SouffleurError) -> None:
        """Note that a user waits, and schedule another attempt."""
        former = self.users.pop(user_id, Stall(0, 0.0))
        times = former.times + (not isinstance(error, OutageError))
        asked = error.retry_after if isinstance(error, EndpointError) else None
        usual = self._patience.wait(max(times, 1), MAX_STALL_PAUSE)
        pause = max(usual, asked or 0.0, MIN_RETRY_PAUSE)
        # At the end: another user tries next, in case this one's request is the cause.
        self.users[user_id] = Stall(times, self._steady() + min(pause, MAX_STALL_PAUSE))
        logger.bind(user=user_id).warning("turns wait: {}", error)
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._try_next())

    def settle(self, user_id: str) -> None:
        """Note that a user waits no longer."""
        self.users.pop(user_id, None)

    async def _try_next(self) -> None:
        while self.users:
            ready = min(stall.ready_at for stall in self.users.values())
            wait = max(ready - self._steady(), self._endpoints.retry_in)
            if wait <= 0:
                now = self._steady()
                await self._serve(
                    next(id for id, stall in self.users.items() if stall.ready_at <= now)
                )
            else:
                await self._sleep(wait)
