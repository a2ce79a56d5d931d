"""Event loops: the loop that judges, and a loop in its own thread."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from loguru import logger

from souffleur.errors import BlockingError

M = TypeVar("M")
T = TypeVar("T")


class JudgingLoop:
    """The event loop that judges: the first loop; when it has ended, the next loop that calls."""

    def __init__(self, on_move: Callable[[], object]) -> None:
        """`on_move` is called in the new loop after the former loop and its tasks have ended."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_move = on_move

    def use_running(self) -> None:
        """Judge in the running loop."""
        self._loop = asyncio.get_running_loop()

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work in the loop that judges; if that has ended, this loop judges from now on."""
        running = asyncio.get_running_loop()
        if self._loop and self._loop is not running:
            if self._loop.is_running():
                return await asyncio.wrap_future(self.ask(work))
            self._move_to(running)
        return await work()

    def call(self, call: Callable[..., object], *args: object) -> None:
        """Call a function in the loop that judges, from any thread; if that ended, in this loop."""
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop and self._loop is not running and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)
        elif running is not None:
            if self._loop is not running:
                self._move_to(running)
            call(*args)
        else:
            logger.warning("there is no event loop any more: turns wait for the next one")

    def ask(self, work: Callable[[], Awaitable[T]]) -> "Future[T]":
        """Run work in the loop that judges, for another thread.

        Raises RuntimeError if that loop has ended.
        """
        if self._loop is None or not self._loop.is_running():
            raise RuntimeError("there is no event loop to run this in")
        return asyncio.run_coroutine_threadsafe(_awaited(work), self._loop)

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._on_move()


async def _awaited(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


class LoopThread(Generic[M]):
    """Opens an object in its own event loop, and runs its coroutines for other threads.

    The thread is a daemon: a host that forgets to close can end, as after a crash.
    """

    def __init__(self, opening: AbstractAsyncContextManager[M, Any]) -> None:
        """Wait until the object is open. If opening raises, the loop and thread are ended."""
        self._opening = opening
        self._pid = os.getpid()
        self._alone = threading.Lock()
        self._closed = False
        self._stop: Future[None] = Future()
        self._opened: Future[M] = Future()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="souffleur", daemon=True)
        try:
            self._thread.start()
            self.held = self._opened.result()
        except BaseException:  # also at an interrupt, the half-opened object must be closed
            self.close()
            raise

    def call(self, work: Callable[..., Awaitable[T]], *args: object, **named: object) -> T:
        """Run the work in the loop and return its result; if interrupted, cancel it.

        Raises BlockingError if the object is closed, if the process was forked, or if the thread
        of the loop calls.
        """
        self._check_caller()
        given_up: Future[None] = Future()
        try:
            with self._alone:
                if self._closed:
                    raise BlockingError("this memory is closed: open it anew")
                wanted = _work(lambda: work(*args, **named), given_up)
                done = asyncio.run_coroutine_threadsafe(wanted, self._loop)
            return done.result()
        except CancelledError:
            raise BlockingError("this memory was closed before the call was done") from None
        except BaseException:  # an interrupt may come before there is a task to cancel
            given_up.cancel()
            raise

    def close(self) -> None:
        """Close the object, and end the thread. Idempotent; does nothing after a fork.

        Running calls end when the object is closed. An error from closing is raised once.
        """
        if os.getpid() != self._pid:
            return  # the object belongs to the parent process
        self._check_caller()
        with self._alone:
            self._closed = True
            if not self._stop.done():
                self._stop.set_result(None)
        self._thread.join()
        error, self._error = self._error, None
        if error:
            raise error

    def _check_caller(self) -> None:
        if os.getpid() != self._pid:
            raise BlockingError("the process was forked: open a memory after the fork, in each")
        if threading.current_thread() is self._thread:
            raise BlockingError("its own thread cannot wait for this memory: call it in another")

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:  # noqa: BLE001  raised in the thread that waits
            if self._opened.done():
                self._error = error
            else:
                self._opened.set_exception(error)
        finally:
            self._closed = True

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with self._opening as held:
            self._opened.set_result(held)
            await asyncio.wrap_future(self._stop)


async def _work(work: Callable[[], Awaitable[T]], given_up: Future[None]) -> T:
    """Do the work; cancel it when the caller does not wait any more."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work())
    given_up.add_done_callback(lambda _: task.done() or loop.call_soon_threadsafe(task.cancel))
    return await task
