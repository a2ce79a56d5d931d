"""Wiring: builds the parts of a Souffleur from its settings."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from pydantic import SecretStr

from souffleur.agents.model.chat import Chat, guarded
from souffleur.agents.model.endpoint import Endpoint, Prices
from souffleur.errors import SettingsError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.network.breaker import Breaker
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.search.embedder import Embedder, make_embedder
from souffleur.knowledge.store.opening import Opener, StoreLocation, open_knowledge
from souffleur.knowledge.watching import UNWATCHED, Watch
from souffleur.parts import Parts
from souffleur.service.budget import Budget, Limit
from souffleur.service.endpoints import Endpoints
from souffleur.service.limit import HANDS, HANDS_OF_REMOTE, Hands
from souffleur.settings import Settings
from souffleur.telemetry.model_calls import watched_chat
from souffleur.telemetry.watches import make_metrics, make_watch
from souffleur.times import Clock, TimeSource


async def wire(
    settings: Settings,
    chat: Chat | None,
    times: TimeSource,
    embedder: Embedder | None = None,
    opener: Opener | None = None,
) -> Parts:
    """Open and return the parts. If opening the store fails, everything is closed again.

    `opener` opens the collections of the store; `None` is the usual one.
    """
    metrics = make_metrics(settings, times)
    watch = make_watch(settings, metrics)
    async with AsyncExitStack() as opening:
        if chat is None and settings.has_model:
            check_prices(settings)
            endpoint = make_endpoint(settings)  # before the store: an address may be wrong
            opening.push_async_callback(endpoint.aclose)
            chat = endpoint
        judging = Breaker("judging", pause=settings.retry_pause, steady=times.steady, now=times.now)
        knowledge = await open_store(settings, times, embedder, watch, opener)
        opening.push_async_callback(knowledge.close)
        hands = make_hands(settings, embedder)
        budget = make_budget(settings, knowledge, times.now)
        watched = hands.lend(watched_chat(chat, watch, settings)) if chat else None
        guard = budget.metered(guarded(watched, judging)) if watched else None
        agents = None
        if guard:
            from souffleur.agent_wiring import make_agents  # loads langgraph

            agents = make_agents(settings, knowledge, guard, times.now)
            knowledge.judge_told = agents.forgetting_judge.judge
        endpoints = Endpoints(hands.lend(chat) if chat else None, judging, knowledge.embedder)
        if metrics:
            from souffleur.telemetry.store_state import Sources

            sources = Sources(knowledge, endpoints, times.now, budget, has_model=bool(agents))
            metrics.watch_over(sources)
        let_go = opening.pop_all().aclose
        return Parts(knowledge, agents, times, endpoints, let_go, watch, metrics, hands, budget)


@asynccontextmanager
async def make_endpoints(settings: Settings, embedder: Embedder) -> AsyncIterator[Endpoints]:
    """Yield the configured endpoints, for checking them without a Souffleur."""
    source = TimeSource()
    judging = Breaker("judging", pause=0.0, steady=source.steady, now=source.now)
    async with AsyncExitStack() as opening:
        endpoint = make_endpoint(settings) if settings.has_model else None
        if endpoint:
            opening.push_async_callback(endpoint.aclose)
        yield Endpoints(endpoint, judging, embedder)


async def open_store(
    settings: Settings,
    times: TimeSource | None = None,
    embedder: Embedder | None = None,
    watch: Watch = UNWATCHED,
    opener: Opener | None = None,
) -> KnowledgeBase:
    """Open the configured store, with `embedder` instead of the configured one if it is given."""
    policy, embedder = POLICIES[settings.policy], embedder or settings_embedder(settings, times)
    embedder.watch = watch
    if settings.reembed:
        from souffleur.knowledge.store.migration import take_over

        await take_over(make_place(settings), embedder)
    require_confirmation = not settings.auto_extract
    return await open_knowledge(
        make_place(settings),
        embedder,
        policy,
        require_confirmation=require_confirmation,
        raw_days=settings.raw_days,
        withheld=settings.withheld,
        called=(settings.user_title, settings.assistant_name),
        watch=watch,
        opener=opener,
    )


def make_place(settings: Settings) -> StoreLocation:
    """Return the location of the configured store."""
    return StoreLocation(
        folder=settings.folder,
        power_safe=settings.durability == "power",
        url=settings.qdrant_url,
        api_key=settings.qdrant_api_key,
        prefix=settings.qdrant_prefix,
    )


def make_endpoint(settings: Settings) -> Endpoint:
    """Return the configured model endpoint."""
    return Endpoint(
        base_url=settings.endpoint_url,
        api_key=_plain(settings.endpoint_key),
        model=settings.model,
        timeout=settings.timeout,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        extra_body=settings.extra_body,
        prices=Prices(input=settings.price_in, output=settings.price_out),
    )


def make_hands(settings: Settings, embedder: Embedder | None) -> Hands:
    """Return the hands: few if all but the model is computed in this process."""
    here = not settings.qdrant_url and not embedder and settings.embedder.startswith("hash:")
    return Hands(HANDS if here else HANDS_OF_REMOTE)


def check_prices(settings: Settings) -> None:
    """Raise SettingsError for a budget in dollars of a model without prices: it would not bite."""
    dollars = settings.dollars_per_day or settings.user_dollars_per_day
    if dollars and not (settings.price_in or settings.price_out):
        raise SettingsError(
            "a budget in dollars needs prices: set SOUFFLEUR_PRICE_IN and SOUFFLEUR_PRICE_OUT"
        )


def make_budget(settings: Settings, knowledge: KnowledgeBase, clock: Clock) -> Budget:
    """Return the budget of each day."""
    return Budget(
        knowledge.journal,
        store=Limit(settings.calls_per_day, settings.dollars_per_day),
        user=Limit(settings.user_calls_per_day, settings.user_dollars_per_day),
        clock=clock,
    )


def settings_embedder(settings: Settings, times: TimeSource | None = None) -> Embedder:
    """Return the configured embedder."""
    known = settings.embedder_base_url or settings.base_url or settings.embedder_key
    source = times or TimeSource()
    return make_embedder(
        settings.embedder,
        base_url=settings.embedder_url if known else None,
        api_key=_plain(settings.embedder_key),
        timeout=settings.timeout,
        breaker=Breaker(
            "embedding", pause=settings.retry_pause, steady=source.steady, now=source.now
        ),
    )


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None
