"""An event loop that waits for nothing: when nobody works, its clock jumps to the next timer."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _Jumping(selectors.DefaultSelector):
    """A selector that spends no time where there is none to be spent."""

    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0.0
        """Seconds."""
        self.threads = 0
        """At work for the loop: they need real time."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None or self.threads:
            return super().select(timeout)
        self.jumped += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """The usual loop with a clock of its own."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds, those that were jumped over included."""
        return super().time() + self._jumping.jumped

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> "asyncio.Future[T]":
        """Run in a thread, and stand still meanwhile."""
        work = super().run_in_executor(executor, func, *args)
        self._jumping.threads += 1
        work.add_done_callback(self._done)
        return work

    def _done(self, _: object) -> None:
        self._jumping.threads -= 1


def run_virtually(scene: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Play a scene in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(scene())
