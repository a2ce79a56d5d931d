"""Souffleur: a memory worth having, for companion chatbots."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loguru import logger

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat, Message, Reply, Request
    from souffleur.background.intake import Receipt
    from souffleur.blocking.memory import BlockingSouffleur
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
    from souffleur.knowledge.operation import Importance, LedgerEntry, Verdict
    from souffleur.knowledge.policy import DecayRule, Policy
    from souffleur.runtime import Souffleur
    from souffleur.settings import Settings
    from souffleur.whispering.whisper import Recall

_HOMES = {
    "BlockingSouffleur": "souffleur.blocking.memory",
    "Category": "souffleur.knowledge.memory",
    "Chat": "souffleur.agents.chat",
    "Importance": "souffleur.knowledge.operation",
    "Kind": "souffleur.knowledge.memory",
    "KnowledgeBase": "souffleur.knowledge.knowledge_base",
    "Memory": "souffleur.knowledge.memory",
    "Message": "souffleur.agents.chat",
    "LedgerEntry": "souffleur.knowledge.operation",
    "Policy": "souffleur.knowledge.policy",
    "Recall": "souffleur.whispering.whisper",
    "Receipt": "souffleur.background.intake",
    "Reply": "souffleur.agents.chat",
    "Request": "souffleur.agents.chat",
    "DecayRule": "souffleur.knowledge.policy",
    "Settings": "souffleur.settings",
    "Souffleur": "souffleur.runtime",
    "MemoryState": "souffleur.knowledge.memory",
    "Verdict": "souffleur.knowledge.operation",
}

__all__ = [
    "BlockingSouffleur",
    "Category",
    "Chat",
    "DecayRule",
    "Importance",
    "Kind",
    "KnowledgeBase",
    "LedgerEntry",
    "Memory",
    "MemoryState",
    "Message",
    "Policy",
    "Recall",
    "Receipt",
    "Reply",
    "Request",
    "Settings",
    "Souffleur",
    "Verdict",
]


logger.disable("souffleur")  # a library is silent until its host says `logger.enable("souffleur")`


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562), so that `import souffleur` stays quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'souffleur' has no attribute {name!r}")
