"""LangChain and LangGraph: middleware and tool for agents, and a store in the same collections.

Middleware and tool need the extra `langchain`; the store does not.
"""

from typing import TYPE_CHECKING, Any

from souffleur.integrations import load_name

if TYPE_CHECKING:
    from souffleur.integrations.langchain.access import Talk
    from souffleur.integrations.langchain.middleware import SouffleurMiddleware, recall_tool
    from souffleur.integrations.langchain.store import SouffleurStore, label, unlabel

_MODULES = {
    "SouffleurMiddleware": "middleware",
    "SouffleurStore": "store",
    "Talk": "access",
    "label": "store",
    "recall_tool": "middleware",
    "unlabel": "store",
}

__all__ = [
    "SouffleurMiddleware",
    "SouffleurStore",
    "Talk",
    "label",
    "recall_tool",
    "unlabel",
]


def __getattr__(name: str) -> Any:
    """Load a name on first use. Raises SettingsError if the extra is not installed."""
    return load_name(__name__, name, _MODULES)
