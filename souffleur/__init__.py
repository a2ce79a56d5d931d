"""Souffleur: a memory worth having, for companion chatbots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loguru import logger

if TYPE_CHECKING:
    from souffleur.agents.brief import Persona
    from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage
    from souffleur.api import Souffleur
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
    from souffleur.faces import BlockingSouffleur
    from souffleur.integrations.importers.arriving import ImportSource
    from souffleur.knowledge.forgetting.topic import TopicPreview, Trace
    from souffleur.knowledge.knowledge_base import KnowledgeBase
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
    from souffleur.knowledge.search.memories import Found, Query, Scope
    from souffleur.knowledge.search.periods import Period
    from souffleur.knowledge.store.backup_file import BackupManifest
    from souffleur.knowledge.store.erasing import Erased
    from souffleur.knowledge.store.export import Exported
    from souffleur.knowledge.store.importing import Imported
    from souffleur.knowledge.store.introductions import UserSummary
    from souffleur.knowledge.store.topics import Forgotten
    from souffleur.knowledge.turn import Turn, TurnState
    from souffleur.lookup import Stats
    from souffleur.notices import Notice
    from souffleur.recall.compose import Recall
    from souffleur.recall.gather import Past
    from souffleur.recall.rendering import Reference
    from souffleur.report.quality import Quality
    from souffleur.service.health import Health
    from souffleur.service.intake import Receipt
    from souffleur.service.run import RunItem, RunLimits, RunOptions, RunResult
    from souffleur.settings import Settings

    __version__: str
    """The version of the installed package."""

_MODULES = {
    "Actor": "souffleur.knowledge.operation",
    "ActorKind": "souffleur.knowledge.operation",
    "AnswerError": "souffleur.errors",
    "BackupError": "souffleur.errors",
    "BackupManifest": "souffleur.knowledge.store.backup_file",
    "BlockingError": "souffleur.errors",
    "BlockingSouffleur": "souffleur.faces",
    "BudgetError": "souffleur.errors",
    "Cast": "souffleur.cast",
    "Category": "souffleur.knowledge.memory",
    "Change": "souffleur.knowledge.operation",
    "Chat": "souffleur.agents.model.chat",
    "DecayRule": "souffleur.knowledge.policy",
    "DialogueError": "souffleur.errors",
    "Due": "souffleur.knowledge.memory",
    "EmbedderError": "souffleur.errors",
    "EndpointError": "souffleur.errors",
    "Erased": "souffleur.knowledge.store.erasing",
    "Exported": "souffleur.knowledge.store.export",
    "Everybody": "souffleur.knowledge.people",
    "Evidence": "souffleur.knowledge.memory",
    "Forgotten": "souffleur.knowledge.store.topics",
    "Found": "souffleur.knowledge.search.memories",
    "Health": "souffleur.service.health",
    "IdentityError": "souffleur.errors",
    "LeaseLostError": "souffleur.errors",
    "ImportSource": "souffleur.integrations.importers.arriving",
    "Importance": "souffleur.knowledge.operation",
    "Imported": "souffleur.knowledge.store.importing",
    "Kind": "souffleur.knowledge.memory",
    "KnowledgeBase": "souffleur.knowledge.knowledge_base",
    "LedgerEntry": "souffleur.knowledge.operation",
    "Memory": "souffleur.knowledge.memory",
    "MemoryOffError": "souffleur.errors",
    "MemoryState": "souffleur.knowledge.memory",
    "Message": "souffleur.agents.model.chat",
    "MessageError": "souffleur.errors",
    "MirrorError": "souffleur.errors",
    "NotFoundError": "souffleur.errors",
    "OutageError": "souffleur.errors",
    "Past": "souffleur.recall.gather",
    "Period": "souffleur.knowledge.search.periods",
    "Person": "souffleur.knowledge.people",
    "Notice": "souffleur.notices",
    "Persona": "souffleur.agents.brief",
    "PersonaCard": "souffleur.knowledge.people",
    "Preferences": "souffleur.knowledge.preferences",
    "Policy": "souffleur.knowledge.policy",
    "PromptError": "souffleur.errors",
    "Quality": "souffleur.report.quality",
    "Query": "souffleur.knowledge.search.memories",
    "QueryError": "souffleur.errors",
    "Recall": "souffleur.recall.compose",
    "Receipt": "souffleur.service.intake",
    "Recorded": "souffleur.knowledge.operation",
    "Reference": "souffleur.recall.rendering",
    "RecordingError": "souffleur.errors",
    "RemoteError": "souffleur.errors",
    "Refusal": "souffleur.knowledge.operation",
    "Relation": "souffleur.knowledge.memory",
    "Reply": "souffleur.agents.model.chat",
    "Request": "souffleur.agents.model.chat",
    "RunItem": "souffleur.service.run",
    "RunLimits": "souffleur.service.run",
    "RunOptions": "souffleur.service.run",
    "RunResult": "souffleur.service.run",
    "Scope": "souffleur.knowledge.search.memories",
    "Settings": "souffleur.settings",
    "SettingsError": "souffleur.errors",
    "Souffleur": "souffleur.api",
    "SouffleurError": "souffleur.errors",
    "Source": "souffleur.knowledge.memory",
    "Speaker": "souffleur.knowledge.memory",
    "Stats": "souffleur.lookup",
    "StoreBusyError": "souffleur.errors",
    "StoreError": "souffleur.errors",
    "StoreMismatchError": "souffleur.errors",
    "TopicPreview": "souffleur.knowledge.forgetting.topic",
    "Trace": "souffleur.knowledge.forgetting.topic",
    "TransferError": "souffleur.errors",
    "Turn": "souffleur.knowledge.turn",
    "TurnState": "souffleur.knowledge.turn",
    "UndoError": "souffleur.errors",
    "UnreadableError": "souffleur.errors",
    "Usage": "souffleur.agents.model.chat",
    "UserSummary": "souffleur.knowledge.store.introductions",
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
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("souffleur")
    raise AttributeError(f"module 'souffleur' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names too, which are loaded on first use."""
    return sorted({*globals(), *__all__, "__version__"})
