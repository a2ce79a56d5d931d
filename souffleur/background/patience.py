"""Patience: how often what failed is attempted again, and after how long."""

from dataclasses import dataclass

from souffleur.errors import EmbedderError, EndpointError, StoreError

MIN_RETRY_PAUSE = 1.0
"""Minimum seconds before retrying what waits for an endpoint, or a failed episode or portrait,
whatever the settings and the clock are."""
MAX_TURN_PAUSE = 60.0
"""Maximum seconds between two attempts at a turn."""
MAX_STALL_PAUSE = 300.0
"""Maximum seconds between two attempts for a user who waits for an endpoint or the store."""


@dataclass(frozen=True)
class Patience:
    """How often a turn is attempted, and how long to wait in between."""

    tries: int = 3
    pause: float = 2.0
    """Seconds before the second attempt; doubles with each further one."""

    def wait(self, tries: int, longest: float = MAX_TURN_PAUSE) -> float:
        """Return the seconds to wait after the n-th failed attempt.

        >>> Patience().wait(1), Patience().wait(2), Patience().wait(99)
        (2.0, 4.0, 60.0)
        """
        return min(self.pause * 2.0 ** min(tries - 1, 30), longest)


@dataclass(frozen=True)
class Stall:
    """A user whose turns wait for an endpoint or the store."""

    times: int
    """Number of failures in a row."""
    ready_at: float
    """The steady second from which it may be tried again."""


def may_pass(error: EndpointError | EmbedderError | StoreError) -> bool:
    """Return whether to try again soon: it may pass by itself, and failing takes little time."""
    return isinstance(error, StoreError) or (
        not error.slow and not (isinstance(error, EndpointError) and not error.retryable)
    )
