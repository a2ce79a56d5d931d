"""LangChain and LangGraph: middleware and tool for agents, and a store in the same collections.

Middleware and tool need `pip install 'souffleur[langchain]'`; the store does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from souffleur.integrations.langchain.access import Talk
    from souffleur.integrations.langchain.middleware import SouffleurMiddleware, recall_tool
    from souffleur.integrations.langchain.store import SouffleurStore, label, unlabel

_MODULES = {
    "SouffleurMiddleware": "souffleur.integrations.langchain.middleware",
    "SouffleurStore": "souffleur.integrations.langchain.store",
    "Talk": "souffleur.integrations.langchain.access",
    "label": "souffleur.integrations.langchain.store",
    "recall_tool": "souffleur.integrations.langchain.middleware",
    "unlabel": "souffleur.integrations.langchain.store",
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
    """Load a name on first use. Raises SettingsError if the package langchain is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'souffleur.integrations.langchain' has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain":
            raise
        raise SettingsError(
            f"{name} needs the package langchain: pip install 'souffleur[langchain]'"
        ) from None
