"""The base of the generated methods."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from souffleur.blocking.loop_thread import LoopThread
from souffleur.errors import BlockingError

T = TypeVar("T")


class Face:
    """Makes an object that lives in an event loop usable for hosts without one."""

    def __init__(self, thread: LoopThread[Any], inner: Any) -> None:
        """`inner` is the object; its coroutines run in the loop of the thread."""
        self._thread = thread
        self._inner = inner

    def _wait(self, work: Callable[..., Awaitable[T]], *args: object, **named: object) -> T:
        return self._thread.call(work, *args, **named)

    def _wait_or_report(
        self,
        made: Callable[..., T],
        work: Callable[..., Awaitable[T]],
        *args: object,
        **named: object,
    ) -> T:
        """Wait for a method that never raises; if the memory is closed, return that as `error`."""
        try:
            return self._wait(work, *args, **named)
        except BlockingError as error:
            return made(error=str(error))
