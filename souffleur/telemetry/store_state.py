"""The state of a store as gauges: what waits, and for how long; memories by kind."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge

from souffleur.knowledge.memory import Kind, MemoryState
from souffleur.knowledge.store.engine.collection import Filter, Is
from souffleur.knowledge.turn import TurnState

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.service.budget import Budget
    from souffleur.service.endpoints import Endpoints
    from souffleur.times import Clock


@dataclass(frozen=True)
class Sources:
    """What gauges are read from."""

    knowledge: "KnowledgeBase"
    endpoints: "Endpoints"
    clock: "Clock"
    budget: "Budget"
    has_model: bool


@dataclass(frozen=True)
class StoreState:
    """A store at one moment."""

    waiting: int
    """Turns that wait to be judged."""
    waited: float
    """Seconds for which the oldest of them has waited."""
    set_aside: int
    """Turns whose judging failed for good."""
    memories: Mapping[str, int]
    """Active memories by kind."""


async def read_state(knowledge: "KnowledgeBase", now: datetime) -> StoreState:
    """Return the state of a store, by counts alone. Raises StoreError."""
    journal = knowledge.journal
    kinds = [Filter((Is("state", MemoryState.ACTIVE), Is("kind", kind))) for kind in map(str, Kind)]
    oldest = await journal.turns(state=TurnState.PENDING, limit=1)
    waiting, failed, *counts = await asyncio.gather(
        journal.count_turns(TurnState.PENDING),
        journal.count_turns(TurnState.FAILED),
        *map(knowledge.memories.count, kinds),
    )
    waited = (now - oldest[0].at).total_seconds() if oldest else 0.0
    by_kind = dict(zip(map(str, Kind), counts, strict=True))
    return StoreState(waiting, max(0.0, waited), failed, by_kind)


class Gauges:
    """What is read at each scrape."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def of(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(f"souffleur_{name}", text, labels, registry=registry)

        self._waiting = of("turns_waiting", "Turns that wait to be judged")
        self._waited = of("oldest_waiting_turn_seconds", "Age of the oldest turn that waits")
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

    def show(self, state: StoreState) -> None:
        """Show the state of the store."""
        self._waiting.set(state.waiting)
        self._waited.set(state.waited)
        self._set_aside.set(state.set_aside)
        for kind, number in state.memories.items():
            self._memories.labels(kind).set(number)

    def show_parts(self, sources: Sources, *, store: bool) -> None:
        """Show what works, what is left of the budget, and the caches."""
        endpoints, embedder = sources.endpoints, sources.knowledge.embedder
        self._up.labels("judging").set(sources.has_model and not endpoints.judging.outage)
        broken = endpoints.embedding and endpoints.embedding.outage
        self._up.labels("embedding").set(not broken)
        self._up.labels("store").set(store and not sources.knowledge.trouble)
        for unit, (spent, limit) in sources.budget.used.items():
            self._spent.labels(unit).set(spent)
            self._limit.labels(unit).set(limit)
        memos = sources.knowledge.memories.memo, sources.knowledge.journal.collection.memo
        self._count("embedding", embedder.hits, embedder.misses)
        self._count("points", sum(one.hits for one in memos), sum(one.misses for one in memos))

    def _count(self, cache: str, hits: int, misses: int) -> None:
        for result, number in {"hit": hits, "miss": misses}.items():
            former = self._counted.get((cache, result), 0)
            self._cache.labels(cache, result).inc(number - former)
            self._counted[cache, result] = number
