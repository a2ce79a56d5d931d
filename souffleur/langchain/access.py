"""Access to one memory from both kinds of hosts: with an event loop, and without."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from souffleur.blocking.memory import BlockingSouffleur
from souffleur.errors import BlockingError

Work = Callable[[Any], Any]
"""What to do with a Souffleur; may return an awaitable."""


class Access:
    """Does work on a Souffleur, in its own event loop, whichever way a host calls."""

    def __init__(self, memory: Any) -> None:
        """`memory` is a Souffleur, then made in its event loop, or a BlockingSouffleur."""
        self.memory = memory
        self._blocking = isinstance(memory, BlockingSouffleur)
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
        if self._blocking:
            return self.memory.call(lambda inner: _done(work, inner))
        if self._loop is None or self._loop is _running_loop():
            raise BlockingError(
                "a synchronous call cannot wait for a Souffleur of its own event loop: use the "
                "asynchronous form (`ainvoke`, `aget`), or open the memory with `open_blocking`"
            )
        return asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop).result()


async def _done(work: Work, memory: Any) -> Any:
    found = work(memory)
    return await found if inspect.isawaitable(found) else found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
