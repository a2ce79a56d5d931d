"""Other programs: their interfaces, agents, files and formats."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from souffleur.errors import SettingsError, to_install


def load_name(package: str, name: str, modules: Mapping[str, str]) -> Any:
    """Return a public name of a package below `integrations`. Its extra has the package's name.

    `modules` has the module of each public name. Raises AttributeError for an unknown name,
    SettingsError if the extra is not installed.
    """
    extra = package.rpartition(".")[2]
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{package}.{modules[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != extra:
            raise
        raise SettingsError(f"{name} needs the package {extra}: {to_install(extra)}") from None
