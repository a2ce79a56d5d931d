"""Metrics: all that Prometheus is told of one Souffleur, and the page that tells it."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Metric, generate_latest, start_http_server

from souffleur.errors import SouffleurError
from souffleur.telemetry.measures import Measures
from souffleur.telemetry.store_state import Gauges, Sources, read_state

if TYPE_CHECKING:
    from souffleur.times import TimeSource

LOOPBACK = "127.0.0.1"
PATIENCE = 5.0
"""Seconds that a scrape waits for the store; after that, it shows the former state."""

Ask = Callable[[Callable[[], Awaitable[None]]], "Future[None]"]
"""Runs work in the event loop that judges, from a thread that has none."""


class Metrics:
    """The metrics of one Souffleur, in a registry of their own."""

    def __init__(self, times: "TimeSource") -> None:
        self.registry = CollectorRegistry()
        """Their registry, for hosts that serve it themselves."""
        self.measures = Measures(self.registry, times.steady)
        """The `Watch` that counts."""
        self._sources: Sources | None = None
        self._gauges = Gauges(self.registry)
        self._alone = Lock()

    def watch_over(self, sources: Sources) -> None:
        """Read the gauges from these."""
        self._sources = sources

    async def refresh(self) -> None:
        """Read the state of the store; if it is out of reach, the former state stays."""
        if self._sources is None:
            return
        try:
            state = await read_state(self._sources.knowledge, self._sources.clock())
            await self._sources.budget.open()
        except SouffleurError:
            state = None
        with self._alone:
            if state:
                self._gauges.show(state)
            self._gauges.show_parts(self._sources, store=state is not None)

    def text(self) -> str:
        """Return all metrics as Prometheus reads them."""
        return generate_latest(self.registry).decode()

    def serve(self, port: int, ask: Ask) -> Callable[[], None]:
        """Serve them on the loopback, and return what ends that.

        A port that is taken is told to the host's own logger; memory works without metrics.
        """
        scraped: Any = _Scraped(self.registry, lambda: ask(self.refresh))
        try:
            server, thread = start_http_server(port, addr=LOOPBACK, registry=scraped)
        except OSError as error:
            logging.getLogger("souffleur").warning(
                "metrics are not served on port %d, set SOUFFLEUR_METRICS_PORT to a free one: %s",
                port,
                error,
            )
            return lambda: None

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop


class _Scraped:
    """A registry whose gauges are refreshed before it is read, by a thread of the server."""

    def __init__(self, registry: CollectorRegistry, refresh: Callable[[], "Future[None]"]) -> None:
        self._registry = registry
        self._refresh = refresh

    def collect(self) -> Iterable[Metric]:
        self._renew()
        return self._registry.collect()

    def restricted_registry(self, names: Iterable[str]) -> Any:
        self._renew()
        return self._registry.restricted_registry(names)

    def _renew(self) -> None:
        try:
            self._refresh().result(PATIENCE)
        except (TimeoutError, CancelledError, RuntimeError):  # busy, or the loop is gone
            return
