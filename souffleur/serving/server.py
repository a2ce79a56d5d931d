"""The server: apps on sockets, in the event loop of the memory that they serve."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from loguru import logger

from souffleur.errors import SettingsError
from souffleur.runtime import Souffleur
from souffleur.serving.app import make_app
from souffleur.serving.guard import is_local
from souffleur.serving.routes import owner
from souffleur.serving.tokens import TokenFile


class _Server(uvicorn.Server):
    """A server that leaves the signals to whoever runs it: there may be two in one loop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(app: FastAPI, at: socket.socket, *, drain: float = 10.0) -> AsyncIterator[None]:
    """Serve an app at a bound socket within the block; at its end, answer what was begun.

    What is not answered after `drain` seconds is broken off.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(drain)),
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[at]))
    try:
        yield  # who connects before the server has begun is served as soon as it has
    finally:
        app.state.stopping.set()
        server.should_exit = True
        await running


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 takes a free one. Raises SettingsError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        at = socket.create_server((host, port), family=family)
        at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each event is sent at once
        return at
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"cannot listen at {address(host, port)} ({error}): name another --host or --port"
        ) from None


@asynccontextmanager
async def owned(memory: Souffleur) -> AsyncIterator[None]:
    """Serve the commands of this machine, by a socket in the store's folder, within the block."""
    settings = memory.settings
    if settings.qdrant_url:  # they can open it themselves
        yield
        return
    app = make_app(memory, settings, routers=[owner.router])
    with owner_socket(settings.owner_socket) as at:
        if at is None:
            yield
            return
        async with listening(app, at, drain=settings.shutdown_timeout):
            yield


@contextmanager
def owner_socket(path: Path) -> Iterator[socket.socket | None]:
    """Yield a socket in a store's folder that its owner alone can open; `None` if it cannot be.

    Whoever holds the lock on the folder may replace a socket that a former process left there.
    """
    at = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        at.bind(str(path))
        path.chmod(0o600)  # nobody gets in before `listen`
        at.listen()
    except OSError as error:  # a path may be too long, a file system without sockets
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
    """Raise SettingsError for a host that others can reach, while there is no token."""
    if not is_local(host) and not tokens.is_there:
        raise SettingsError(
            f"{host} can be reached by other machines, and there is no token yet: make one with "
            "`souffleur token --admin`, or listen at 127.0.0.1"
        )


def address(host: str, port: int) -> str:
    """Return the URL of a host and port.

    >>> address("127.0.0.1", 8321), address("::1", 80)
    ('http://127.0.0.1:8321', 'http://[::1]:80')
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
