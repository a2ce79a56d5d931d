"""How the rooms are joined: settings in, a Souffleur out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from souffleur.agents.arbiter import Arbiter
from souffleur.agents.chat import Chat
from souffleur.agents.consolidator import Consolidator
from souffleur.agents.endpoint import Endpoint, Prices
from souffleur.agents.exchange import Persona
from souffleur.agents.judge import Judge
from souffleur.agents.monitor import KnowledgeMonitor
from souffleur.agents.profile_writer import ProfileWriter
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.rounds import Context
from souffleur.agents.summarizer import ConversationSummarizer
from souffleur.knowledge.embedder import Embedder, make_embedder
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.store import Place, open_knowledge
from souffleur.narrator import Narrator
from souffleur.runtime import Clock, Souffleur
from souffleur.settings import Settings


@dataclass(frozen=True)
class Agents:
    """Those who speak to a model."""

    monitor: KnowledgeMonitor
    narrator: Narrator
    reviewer: MemoryReviewer
    consolidator: Consolidator
    arbiter: Arbiter


OPENAI = "https://api.openai.com/v1"


async def wire(
    cls: type[Souffleur], settings: Settings, chat: Chat | None, clock: Clock
) -> Souffleur:
    """A started Souffleur. Raises what opening the store raises."""
    knowledge = await open_store(settings)
    aclose: Callable[[], Awaitable[None]] | None = None
    if chat is None and settings.has_model:
        endpoint = make_endpoint(settings)
        chat, aclose = endpoint, endpoint.aclose
    agents = make_agents(settings, knowledge, chat, clock) if chat else None
    memory = cls(knowledge, agents, settings, clock=clock, aclose=aclose)
    await memory.start()
    return memory


async def open_store(settings: Settings) -> KnowledgeBase:
    """The store that the settings name."""
    policy, embedder = POLICIES[settings.policy], settings_embedder(settings)
    hold = not settings.auto_extract
    return await open_knowledge(
        make_place(settings), embedder, policy, hold=hold, raw_days=settings.raw_days
    )


def make_place(settings: Settings) -> Place:
    """Where the store of the settings is."""
    return Place(
        folder=settings.folder,
        power_safe=settings.durability == "power",
        url=settings.qdrant_url,
        api_key=_plain(settings.qdrant_api_key),
        shards=settings.shards,
        replicas=settings.replicas,
    )


def make_endpoint(settings: Settings) -> Endpoint:
    """The model endpoint that the settings name."""
    return Endpoint(
        base_url=settings.base_url or OPENAI,
        api_key=_plain(settings.api_key),
        model=settings.model,
        timeout=settings.timeout,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        prices=Prices(input=settings.price_in, output=settings.price_out),
    )


def persona(settings: Settings) -> Persona:
    """How the two are called."""
    return Persona(
        user=settings.user_title,
        assistant=settings.assistant_name,
        zone=ZoneInfo(settings.timezone),
        language=settings.language,
    )


def make_agents(settings: Settings, knowledge: KnowledgeBase, chat: Chat, clock: Clock) -> "Agents":
    """The graphs, over one judge."""
    judge = Judge(chat, form=settings.answer_form)
    context = Context(judge, knowledge, persona(settings))
    return Agents(
        KnowledgeMonitor(context),
        Narrator(
            knowledge,
            ConversationSummarizer(context),
            ProfileWriter(context),
            pause=settings.retry_pause,
            clock=clock,
        ),
        MemoryReviewer(context),
        Consolidator(context),
        Arbiter(context),
    )


def settings_embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name."""
    return make_embedder(
        settings.embedder,
        base_url=settings.embedder_base_url or settings.base_url,
        api_key=_plain(settings.embedder_api_key or settings.api_key),
        timeout=settings.timeout,
    )


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None
