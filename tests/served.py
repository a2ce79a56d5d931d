"""A memory served on the loopback, as tests use it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from souffleur.runtime import Souffleur
from souffleur.serving.app import make_app
from souffleur.serving.listening import bind, listening
from souffleur.serving.tokens import TokenFile
from souffleur.settings import change_settings


@asynccontextmanager
async def served(
    memory: Souffleur, *, tokens: Path | None = None, heartbeat: float = 15.0, **settings: Any
) -> AsyncIterator[str]:
    """Yield the address of a server, which needs tokens if a file with them is named."""
    chosen = change_settings(memory.settings, **settings)
    app = make_app(
        memory, chosen, tokens=TokenFile(tokens) if tokens else None, heartbeat=heartbeat
    )
    at = bind("127.0.0.1", 0)
    async with listening(app, at, drain=lambda: 1.0, stopping=app.state.stopping):
        host, port = at.getsockname()
        yield f"http://{host}:{port}"
