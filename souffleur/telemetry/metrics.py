"""Metrics for Prometheus: numbers and times of watched work, and the state of the store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
    start_http_server,
)

from souffleur.errors import SouffleurError
from souffleur.knowledge.memory import Kind, MemoryState
from souffleur.knowledge.store.engine.collection import Filter, Is
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.turn import TurnState
from souffleur.knowledge.watching import Note, What

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.service.budget import Budget
    from souffleur.service.health import Endpoints
    from souffleur.times import Clock, TimeSource

LOOPBACK = "127.0.0.1"
SCRAPE_TIMEOUT = 5.0
"""Maximum seconds that a scrape waits for the store; after that, it shows the last state."""

Ask = Callable[[Callable[[], Awaitable[None]]], "Future[None]"]
"""Runs a coroutine function in the event loop that judges; called from another thread."""

QUICK = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.008, 0.012, 0.02, 0.04, 0.08, 0.15)
"""Upper bounds in seconds of the buckets for work that waits only for the store."""
MODERATE = (*QUICK, 0.3, 0.6, 1.0, 2.5, 5.0)
"""Upper bounds in seconds of the buckets for work that may wait for an embedder."""
SLOW = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds in seconds of the buckets for work that waits for a model."""

Notes = dict[str, Note]


@dataclass(frozen=True)
class Sources:
    """The sources of the gauges."""

    knowledge: "KnowledgeBase"
    endpoints: "Endpoints"
    clock: "Clock"
    budget: "Budget"
    has_model: bool


