"""The parts of a Souffleur: the store, the agents, the endpoints and what watches them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from souffleur.errors import SettingsError
from souffleur.knowledge.network.breaker import Breaker
from souffleur.knowledge.watching import Watch, unwatched
from souffleur.service.budget import Budget
from souffleur.service.health import Endpoints, Replies
from souffleur.service.limit import Limit
from souffleur.times import Clock, TimeSource

if TYPE_CHECKING:
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.agents.conflict_resolver import ConflictResolver
    from souffleur.agents.consolidator import Consolidator
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.agents.forgetting_judge import ForgettingJudge
    from souffleur.agents.monitor import KnowledgeMonitor
    from souffleur.agents.reviewer import MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.service.summaries import Summaries
    from souffleur.telemetry.metrics import Metrics


@dataclass(frozen=True)
class Agents:
    """Everything that asks a model."""

    monitor: "KnowledgeMonitor"
    summaries: "Summaries"
    reviewer: "MemoryReviewer"
    consolidator: "Consolidator"
    conflict_resolver: "ConflictResolver"
    cue_writer: "CueWriter"
    boundary_linker: "BoundaryLinker"
    forgetting_judge: "ForgettingJudge"


class Parts:
    """Everything that a Souffleur, its background work and its runs need."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
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
        """`close` closes everything that was opened; by default only the store was."""
        self.knowledge = knowledge
        self.agents = agents
        """What asks a model; `None` if no model is configured."""
        self.times = times or TimeSource()
        self.endpoints = endpoints or _no_model(knowledge, self.times)
        """The endpoints of the model and of the embedder, and whether they answer."""
        self.watch = watch
        """Watches the work, for metrics and traces."""
        self.metrics = metrics
        """The metrics; `None` if nothing is measured."""
        self.limit = limit
        """How many users are served, and how many of them compute; `None`: as the settings say."""
        self.budget = budget
        """What may be asked of the model on a day; `None` if nothing is limited."""
        self.replies = Replies()
        """Whether the proxy can read the replies that it passes on."""
        self.close = close or knowledge.close
        """Closes everything that was opened."""

    @property
    def clock(self) -> Clock:
        """The clock."""
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


def _no_model(knowledge: "KnowledgeBase", times: TimeSource) -> Endpoints:
    """Return the endpoints of a store without a model: its embedder alone."""
    judging = Breaker("judging", pause=2.0, steady=times.steady, now=times.now)
    return Endpoints(None, judging, knowledge.embedder)
