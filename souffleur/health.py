"""Health: whether what is said is judged and kept, and what is in the way."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Health:
    """How a memory is at one moment."""

    at: datetime
    endpoint: str
    """ok, failing, or none: no model is configured."""
    judging_error: str
    """What keeps turns from being judged, and since when; empty if nothing does."""
    embedder_error: str
    """What keeps texts from being embedded; meanwhile they are found by words alone."""
    store_error: str
    """Why what was said may not be on disk; empty if it is."""
    waiting: int
    """Turns that wait to be judged."""
    waiting_since: datetime | None
    """When the oldest of them was said."""
    set_aside: int
    """Turns whose answers stayed unusable; `retry` has them judged again."""
    judged_at: datetime | None
    """When the latest judgement ended; None: there was none yet."""

    @property
    def error(self) -> str:
        """All that is in the way, in one line; empty if nothing is."""
        each = (self.judging_error, self.embedder_error, self.store_error)
        return "; ".join(filter(None, each))

    @property
    def is_ok(self) -> bool:
        """Whether a model judges, nothing fails and nothing was set aside."""
        return self.endpoint == "ok" and not self.error and not self.set_aside
