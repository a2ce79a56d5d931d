"""Health: whether turns are judged and stored, and what prevents it."""

from dataclasses import dataclass
from datetime import datetime

from souffleur.errors import joined


@dataclass
class Replies:
    """What the proxy has last found of the replies that it passes on."""

    error: str = ""
    """Why the latest one was not read, or in part; empty if it was."""


@dataclass(frozen=True)
class Health:
    """The health of a Souffleur at one moment."""

    at: datetime
    """When it was looked at."""
    endpoint: str
    """`ok`, `failing`, or `none` if no model is configured."""
    judging_error: str
    """Why turns cannot be judged, and since when; empty if they can."""
    embedder_error: str
    """Why texts cannot be embedded; meanwhile they are found by words alone."""
    store_error: str
    """Why turns may not be on disk; empty if they are."""
    waiting: int
    """Number of turns that wait to be judged."""
    waiting_since: datetime | None
    """When the oldest waiting turn was said."""
    set_aside: int
    """Number of turns whose answers stayed unusable; `retry` has them judged again."""
    judged_at: datetime | None
    """When the latest judgement ended; `None` if there was none yet."""
    budget_error: str = ""
    """Whose budget of the day is used up, so that turns wait for the next; empty if nobody's."""
    reply_error: str = ""
    """Why the latest reply through the proxy was not read, or in part; empty if it was."""

    @property
    def error(self) -> str:
        """All errors in one line; empty if there are none."""
        others = (self.embedder_error, self.store_error, self.reply_error)
        return joined(self.judging_error, self.budget_error, *others)

    @property
    def is_ok(self) -> bool:
        """Whether a model judges, nothing fails and nothing was set aside."""
        return self.endpoint == "ok" and not self.error and not self.set_aside
