"""Souffleur: a memory worth having, for companion chatbots.

Ten names do most of a host's work:

- `Souffleur`, `BlockingSouffleur`: the memory; `await Souffleur.open()` or `async with` it.
- `Recall`: what `recall` returns; its `text` goes into the system prompt.
- `Receipt`: what `observe` returns. `Health`: how the memory is.
- `Memory`, `LedgerEntry`: what is remembered, and each change with its reason.
- `Settings`: all settings; each is also a variable SOUFFLEUR_<NAME>.
- `SouffleurError`, `InputError`: every error of ours, and that of a wrong argument.

More types, for annotations, are in `souffleur.types`.
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

_NAMES = {
    "agents.model.chat": "Chat Message Reply Request Usage",
    "api": "Souffleur",
    "errors": "EndpointError FileError InputError MemoryOffError NotFoundError "
    "RemoteError SettingsError SouffleurError StoreError UndoError",
    "faces": "BlockingSouffleur",
    "knowledge.memory": "Category Kind Memory",
    "knowledge.operation": "LedgerEntry",
    "knowledge.people": "Person PersonaCard Preferences",
    "knowledge.search.query": "Found Scope",
    "notices": "Notice",
    "recall.compose": "Recall",
    "service.health": "Health",
    "service.intake": "Receipt",
    "service.run": "RunOptions RunResult",
    "settings": "Settings WhisperBudget",
}
"""The public names of each module."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

logger.disable("souffleur")  # a library is silent until its host says `logger.enable("souffleur")`


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562), so that `import souffleur` stays quick."""
    if name in _MODULE_OF:
        return getattr(import_module(f"souffleur.{_MODULE_OF[name]}"), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("souffleur-memory")
    if name == "__all__":
        return sorted(_MODULE_OF)
    raise AttributeError(f"module 'souffleur' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names too, which are loaded on first use."""
    return sorted({*globals(), *_MODULE_OF, "__version__"})
