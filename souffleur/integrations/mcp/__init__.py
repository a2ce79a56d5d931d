"""MCP: a memory as tools for clients of the Model Context Protocol; needs the extra `mcp`."""

from typing import TYPE_CHECKING, Any

from souffleur.integrations import load_name

if TYPE_CHECKING:
    from souffleur.integrations.mcp.server import http_app, make_server, method_of, request_of
    from souffleur.integrations.mcp.tools import Who

_MODULES = {
    "Who": "tools",
    "http_app": "server",
    "make_server": "server",
    "method_of": "server",
    "request_of": "server",
}

__all__ = ["Who", "http_app", "make_server", "method_of", "request_of"]


def __getattr__(name: str) -> Any:
    """Load a name on first use. Raises SettingsError if the extra is not installed."""
    return load_name(__name__, name, _MODULES)
