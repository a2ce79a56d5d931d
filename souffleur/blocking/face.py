"""What the generated methods stand on."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from souffleur.blocking.loop_thread import LoopThread
from souffleur.errors import BlockingError

T = TypeVar("T")


class Face:
    """Shows something that lives in an event loop to hosts without one."""

    def __init__(self, thread: LoopThread[Any], inner: Any) -> None:
        """`inner` is what is shown; its coroutines run in the loop of the thread."""
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
        """Wait for what never raises; a memory that is closed tells it as `error`."""
        try:
            return self._wait(work, *args, **named)
        except BlockingError as error:
            return made(error=str(error))