class Metrics:
    """The metrics of a Souffleur, in their own registry."""

    def __init__(self, times: "TimeSource") -> None:
        self.registry = CollectorRegistry()
        """The registry, for hosts that serve their metrics themselves."""
        self.measures = Measures(self.registry, times.steady)
        """The `Watch` that counts and times the work."""
        self.sources: Sources | None = None
        """The sources of the gauges; `None` until they are open."""
        self._gauges = Gauges(self.registry)

    async def refresh(self) -> None:
        """Read the state of the store; if the store is out of reach, the last state stays."""
        if self.sources:
            await self._gauges.read(self.sources)

    def text(self) -> str:
        """Return all metrics as Prometheus reads them."""
        return generate_latest(self.registry).decode()

    def serve(self, port: int, ask: Ask) -> Callable[[], None]:
        """Serve the metrics on the loopback; return a function that stops the server.

        If the port is taken, a warning is logged, and nothing is served.
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
    """A registry that refreshes the gauges before a thread of the server reads it."""

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
            self._refresh().result(SCRAPE_TIMEOUT)
        except (TimeoutError, CancelledError, RuntimeError):  # the loop is busy or has ended
            return


@dataclass(frozen=True)
class _Noted:
    """The notes about a piece of work."""

    about: Notes

    def note(self, **about: Note) -> None:
        """Add notes."""
        self.about.update(about)


class Measures:
    """A `Watch` that counts and times work. Labels are few: no user, session or text is a label."""

    def __init__(self, registry: CollectorRegistry, steady: Callable[[], float]) -> None:
        """`steady` returns seconds that never jump."""
        self._steady = steady
        self._seconds = _histograms(registry)
        self._counters = _counters(registry)

    @contextmanager
    def __call__(self, what: What, **about: Note) -> Iterator[_Noted]:
        """Measure the work within this context."""
        noted, error, began = _Noted(about), "", self._steady()
        try:
            yield noted
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            took = max(0.0, self._steady() - began)
            if what in self._seconds:
                seconds, labels = self._seconds[what]
                each = [_text(noted.about, label) for label in labels]
                (seconds.labels(*each) if each else seconds).observe(took)
            self._count(what, noted.about, error)

    def _count(self, what: What, about: Notes, error: str) -> None:
        count = self._counters
        match what:
            case "recall":
                count["recalls"].labels("error" if error or about.get("error") else "ok").inc()
            case "observe":
                count["turns_late"].inc(about.get("durable") is False)
                count["turns_observed"].inc(bool(about.get("new")))
            case "judge" if error:
                count["judgements_failed"].labels(error).inc()
            case "judge":
                count["turns_judged"].inc(_number(about, "turns"))
            case "chat":
                self._count_call(about, error)
            case "apply":
                for op in _each(about, "done"):
                    count["operations"].labels(op, _text(about, "by")).inc()
                for reason in _each(about, "refused"):
                    count["refusals"].labels(reason).inc()
            case "run":
                count["runs"].labels(_text(about, "name"), error or "ok").inc()

    def _count_call(self, about: Notes, error: str) -> None:
        model, prompt = _text(about, "model"), _text(about, "prompt")
        self._counters["model_calls"].labels(model, prompt, error or "ok").inc()
        cached = _number(about, "cached_tokens")
        tokens = {"input": _number(about, "input_tokens") - cached, "cached": cached}
        tokens["output"] = _number(about, "output_tokens")
        for kind, number in tokens.items():
            self._counters["model_tokens"].labels(model, kind).inc(max(0.0, number))
        self._counters["model_cost"].labels(model).inc(_number(about, "cost"))


def _histograms(registry: CollectorRegistry) -> dict[str, tuple[Histogram, tuple[str, ...]]]:
    """Return the histogram and the labels of each kind of work."""

    def of(
        name: str, text: str, bounds: tuple[float, ...], *labels: str
    ) -> tuple[Histogram, tuple[str, ...]]:
        name = f"souffleur_{name}"
        return Histogram(name, text, labels, buckets=bounds, registry=registry), labels

    return {
        "recall": of("recall_seconds", "Time of recall", MODERATE),
        "observe": of("observe_seconds", "Time of observe", QUICK),
        "judge": of("judgement_seconds", "Time to judge turns, with the model's", SLOW),
        "tell": of("telling_seconds", "Time to write episodes and portraits, if any", SLOW),
        "chat": of("model_call_seconds", "Time of a call of the model", SLOW, "prompt"),
        "embed": of("embedding_seconds", "Time of a request to the embedder", MODERATE),
        "engine": of("engine_seconds", "Time of a call of Qdrant", QUICK, "collection", "call"),
    }


def _counters(registry: CollectorRegistry) -> dict[str, Counter]:
    def of(name: str, text: str, *labels: str) -> Counter:
        return Counter(f"souffleur_{name}", text, labels, registry=registry)

    return {
        "recalls": of("recalls", "Calls of recall, by whether an error was told", "result"),
        "turns_observed": of("turns_observed", "New turns, and new versions of turns"),
        "turns_late": of("turns_late", "Turns that could not be stored at once"),
        "turns_judged": of("turns_judged", "Turns judged"),
        "judgements_failed": of("judgements_failed", "Attempts to judge that failed", "error"),
        "operations": of("operations", "Changes carried out, by op and by whom", "op", "by"),
        "refusals": of("refusals", "Changes refused, by reason", "reason"),
        "model_calls": of("model_calls", "Calls of the model", "model", "prompt", "result"),
        "model_tokens": of("model_tokens", "Tokens: input, cached input, output", "model", "kind"),
        "model_cost": of("model_cost_dollars", "Cost of the model by the set prices", "model"),
        "runs": of("runs", "Runs of what is due", "name", "result"),
    }


def _text(about: Notes, name: str) -> str:
    value = about.get(name)
    return value if isinstance(value, str) else ""


def _number(about: Notes, name: str) -> float:
    value: Any = about.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _each(about: Notes, name: str) -> list[str]:
    value = about.get(name)
    return [str(one) for one in value] if isinstance(value, tuple | list) else []


class Gauges:
    """Gauges that are read at each scrape."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def of(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"souffleur_{name}", text, labels, registry=registry)

        self._waiting = of("turns_waiting", "Turns that wait to be judged")
        self._waited = of("oldest_waiting_turn_seconds", "How long the oldest turn has waited")
        self._set_aside = of("turns_set_aside", "Turns whose judging failed for good")
        self._memories = of("memories", "Active memories by kind", "kind")
        self._up = of("up", "Whether a part works: judging, embedding, store", "part")
        self._spent = of("budget_spent_today", "Spent since midnight UTC, where limited", "unit")
        self._limit = of("budget_limit", "What may be spent on a day, by all users", "unit")
        self._cache = Counter(
            "souffleur_cache_requests",
            "Texts to embed and points to read, by whether they were at hand",
            ("cache", "result"),
            registry=registry,
        )
        self._counted: dict[tuple[str, str], int] = {}
        self._lock = Lock()

    async def read(self, sources: Sources) -> None:
        """Read all sources; if the store is out of reach, its last state stays."""
        is_up = True
        try:
            await self._read_store(sources.knowledge, sources.clock())
            await sources.budget.open()
        except SouffleurError:
            is_up = False
        with self._lock:
            self._show_parts(sources, is_up=is_up)

    async def _read_store(self, knowledge: "KnowledgeBase", now: datetime) -> None:
        """Count turns and memories. Raises StoreError."""
        journal, active = knowledge.journal, Is("state", MemoryState.ACTIVE)
        oldest = await journal.turns(state=TurnState.PENDING, limit=1)
        waiting, failed, *counts = await asyncio.gather(
            journal.count_turns(TurnState.PENDING),
            journal.count_turns(TurnState.FAILED),
            *(knowledge.memories.count(Filter((active, has("kind", str(one))))) for one in Kind),
        )
        self._waiting.set(waiting)
        self._waited.set(max(0.0, (now - oldest[0].waits_since).total_seconds()) if oldest else 0.0)
        self._set_aside.set(failed)
        for kind, number in zip(Kind, counts, strict=True):
            self._memories.labels(str(kind)).set(number)

    def _show_parts(self, sources: Sources, *, is_up: bool) -> None:
        endpoints, embedder = sources.endpoints, sources.knowledge.embedder
        self._up.labels("judging").set(sources.has_model and not endpoints.judging.outage)
        broken = endpoints.embedding and endpoints.embedding.outage
        self._up.labels("embedding").set(not broken)
        self._up.labels("store").set(is_up and not sources.knowledge.trouble)
        for unit, (spent, limit) in sources.budget.used.items():
            self._spent.labels(unit).set(spent)
            self._limit.labels(unit).set(limit)
        caches = sources.knowledge.memories.memo, sources.knowledge.journal.collection.memo
        self._count("embedding", embedder.hits, embedder.misses)
        self._count("points", sum(one.hits for one in caches), sum(one.misses for one in caches))

    def _count(self, cache: str, hits: int, misses: int) -> None:
        for result, number in {"hit": hits, "miss": misses}.items():
            former = self._counted.get((cache, result), 0)
            self._cache.labels(cache, result).inc(number - former)
            self._counted[cache, result] = number
