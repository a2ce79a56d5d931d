"""The seam to metrics and traces: pieces of work are watched from their beginning to their end."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal, Protocol

What = Literal["recall", "observe", "judge", "tell", "chat", "embed", "apply", "engine", "run"]
"""The pieces of work; `chat` is one call of the model, `tell` writes episodes and portraits."""

Note = str | int | float | bool | None | Sequence[str] | Callable[[], str]
"""What is noted about a piece of work.

Words of users, models or memories are given as a callable only, which is called if somebody asked
to see them.
"""


class Work(Protocol):
    """A piece of work that goes on."""

    def note(self, **about: Note) -> None:
        """Say more about it: how much it was, what came of it."""


class Watch(Protocol):
    """Watches work. It never raises, and may be called from any thread."""

    def __call__(self, what: What, **about: Note) -> AbstractContextManager[Work]:
        """Watch what is done within this context; an error that leaves it is noted by its type."""


class _Unwatched:
    """Takes no notice."""

    def __call__(self, what: What, **about: Note) -> "_Unwatched":
        return self

    def __enter__(self) -> "_Unwatched":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def note(self, **about: Note) -> None:
        """Forget it."""


UNWATCHED: Watch = _Unwatched()
"""Watches nothing, at the cost of a call."""
