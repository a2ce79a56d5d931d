"""Access to one memory from both kinds of hosts: with an event loop, and without."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from threading import Event
from typing import TYPE_CHECKING, Any

from souffleur.blocking.memory import BlockingSouffleur
from souffleur.errors import BlockingError

if TYPE_CHECKING:
    from souffleur.client import AsyncClient, Client
    from souffleur.runtime import Souffleur

    AnyMemory = Souffleur | BlockingSouffleur | AsyncClient | Client

PATIENCE = 5.0
"""Seconds; usually a loop goes on after some milliseconds."""
BLOCKED = (
    "a synchronous call cannot wait for a memory of its own event loop: use the asynchronous form "
    "(`ainvoke`, `aget`), or `open_blocking` or `Client` instead"
)
Work = Callable[[Any], Any]
"""What to do with a Souffleur; may return an awaitable."""


class Access:
    """Does work on a memory, in its own event loop, whichever way a host calls."""

    def __init__(self, memory: "AnyMemory", patience: float = PATIENCE) -> None:
        """Make it, or use it first, in the event loop of a Souffleur or an AsyncClient.

        `patience`: seconds after which an event loop that does not go on counts as blocked.
        """
        self.memory: Any = memory
        self._patience = patience
        self._blocking = not inspect.iscoroutinefunction(memory.recall)
        self._loop = None if self._blocking else _running_loop()

    async def reach(self, work: Work) -> Any:
        """Do the work for a caller with an event loop, which is never blocked."""
        if self._blocking:
            return await asyncio.to_thread(self.wait, work)
        here = asyncio.get_running_loop()
        self._loop = self._loop or here
        if self._loop is here:
            return await _done(work, self.memory)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop)
        )

    def wait(self, work: Work) -> Any:
        """Do the work for a caller without one, and wait. Raises BlockingError if it never ends."""
        if isinstance(self.memory, BlockingSouffleur):
            return self.memory.call(lambda inner: _done(work, inner))
        if self._blocking:
            return _driven(_done(work, _Awaited(self.memory)))
        if self._loop is None or self._loop is _running_loop():
            raise BlockingError(BLOCKED)
        waiting = asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop)
        turned = Event()
        self._loop.call_soon_threadsafe(turned.set)
        # It is blocked if `invoke` runs in that loop: tools run in threads beside it.
        if not turned.wait(self._patience):
            waiting.cancel()
            raise BlockingError(BLOCKED)
        return waiting.result()


class _Awaited:
    """The methods of a Client, to be awaited; they have their results before."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*given: Any, **named: Any) -> Any:
            return method(*given, **named)

        return call


def _driven(done: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that waits for nothing, so that it needs no event loop."""
    try:
        done.send(None)
    except StopIteration as end:
        return end.value
    raise BlockingError("this work waits for an event loop, which a Client has not")


async def _done(work: Work, memory: Any) -> Any:
    found = work(memory)
    return await found if inspect.isawaitable(found) else found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
