"""Serving: the allowed addresses of the server, and the app for commands on this machine."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from souffleur.api import Souffleur
from souffleur.errors import SettingsError
from souffleur.server import owner_routes
from souffleur.server.app import make_app
from souffleur.server.hosts import is_local
from souffleur.server.listening import listening
from souffleur.server.tokens import TokenFile


@asynccontextmanager
async def listening_for_owner(memory: Souffleur, at: socket.socket) -> AsyncIterator[None]:
    """Serve the owner of a store at its socket within the block; see `souffleur.door`."""
    app = make_app(memory, memory.settings, routers=[owner_routes.router])
    async with listening(app, at, drain=memory.seconds_left, stopping=app.state.stopping):
        yield


def check_exposure(host: str, tokens: TokenFile) -> None:
    """Raise SettingsError for a host that other machines can reach, if there is no token."""
    if not is_local(host) and not tokens.in_use:
        raise SettingsError(
            f"{host} can be reached by other machines, and there is no token yet: make one with "
            "`souffleur token --admin`, or listen at 127.0.0.1"
        )
