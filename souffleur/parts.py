"""The parts of a Souffleur: what was opened for it, and the agents."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from souffleur.errors import SettingsError
from souffleur.health import Replies
from souffleur.knowledge.network.breaker import Breaker
from souffleur.knowledge.watching import UNWATCHED, Watch
from souffleur.service.budget import Budget
from souffleur.service.endpoints import Endpoints
from souffleur.service.limit import Hands
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
    from souffleur.service.summaries import Narrator
    from souffleur.telemetry.metrics import Metrics


@dataclass(frozen=True)
class Agents:
    """Everything that asks a model."""

    monitor: "KnowledgeMonitor"
    narrator: "Narrator"
    reviewer: "MemoryReviewer"
    consolidator: "Consolidator"
    arbiter: "ConflictResolver"
    cue_writer: "CueWriter"
    boundary_linker: "BoundaryLinker"
    forgetting_judge: "ForgettingJudge"


@dataclass(frozen=True)
class Parts:
    """Everything that a Souffleur, its background and its runs work with."""

    knowledge: "KnowledgeBase"
    agents: Agents | None = None
    """`None` if no model is configured."""
    times: TimeSource = field(default_factory=TimeSource)
    watch: Endpoints | None = None
    """The endpoints of model and embedder; `None` if there is no model."""
    let_go: Callable[[], Awaitable[None]] | None = None
    """Closes everything that was opened; `None` if only the store was."""
    telemetry: Watch = UNWATCHED
    """Watches the work, for metrics and traces."""
    metrics: "Metrics | None" = None
    """The metrics; `None` if nothing is measured."""
    hands: Hands = field(default_factory=Hands)
    """How many judged turns compute at a time."""
    budget: Budget | None = None
    """What may be asked of the model on a day; `None` if nothing is limited."""
    replies: Replies = field(default_factory=Replies)
    """Whether the proxy can read the replies that it passes on."""

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self.times.now

    @cached_property
    def endpoints(self) -> Endpoints:
        """The endpoints of model and embedder, and whether they answer."""
        if self.watch:
            return self.watch
        judging = Breaker("judging", pause=2.0, steady=self.times.steady, now=self.clock)
        return Endpoints(None, judging, self.knowledge.embedder)

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

    async def close(self) -> None:
        """Close everything that was opened."""
        await (self.let_go or self.knowledge.close)()
