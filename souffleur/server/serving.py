"""Serving: the allowed addresses of the server, and the socket for commands on this machine."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from loguru import logger

from souffleur.api import Souffleur
from souffleur.errors import SettingsError
from souffleur.server import owner_routes
from souffleur.server.app import make_app
from souffleur.server.hosts import is_local
from souffleur.server.listening import listening
from souffleur.server.tokens import TokenFile


@asynccontextmanager
async def owned(memory: Souffleur) -> AsyncIterator[None]:
    """Serve commands on this machine at a socket in the store's folder, within the block."""
    settings = memory.settings
    if settings.qdrant_url:  # the commands can open that store themselves
        yield
        return
    app = make_app(memory, settings, routers=[owner_routes.router])
    with owner_socket(settings.owner_socket) as at:
        if at is None:
            yield
            return
        async with listening(app, at, drain=memory.seconds_left, stopping=app.state.stopping):
            yield


@contextmanager
def owner_socket(path: Path) -> Iterator[socket.socket | None]:
    """Yield a socket in a store's folder that only its owner can open; `None` if that fails.

    The caller must hold the lock on the folder, because a former process's socket is replaced.
    """
    at = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        at.bind(str(path))
        path.chmod(0o600)  # nobody can connect before `listen`
        at.listen()
    except OSError as error:  # the path is too long, or the file system has no sockets
        at.close()
        logger.warning("commands cannot reach this process by {}: {}", path, error)
        yield None
        return
    try:
        yield at
    finally:
        at.close()
        path.unlink(missing_ok=True)


def check_exposure(host: str, tokens: TokenFile) -> None:
    """Raise SettingsError for a host that other machines can reach, if there is no token."""
    if not is_local(host) and not tokens.is_there:
        raise SettingsError(
            f"{host} can be reached by other machines, and there is no token yet: make one with "
            "`souffleur token --admin`, or listen at 127.0.0.1"
        )
