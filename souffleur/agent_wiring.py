"""Agent wiring: builds the agents of a Souffleur from its settings."""

from souffleur.agents.boundary_linker import BoundaryLinker
from souffleur.agents.conflict_resolver import ConflictResolver
from souffleur.agents.consolidator import Consolidator
from souffleur.agents.cue_writer import CueWriter
from souffleur.agents.forgetting_judge import ForgettingJudge
from souffleur.agents.model.chat import Chat
from souffleur.agents.monitor import KnowledgeMonitor
from souffleur.agents.portrait_writer import ProfileWriter
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.rounds import Context
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.summarizer import ConversationSummarizer
from souffleur.cast import usual
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.parts import Agents
from souffleur.service.summaries import Narrator
from souffleur.settings import Settings
from souffleur.times import Clock


def make_agents(settings: Settings, knowledge: KnowledgeBase, chat: Chat, clock: Clock) -> Agents:
    """Return the agents, which share one chat."""
    judge = StructuredChat(chat, form=settings.answer_form)
    refuses_special = settings.special == "refuse"
    context = Context(judge, knowledge, usual(settings), refuses_special=refuses_special)
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
        ConflictResolver(context),
        CueWriter(context),
        BoundaryLinker(context),
        ForgettingJudge(context),
    )
