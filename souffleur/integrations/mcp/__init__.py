"""MCP: a memory as tools for clients of the Model Context Protocol; needs `souffleur[mcp]`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from souffleur.errors import SettingsError

if TYPE_CHECKING:
    from souffleur.integrations.mcp.server import http_app, make_server, method_of, request_of
    from souffleur.integrations.mcp.tools import Who

_MODULES = {
    "Who": "souffleur.integrations.mcp.tools",
    "http_app": "souffleur.integrations.mcp.server",
    "make_server": "souffleur.integrations.mcp.server",
    "method_of": "souffleur.integrations.mcp.server",
    "request_of": "souffleur.integrations.mcp.server",
}

__all__ = ["Who", "http_app", "make_server", "method_of", "request_of"]


def __getattr__(name: str) -> Any:
    """Load a name on first use. Raises SettingsError if the package mcp is missing."""
    if name not in _MODULES:
        raise AttributeError(f"module 'souffleur.integrations.mcp' has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise SettingsError(f"{name} needs the package mcp: pip install 'souffleur[mcp]'") from None
