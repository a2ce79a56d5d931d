"""The limit of work at a time: users that are served, and pieces of work that compute.

All work besides the calls of the model holds the event loop for a millisecond at a time. If
hundreds of answers came at once, all their work would run before the host's own work.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from souffleur.agents.model.chat import Chat, Reply, Request

COMPUTING = 2
"""Maximum pieces of work that compute at a time, if store and embedder are in this process."""
COMPUTING_REMOTELY = 16
"""The same if the store or the embedder is a server, as work then waits for its answers."""


@dataclass
class _Place:
    """The right to compute; the subtasks of a piece of work share it."""

    free: asyncio.Semaphore
    held: bool = True


_place: ContextVar[_Place] = ContextVar("place")


class Limit:
    """Limits how many users are served at a time, and how much of that work computes."""

    def __init__(self, served: int = 8, computing: int = COMPUTING) -> None:
        self.served = served
        """Maximum users served at the same time."""
        self._computing = computing
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Wait until there is room for a piece of work; do the work within this context."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # an earlier loop has ended, with all its tasks
            self._loop = loop
            self._users = asyncio.Semaphore(self.served)
            self._free = asyncio.Semaphore(self._computing)
        async with self._users:
            place = _Place(self._free)
            await place.free.acquire()
            token = _place.set(place)
            try:
                yield
            finally:
                _place.reset(token)
                if place.held:
                    place.free.release()

    @staticmethod
    def lend(chat: Chat) -> Chat:
        """Return a chat whose caller lets other work compute until the model has answered."""

        async def asked(request: Request) -> Reply:
            place = _place.get(None)
            if place is None or not place.held:
                return await chat(request)
            place.held = False
            place.free.release()
            try:
                return await chat(request)
            finally:
                await place.free.acquire()
                place.held = True

        return asked
