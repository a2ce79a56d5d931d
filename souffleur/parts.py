"""The parts of a Souffleur, and how they are opened as the settings say."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

from souffleur.agents.model.chat import Chat, guarded
from souffleur.agents.model.endpoint import Endpoint, Prices
from souffleur.errors import SettingsError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.network.breaker import Breaker
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.search.embedder import Embedder, make_embedder
from souffleur.knowledge.store.opening import Opener, StoreLocation, open_knowledge
from souffleur.knowledge.watching import Watch, unwatched
from souffleur.participants import usual
from souffleur.service.budget import Budget, DailyLimit
from souffleur.service.health import Endpoints, Replies
from souffleur.service.limit import COMPUTING, COMPUTING_REMOTELY, Limit
from souffleur.service.summaries import Summaries
from souffleur.settings import Settings
from souffleur.telemetry.watches import make_metrics, make_watch, watched_chat
from souffleur.times import Clock, TimeSource

if TYPE_CHECKING:  # langgraph takes long to load, and is needed only with a model
    from souffleur.agents.auditor import Auditor
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.agents.consolidator import Consolidator
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.agents.forgetting_judge import ForgettingJudge
    from souffleur.agents.monitor import KnowledgeMonitor
    from souffleur.agents.reviewer import MemoryReviewer
    from souffleur.agents.thinker import Thinker
    from souffleur.telemetry.metrics import Metrics


@dataclass(frozen=True)
class Agents:
    """All agents, which ask a model."""

    monitor: "KnowledgeMonitor"
    summaries: "Summaries"
    reviewer: "MemoryReviewer"
    consolidator: "Consolidator"
    auditor: "Auditor"
    cue_writer: "CueWriter"
    boundary_linker: "BoundaryLinker"
    forgetting_judge: "ForgettingJudge"
    thinker: "Thinker"


class Parts:
    """All parts that a Souffleur, its background work and its runs need."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        agents: Agents | None = None,
        *,
        times: TimeSource | None = None,
        endpoints: Endpoints | None = None,
        watch: Watch = unwatched,
        metrics: "Metrics | None" = None,
        limit: Limit | None = None,
        budget: Budget | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`None` means: no model, no metrics, no budget, the limit of the settings.

        `endpoints` are the model and the embedder; by default, only the embedder. `close` closes
        all parts that were opened; by default, the store.
        """
        self.knowledge = knowledge
        self.agents = agents
        self.times = times or TimeSource()
        self.endpoints = endpoints or _without_model(knowledge.embedder, self.times)
        self.watch = watch
        self.metrics = metrics
        self.limit = limit
        self.budget = budget
        self.replies = Replies()
        self.close = close or knowledge.close

    @property
    def clock(self) -> Clock:
        """The clock: a function that returns the time."""
        return self.times.now

    @property
    def has_model(self) -> bool:
        """Whether a model is configured."""
        return self.agents is not None

    @property
    def needed_agents(self) -> Agents:
        """The agents. Raises SettingsError if no model is configured."""
        if self.agents is None:
            raise SettingsError("there is no model to ask: see SOUFFLEUR_BASE_URL")
        return self.agents


def _without_model(embedder: Embedder, times: TimeSource) -> Endpoints:
    return Endpoints(
        None, Breaker("judging", pause=2.0, steady=times.steady, now=times.now), embedder
    )


async def open_parts(
    settings: Settings,
    chat: Chat | None,
    times: TimeSource,
    embedder: Embedder | None = None,
    opener: Opener | None = None,
) -> Parts:
    """Open and return the parts. If opening the store fails, closes the other parts again.

    `opener` opens the collections of the store; `None` means the default opener.
    """
    metrics = make_metrics(settings, times)
    watch = make_watch(settings, metrics)
    async with AsyncExitStack() as opening:
        if chat is None and settings.has_model:
            check_prices(settings)
            endpoint = make_endpoint(settings)  # before the store: the address may be wrong
            opening.push_async_callback(endpoint.aclose)
            chat = endpoint
        judging = Breaker("judging", pause=settings.retry_pause, steady=times.steady, now=times.now)
        knowledge = await open_store(settings, times, embedder, watch, opener)
        opening.push_async_callback(knowledge.close)
        limit, budget = make_limit(settings, embedder), make_budget(settings, knowledge, times.now)
        agents = None
        if chat:
            watched = limit.lend(watched_chat(chat, watch, settings))
            asked = budget.metered(guarded(watched, judging))
            agents = make_agents(settings, knowledge, asked, times.now)
            knowledge.judge_told = agents.forgetting_judge.judge
        endpoints = Endpoints(limit.lend(chat) if chat else None, judging, knowledge.embedder)
        if metrics:
            from souffleur.telemetry.metrics import Sources

            sources = Sources(knowledge, endpoints, times.now, budget, has_model=bool(agents))
            metrics.sources = sources
        return Parts(
            knowledge,
            agents,
            times=times,
            endpoints=endpoints,
            watch=watch,
            metrics=metrics,
            limit=limit,
            budget=budget,
            close=opening.pop_all().aclose,
        )


def make_agents(settings: Settings, knowledge: KnowledgeBase, chat: Chat, clock: Clock) -> Agents:
    """Return the agents, which share one chat."""
    # Imported here, as langgraph takes long to load and is needed only with a model.
    from souffleur.agents.auditor import Auditor
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.agents.consolidator import Consolidator
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.agents.forgetting_judge import ForgettingJudge
    from souffleur.agents.monitor import KnowledgeMonitor
    from souffleur.agents.portrait_writer import ProfileWriter
    from souffleur.agents.reviewer import MemoryReviewer
    from souffleur.agents.structured_chat import StructuredChat
    from souffleur.agents.summarizer import ConversationSummarizer
    from souffleur.agents.task import Context
    from souffleur.agents.thinker import Thinker

    judge = StructuredChat(chat, form=settings.answer_form)
    refuses_special = "special" in settings.refuse
    context = Context(
        judge, knowledge, usual(settings), refuses_special=refuses_special, clock=clock
    )
    auditor, forgetting_judge = Auditor(context), ForgettingJudge(context)
    return Agents(
        KnowledgeMonitor(context),
        Summaries(
            knowledge,
            ConversationSummarizer(context),
            ProfileWriter(context),
            auditor,
            forgetting_judge.judge_later,
            pause=settings.retry_pause,
            clock=clock,
        ),
        MemoryReviewer(context),
        Consolidator(context),
        auditor,
        CueWriter(context),
        BoundaryLinker(context),
        forgetting_judge,
        Thinker(context),
    )


@asynccontextmanager
async def make_endpoints(settings: Settings, embedder: Embedder) -> AsyncIterator[Endpoints]:
    """Yield the configured endpoints, to check them without a Souffleur."""
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
    watch: Watch = unwatched,
    opener: Opener | None = None,
) -> KnowledgeBase:
    """Open the configured store; an `embedder` replaces the configured embedder."""
    policy, embedder = POLICIES[settings.policy], embedder or settings_embedder(settings, times)
    embedder.watch = watch
    if settings.reembed:
        from souffleur.knowledge.store.opening import take_over

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


def make_limit(settings: Settings, embedder: Embedder | None) -> Limit:
    """Return the limit of work at a time: a low limit if store and embedder compute here."""
    here = not settings.qdrant_url and not embedder and settings.embedder.startswith("hash:")
    return Limit(settings.parallel_users, COMPUTING if here else COMPUTING_REMOTELY)


def check_prices(settings: Settings) -> None:
    """Raise SettingsError for a budget in dollars if the model has no prices."""
    dollars = settings.dollars_per_day or settings.user_dollars_per_day
    if dollars and not (settings.price_in or settings.price_out):
        raise SettingsError(
            "a budget in dollars needs prices: set SOUFFLEUR_PRICE_IN and SOUFFLEUR_PRICE_OUT"
        )


def make_budget(settings: Settings, knowledge: KnowledgeBase, clock: Clock) -> Budget:
    """Return the budget of each day."""
    return Budget(
        knowledge.journal,
        store=DailyLimit(settings.calls_per_day, settings.dollars_per_day),
        user=DailyLimit(settings.user_calls_per_day, settings.user_dollars_per_day),
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
