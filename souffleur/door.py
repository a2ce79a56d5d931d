"""The door of a store: a socket in its folder, by which commands on this machine reach its owner.

The server behind it is loaded when somebody knocks, so a host that nobody looks at pays nothing.
"""

import asyncio
import os
import socket
from importlib import import_module
from pathlib import Path
from typing import Any

from loguru import logger

from souffleur.settings import Settings

SERVING = "souffleur.server.serving"
"""The module that serves a memory at a socket; it needs the extra `serve`."""


class Door:
    """The socket of an open memory; it begins to serve at the first connection."""

    def __init__(self, memory: object, settings: Settings) -> None:
        """Take a memory that holds the lock on its folder: a former socket is replaced."""
        self._memory = memory
        self._settings = settings
        self._socket: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()
        self._closing = asyncio.Event()

    def open(self) -> None:
        """Wait for connections; a path that no socket can have leaves the door shut."""
        if self._settings.qdrant_url or not hasattr(socket, "AF_UNIX"):
            return  # commands can open a store on a server themselves; Windows has no such sockets
        self._socket = bound(self._settings.owner_socket)
        if self._socket:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._socket, self._knocked)

    async def close(self) -> None:
        """Answer what is being asked, then remove the socket; a forked child leaves it alone."""
        if not self._socket or os.getpid() != self._pid:
            return
        if asyncio.get_running_loop() is self._loop:  # else that loop has ended, with all its work
            self._closing.set()
            if self._serving:
                await self._serving
            else:
                self._loop.remove_reader(self._socket)
        self._shut()

    def _shut(self) -> None:
        if self._socket:
            self._socket.close()
            self._settings.owner_socket.unlink(missing_ok=True)
            self._socket = None

    def _knocked(self) -> None:
        assert self._socket
        assert self._loop
        self._loop.remove_reader(self._socket)
        self._serving = self._loop.create_task(self._serve(self._socket))

    async def _serve(self, at: socket.socket) -> None:
        try:
            serving: Any = await asyncio.to_thread(import_module, SERVING)
        except ModuleNotFoundError as error:
            logger.warning("commands cannot reach this process: {} is not installed", error.name)
            self._shut()
            return
        async with serving.listening_for_owner(self._memory, at):
            await self._closing.wait()


def bound(path: Path) -> socket.socket | None:
    """Return a listening socket at a path that only its owner can open; `None` if that fails."""
    at = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        at.bind(str(path))
        path.chmod(0o600)  # nobody can connect before `listen`
        at.listen()
    except OSError as error:  # the path is too long, or the file system has no sockets
        at.close()
        logger.info("commands cannot reach this process by {}: {}", path, error)
        return None
    return at
