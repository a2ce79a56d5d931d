"""Grace: the seconds that all parts of a process have together to end what they began."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

from loguru import logger


class Grace:
    """Seconds that run from when somebody first asks how many are left.

    >>> now = iter([50.0, 54.0, 99.0])
    >>> grace = Grace(10.0, lambda: next(now))
    >>> grace.left(), grace.left(), grace.left()
    (10.0, 6.0, 0.0)
    """

    def __init__(self, seconds: float, steady: Callable[[], float]) -> None:
        """`steady` counts seconds and never jumps."""
        self._seconds, self._steady = seconds, steady
        self._end: float | None = None

    def left(self) -> float:
        """Return the seconds that are left, at least 0."""
        now = self._steady()
        if self._end is None:
            self._end = now + self._seconds
        return max(0.0, self._end - now)


T = TypeVar("T")


class Home:
    """The loop that judges: the first one, and once that is gone, the next one that calls."""

    def __init__(self, on_move: Callable[[], object]) -> None:
        """`on_move` is called in a new loop after the former one, and all its tasks, are gone."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_move = on_move

    def settle(self) -> None:
        """Make the running loop the one that judges."""
        self._loop = asyncio.get_running_loop()

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work in the loop that judges; if that is gone, in this one from now on."""
        running = asyncio.get_running_loop()
        if self._loop is None or self._loop is running:
            return await work()
        if self._loop.is_running():
            done = asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)
            return await asyncio.wrap_future(done)
        self._move_to(running)
        return await work()

    def call(self, call: Callable[..., object], *args: object) -> None:
        """Call in the loop that judges, from any thread; if it is gone, in this one."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is not None and self._loop is not running and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)
        elif running is not None:
            if self._loop is not running:
                self._move_to(running)
            call(*args)
        else:
            logger.warning("there is no event loop any more: turns wait for the next one")

    def ask(self, work: Callable[[], Awaitable[T]]) -> "Future[T]":
        """Run work in the loop that judges, for a thread that has none.

        Raises RuntimeError if that loop is gone.
        """
        if self._loop is None or not self._loop.is_running():
            raise RuntimeError("there is no event loop to run this in")
        return asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._on_move()


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()
