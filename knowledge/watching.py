"""The seam to metrics and traces, which watch each piece of work from beginning to end."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Literal, Protocol

What = Literal["recall", "observe", "judge", "tell", "chat", "embed", "apply", "engine", "run"]
"""The kinds of work; `chat` is one call of a model, `tell` writes episodes and portraits."""

Note = str | int | float | bool | None | Sequence[str] | Callable[[], str]
"""A value noted about a piece of work.

Words of users, models and memories are passed as a callable, which is called only if traces may
contain words.
"""


class Work(Protocol):
    """A running piece of work."""

    def note(self, **about: Note) -> None:
        """Note values about it, such as its amount and its outcome."""


class Watch(Protocol):
    """Watches work. It never raises, and may be called from any thread."""

    def __call__(self, what: What, **about: Note) -> AbstractContextManager[Work]:
        """Watch the work within this context; an error is noted by its type."""


class _Unwatched:
    """Watches nothing."""

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
        """Do nothing."""


UNWATCHED: Watch = _Unwatched()
"""The watch that notes nothing."""
