"""BlockingSouffleur: a Souffleur whose calls wait for their results."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeVar

from souffleur.blocking.loop_thread import LoopThread
from souffleur.blocking.methods import KnowledgeMethods, SouffleurMethods
from souffleur.field_docs import explain_fields
from souffleur.settings import Settings
from souffleur.times import Clock

T = TypeVar("T")


class BlockingKnowledge(KnowledgeMethods):
    """The KnowledgeBase of a BlockingSouffleur."""


@explain_fields
class BlockingSouffleur(SouffleurMethods):
    """Memory for a companion whose host has no event loop: Flask, Gradio, a script.

        with Souffleur.open_blocking() as memory:
            whisper = memory.recall(user_id="u1", session_id="s1", text=message)
            reply = my_model(system=persona + whisper.text, user=message)
            memory.observe(user_id="u1", session_id="s1", user=message, assistant=reply)

    One event loop in a thread does the work; any thread may call. Each call waits, so a call from
    within an event loop blocks that loop: use `Souffleur.open` there. Once closed, or in a forked
    child, methods raise BlockingError; `recall` and `observe` still never raise.
    """

    def __init__(self, opening: AbstractAsyncContextManager[Any, Any]) -> None:
        """Wait until the memory is open; `Souffleur.open_blocking` is the usual way."""
        thread = LoopThread(opening)
        super().__init__(thread, thread.held)
        self.knowledge = BlockingKnowledge(thread, thread.held.knowledge)
        """The lower level: memories, ledger, sessions, turns."""
        self.settings: Settings = thread.held.settings
        """The settings in force."""
        self.clock: Clock = thread.held.clock
        """Returns the time."""

    def call(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Do work on the Souffleur inside, in its event loop, and return the result.

        For what has no blocking form: `memory.call(lambda inner: inner.knowledge.people.…)`.
        """
        return self._thread.call(work, self._inner)

    def close(self) -> None:
        """Judge while its `grace` is left, then close everything. Idempotent."""
        self._thread.close()

    def __enter__(self) -> "BlockingSouffleur":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
