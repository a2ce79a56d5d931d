"""Behalf: on whose behalf a model is asked, for what is counted per user."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_user_id: ContextVar[str] = ContextVar("user_id", default="")


@contextmanager
def on_behalf_of(user_id: str) -> Iterator[None]:
    """Do within, and in tasks that are begun within, what is done for a user.

    >>> with on_behalf_of("ann"):
    ...     asking_user()
    'ann'
    >>> asking_user()
    ''
    """
    token = _user_id.set(user_id)
    try:
        yield
    finally:
        _user_id.reset(token)


def asking_user() -> str:
    """Return the user on whose behalf this task works; empty if it is none's."""
    return _user_id.get()
