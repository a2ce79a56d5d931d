"""Hands: how many judged turns compute at a time, however many wait for the model.

What is computed besides the model holds the event loop for a millisecond at a time. If hundreds
of answers came at once, all of it would run before the host's own work is let in again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from souffleur.agents.model.chat import Chat, Reply, Request

HANDS = 2
"""Judged turns that compute at a time, where store and embedder are in this process."""
HANDS_OF_REMOTE = 16
"""Likewise where one of them is a server, whose answers are awaited."""


@dataclass
class _Hold:
    """Whether a piece of work has a hand now; its subtasks share the object."""

    held: bool = True


_hold: ContextVar[_Hold] = ContextVar("hold")


class Hands:
    """A number of hands: each piece of work takes one, and lends it while it asks the model."""

    def __init__(self, number: int = HANDS) -> None:
        self._number = number
        self.adopt()

    def adopt(self) -> None:
        """Work in another event loop from now on; a former one, and its tasks, are gone."""
        self._free = asyncio.Semaphore(self._number)

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """Do a piece of work within, once a hand is free."""
        free = self._free
        await free.acquire()
        hold = _Hold()
        token = _hold.set(hold)
        try:
            yield
        finally:
            _hold.reset(token)
            if hold.held:
                free.release()

    def lend(self, chat: Chat) -> Chat:
        """Return a chat that frees the hand of its caller, if it has one, until it is answered."""

        async def asked(request: Request) -> Reply:
            hold, free = _hold.get(None), self._free
            if hold is None or not hold.held:
                return await chat(request)
            hold.held = False
            free.release()
            try:
                return await chat(request)
            finally:
                await free.acquire()
                hold.held = True

        return asked
