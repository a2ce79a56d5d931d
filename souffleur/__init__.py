"""Souffleur: a memory worth having, for companion chatbots.

What a host needs first stands here; further types, for annotations, are in `souffleur.types`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from loguru import logger

if TYPE_CHECKING:
    from souffleur.agents.model.chat import (
        Chat as Chat,
        Message as Message,
        Reply as Reply,
        Request as Request,
        Usage as Usage,
    )
    from souffleur.api import Souffleur as Souffleur
    from souffleur.errors import (
        EndpointError as EndpointError,
        FileError as FileError,
        InputError as InputError,
        MemoryOffError as MemoryOffError,
        NotFoundError as NotFoundError,
        RemoteError as RemoteError,
        SettingsError as SettingsError,
        SouffleurError as SouffleurError,
        StoreError as StoreError,
        UndoError as UndoError,
    )
    from souffleur.faces import BlockingSouffleur as BlockingSouffleur
    from souffleur.knowledge.memory import Category as Category, Kind as Kind, Memory as Memory
    from souffleur.knowledge.operation import LedgerEntry as LedgerEntry
    from souffleur.knowledge.people import (
        Person as Person,
        PersonaCard as PersonaCard,
        Preferences as Preferences,
    )
    from souffleur.knowledge.search.query import Found as Found, Scope as Scope
    from souffleur.notices import Notice as Notice
    from souffleur.recall.compose import Recall as Recall
    from souffleur.service.health import Health as Health
    from souffleur.service.intake import Receipt as Receipt
    from souffleur.service.run import RunOptions as RunOptions, RunResult as RunResult
    from souffleur.settings import Settings as Settings, WhisperBudget as WhisperBudget

    __version__: str
    """The version of the installed package."""

_HOMES = {
    "BlockingSouffleur": "souffleur.faces",
    "Category": "souffleur.knowledge.memory",
    "Chat": "souffleur.agents.model.chat",
    "EndpointError": "souffleur.errors",
    "FileError": "souffleur.errors",
    "Found": "souffleur.knowledge.search.query",
    "Health": "souffleur.service.health",
    "InputError": "souffleur.errors",
    "Kind": "souffleur.knowledge.memory",
    "LedgerEntry": "souffleur.knowledge.operation",
    "Memory": "souffleur.knowledge.memory",
    "MemoryOffError": "souffleur.errors",
    "Message": "souffleur.agents.model.chat",
    "NotFoundError": "souffleur.errors",
    "Notice": "souffleur.notices",
    "Person": "souffleur.knowledge.people",
    "PersonaCard": "souffleur.knowledge.people",
    "Preferences": "souffleur.knowledge.people",
    "Recall": "souffleur.recall.compose",
    "Receipt": "souffleur.service.intake",
    "RemoteError": "souffleur.errors",
    "Reply": "souffleur.agents.model.chat",
    "Request": "souffleur.agents.model.chat",
    "RunOptions": "souffleur.service.run",
    "RunResult": "souffleur.service.run",
    "Scope": "souffleur.knowledge.search.query",
    "Settings": "souffleur.settings",
    "SettingsError": "souffleur.errors",
    "Souffleur": "souffleur.api",
    "SouffleurError": "souffleur.errors",
    "StoreError": "souffleur.errors",
    "UndoError": "souffleur.errors",
    "Usage": "souffleur.agents.model.chat",
    "WhisperBudget": "souffleur.settings",
}
"""The module of each public name."""

logger.disable("souffleur")  # a library is silent until its host says `logger.enable("souffleur")`


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562), so that `import souffleur` stays quick."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("souffleur")
    if name == "__all__":
        return sorted(_HOMES)
    raise AttributeError(f"module 'souffleur' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names too, which are loaded on first use."""
    return sorted({*globals(), *_HOMES, "__version__"})
