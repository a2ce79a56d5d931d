"""Souffleur: a memory worth having, for companion chatbots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loguru import logger

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat, Message, Reply, Request, Usage
    from souffleur.agents.exchange import Persona
    from souffleur.background.intake import Receipt
    from souffleur.blocking.memory import BlockingSouffleur
    from souffleur.cast import Cast
    from souffleur.errors import (
        AnswerError,
        BackupError,
        BlockingError,
        BudgetError,
        DialogueError,
        EmbedderError,
        EndpointError,
        IdentityError,
        LeaseLostError,
        MessageError,
        MirrorError,
        NotFoundError,
        OutageError,
        PromptError,
        QueryError,
        RecordingError,
        RemoteError,
        SettingsError,
        SouffleurError,
        StoreBusyError,
        StoreError,
        StoreMismatchError,
        TransferError,
        UndoError,
        UnreadableError,
    )
    from souffleur.health import Health
    from souffleur.knowledge.backup_file import BackupManifest
    from souffleur.knowledge.erasing import Erased
    from souffleur.knowledge.export_file import Exported
    from souffleur.knowledge.finding.search import Found, Query, Scope
    from souffleur.knowledge.importing import Imported
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.language.times import Period
    from souffleur.knowledge.memory import (
        Category,
        Due,
        Evidence,
        Kind,
        Memory,
        MemoryState,
        Relation,
        Source,
        Speaker,
    )
    from souffleur.knowledge.operation import (
        Actor,
        ActorKind,
        Change,
        Importance,
        LedgerEntry,
        Recorded,
        Refusal,
        Verdict,
    )
    from souffleur.knowledge.people import Everybody, Person, PersonaCard
    from souffleur.knowledge.policy import DecayRule, Policy
    from souffleur.knowledge.preferences import Preferences
    from souffleur.knowledge.removal.order import Forgotten
    from souffleur.knowledge.removal.trace import TopicPreview, Trace
    from souffleur.knowledge.talk.turn import Turn, TurnState
    from souffleur.knowledge.upkeep.quality import Quality
    from souffleur.knowledge.users import UserSummary
    from souffleur.lookup import Stats
    from souffleur.moving.arriving import ImportSource
    from souffleur.notices import Notice
    from souffleur.runs.run import RunItem, RunLimits, RunOptions, RunResult
    from souffleur.runtime import Souffleur
    from souffleur.settings import Settings
    from souffleur.whispering.recollection import Past
    from souffleur.whispering.references import Reference
    from souffleur.whispering.whisper import Recall

    __version__: str
    """The version of the installed package."""

_HOMES = {
    "Actor": "souffleur.knowledge.operation",
    "ActorKind": "souffleur.knowledge.operation",
    "AnswerError": "souffleur.errors",
    "BackupError": "souffleur.errors",
    "BackupManifest": "souffleur.knowledge.backup_file",
    "BlockingError": "souffleur.errors",
    "BlockingSouffleur": "souffleur.blocking.memory",
    "BudgetError": "souffleur.errors",
    "Cast": "souffleur.cast",
    "Category": "souffleur.knowledge.memory",
    "Change": "souffleur.knowledge.operation",
    "Chat": "souffleur.agents.chat",
    "DecayRule": "souffleur.knowledge.policy",
    "DialogueError": "souffleur.errors",
    "Due": "souffleur.knowledge.memory",
    "EmbedderError": "souffleur.errors",
    "EndpointError": "souffleur.errors",
    "Erased": "souffleur.knowledge.erasing",
    "Exported": "souffleur.knowledge.export_file",
    "Everybody": "souffleur.knowledge.people",
    "Evidence": "souffleur.knowledge.memory",
    "Forgotten": "souffleur.knowledge.removal.order",
    "Found": "souffleur.knowledge.finding.search",
    "Health": "souffleur.health",
    "IdentityError": "souffleur.errors",
    "LeaseLostError": "souffleur.errors",
    "ImportSource": "souffleur.moving.arriving",
    "Importance": "souffleur.knowledge.operation",
    "Imported": "souffleur.knowledge.importing",
    "Kind": "souffleur.knowledge.memory",
    "KnowledgeBase": "souffleur.knowledge.knowledge_base",
    "LedgerEntry": "souffleur.knowledge.operation",
    "Memory": "souffleur.knowledge.memory",
    "MemoryOffError": "souffleur.errors",
    "MemoryState": "souffleur.knowledge.memory",
    "Message": "souffleur.agents.chat",
    "MessageError": "souffleur.errors",
    "MirrorError": "souffleur.errors",
    "NotFoundError": "souffleur.errors",
    "OutageError": "souffleur.errors",
    "Past": "souffleur.whispering.recollection",
    "Period": "souffleur.knowledge.language.times",
    "Person": "souffleur.knowledge.people",
    "Notice": "souffleur.notices",
    "Persona": "souffleur.agents.exchange",
    "PersonaCard": "souffleur.knowledge.people",
    "Preferences": "souffleur.knowledge.preferences",
    "Policy": "souffleur.knowledge.policy",
    "PromptError": "souffleur.errors",
    "Quality": "souffleur.knowledge.upkeep.quality",
    "Query": "souffleur.knowledge.finding.search",
    "QueryError": "souffleur.errors",
    "Recall": "souffleur.whispering.whisper",
    "Receipt": "souffleur.background.intake",
    "Recorded": "souffleur.knowledge.operation",
    "Reference": "souffleur.whispering.references",
    "RecordingError": "souffleur.errors",
    "RemoteError": "souffleur.errors",
    "Refusal": "souffleur.knowledge.operation",
    "Relation": "souffleur.knowledge.memory",
    "Reply": "souffleur.agents.chat",
    "Request": "souffleur.agents.chat",
    "RunItem": "souffleur.runs.run",
    "RunLimits": "souffleur.runs.run",
    "RunOptions": "souffleur.runs.run",
    "RunResult": "souffleur.runs.run",
    "Scope": "souffleur.knowledge.finding.search",
    "Settings": "souffleur.settings",
    "SettingsError": "souffleur.errors",
    "Souffleur": "souffleur.runtime",
    "SouffleurError": "souffleur.errors",
    "Source": "souffleur.knowledge.memory",
    "Speaker": "souffleur.knowledge.memory",
    "Stats": "souffleur.lookup",
    "StoreBusyError": "souffleur.errors",
    "StoreError": "souffleur.errors",
    "StoreMismatchError": "souffleur.errors",
    "TopicPreview": "souffleur.knowledge.removal.trace",
    "Trace": "souffleur.knowledge.removal.trace",
    "TransferError": "souffleur.errors",
    "Turn": "souffleur.knowledge.talk.turn",
    "TurnState": "souffleur.knowledge.talk.turn",
    "UndoError": "souffleur.errors",
    "UnreadableError": "souffleur.errors",
    "Usage": "souffleur.agents.chat",
    "UserSummary": "souffleur.knowledge.users",
    "Verdict": "souffleur.knowledge.operation",
}

__all__ = [
    "Actor",
    "ActorKind",
    "AnswerError",
    "BackupError",
    "BackupManifest",
    "BlockingError",
    "BlockingSouffleur",
    "BudgetError",
    "Cast",
    "Category",
    "Change",
    "Chat",
    "DecayRule",
    "DialogueError",
    "Due",
    "EmbedderError",
    "EndpointError",
    "Erased",
    "Everybody",
    "Evidence",
    "Exported",
    "Forgotten",
    "Found",
    "Health",
    "IdentityError",
    "ImportSource",
    "Importance",
    "Imported",
    "Kind",
    "KnowledgeBase",
    "LeaseLostError",
    "LedgerEntry",
    "Memory",
    "MemoryOffError",
    "MemoryState",
    "Message",
    "MessageError",
    "MirrorError",
    "NotFoundError",
    "Notice",
    "OutageError",
    "Past",
    "Period",
    "Person",
    "Persona",
    "PersonaCard",
    "Policy",
    "Preferences",
    "PromptError",
    "Quality",
    "Query",
    "QueryError",
    "Recall",
    "Receipt",
    "Recorded",
    "RecordingError",
    "Reference",
    "Refusal",
    "Relation",
    "RemoteError",
    "Reply",
    "Request",
    "RunItem",
    "RunLimits",
    "RunOptions",
    "RunResult",
    "Scope",
    "Settings",
    "SettingsError",
    "Souffleur",
    "SouffleurError",
    "Source",
    "Speaker",
    "Stats",
    "StoreBusyError",
    "StoreError",
    "StoreMismatchError",
    "TopicPreview",
    "Trace",
    "TransferError",
    "Turn",
    "TurnState",
    "UndoError",
    "UnreadableError",
    "Usage",
    "UserSummary",
    "Verdict",
]


logger.disable("souffleur")  # a library is silent until its host says `logger.enable("souffleur")`


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562), so that `import souffleur` stays quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("souffleur")
    raise AttributeError(f"module 'souffleur' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names too, which are loaded on first use."""
    return sorted({*globals(), *__all__, "__version__"})
