"""The interface to metrics and traces, which watch each piece of work from start to end."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol

What = Literal["recall", "observe", "judge", "tell", "chat", "embed", "apply", "engine", "run"]
"""The kinds of work; `chat` is a call of a model, `tell` writes episodes and portraits."""

Note = str | int | float | bool | None | Sequence[str] | Callable[[], str]
"""A value noted about a piece of work.

Words of users, models and memories are passed as a callable, which is called only if traces may
contain words.
"""


class Work(Protocol):
    """A running piece of work."""

    def note(self, **about: Note) -> None:
        """Note values about the work, such as its amount and its outcome."""


class Watch(Protocol):
    """Watches work. It never raises, and may be called from any thread."""

    def __call__(self, what: What, **about: Note) -> AbstractContextManager[Work]:
        """Watch the work within this context; an error is noted by its type."""


class _Unnoted:
    def note(self, **about: Note) -> None:
        """Do nothing."""


def unwatched(what: What, **about: Note) -> AbstractContextManager[Work]:
    """Watch nothing."""
    return nullcontext(_Unnoted())
