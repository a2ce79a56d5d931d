"""A memory served on the loopback, as tests use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from souffleur.api import Souffleur
from souffleur.server.app import make_app
from souffleur.server.listening import bind, listening
from souffleur.server.tokens import TokenFile
from souffleur.settings import change_settings


@asynccontextmanager
async def served(
    memory: Souffleur,
    *,
    tokens: Path | None = None,
    heartbeat: float = 15.0,
    below: str = "",
    **settings: Any,
) -> AsyncIterator[str]:
    """Yield the address of a server, which needs tokens if a file with them is named.

    `below` is a path, such as `/memory`, below which a reverse proxy has it.
    """
    chosen = change_settings(memory.settings, **settings)
    app = make_app(
        memory, chosen, tokens=TokenFile(tokens) if tokens else None, heartbeat=heartbeat
    )
    at = bind("127.0.0.1", 0)
    shown = _stripping(app, below) if below else app
    async with listening(shown, at, drain=lambda: 1.0, stopping=app.state.stopping):
        host, port = at.getsockname()
        yield f"http://{host}:{port}{below}"


def _stripping(app: ASGIApp, below: str) -> ASGIApp:
    """Return an app behind a proxy that takes a path away, and has nothing elsewhere."""

    async def stripped(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        elif path == below:
            await RedirectResponse(f"{below}/")(scope, receive, send)
        elif path.startswith(f"{below}/"):
            rest = {"path": path[len(below) :], "raw_path": scope["raw_path"][len(below) :]}
            await app({**scope, **rest}, receive, send)
        else:
            await Response(status_code=404)(scope, receive, send)

    return stripped
