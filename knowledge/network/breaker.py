"""A circuit breaker: calls a failing endpoint only from time to time.

See M. Nygard, Release It! (2007): closed while requests succeed; open after failures, for a pause
that doubles each time; then half open for a single request, whose result closes or reopens it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from souffleur.errors import EmbedderError, EndpointError, OutageError

MAX_PAUSE = 300.0
"""Maximum seconds between two requests to a failing endpoint, with any `Retry-After`."""

TIMEOUTS_TO_OPEN = 3
"""Consecutive time-outs that open the breaker; a single time-out may come from a large request."""


@dataclass(frozen=True)
class Outage:
    """A series of failures of an endpoint."""

    since: datetime
    error: str
    """The latest error."""
    failures: int = 1
    """Number of consecutive failures."""

    def __str__(self) -> str:
        return f"since {self.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC: {self.error}"


class Breaker:
    """Decides whether an endpoint may be called; all its callers share one breaker."""

    def __init__(
        self,
        what: str,
        *,
        pause: float,
        steady: Callable[[], float],
        now: Callable[[], datetime],
        on_outage: Callable[[str, Outage], None] = lambda what, outage: None,
        on_return: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a closed breaker.

        `what` names the work that fails during an outage, such as "judging"; `pause` is the number
        of seconds to wait after the first failure. `steady` is a monotonic clock in seconds.
        `on_outage` is called when an outage begins, `on_return` when it is over.
        """
        self.what = what
        self.outage: Outage | None = None
        """The current outage; `None` if the latest request was answered."""
        self.on_outage = on_outage
        self.on_return = on_return
        self._pause = pause
        self._steady = steady
        self._now = now
        self._failures = 0
        self._open = False
        self._until = 0.0
        self._probing = False

    @property
    def trouble(self) -> str:
        """A sentence: which work fails, since when, and why; empty without an outage."""
        return f"{self.what} has failed {self.outage}" if self.outage else ""

    @property
    def retry_in(self) -> float:
        """Seconds until the endpoint may be called again; 0 if it may be called now."""
        return max(0.0, self._until - self._steady()) if self._open else 0.0

    def let_try(self) -> None:
        """Let the next request through, even if the pause is not over."""
        self._until = 0.0

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Call the endpoint within this context. Raises OutageError if it may not be called now."""
        if self._open and (self._probing or self.retry_in):
            raise OutageError(self.trouble, retry_after=self.retry_in)
        probe = self._probing = self._open
        try:
            yield
        except (EndpointError, EmbedderError) as error:
            if error.outage:
                self.trip(error)
            elif not probe:  # a refusal ends no outage: each request may be refused
                self._answered()
            raise
        except Exception:
            self._answered()
            raise
        else:
            self._answered()
        finally:
            if probe:
                self._probing = False

    def trip(self, error: EndpointError | EmbedderError) -> None:
        """Count a failure, and open the breaker for a pause; the first time-outs only count."""
        self._failures += 1
        since = self.outage.since if self.outage else self._now()
        self.outage = Outage(since, str(error), self._failures)
        if error.slow and self._failures < TIMEOUTS_TO_OPEN:
            return
        begins, self._open = not self._open, True
        doubled = self._pause * 2.0 ** min(self._failures - 1, 30)
        asked = getattr(error, "retry_after", None) or 0.0
        self._until = self._steady() + min(max(doubled, asked), MAX_PAUSE)
        if begins:
            self.on_outage(self.what, self.outage)

    def _answered(self) -> None:
        self._failures, self.outage = 0, None
        if self._open:
            self._open = False
            self.on_return()
