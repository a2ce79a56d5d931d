"""A store for a long command: served by another process, or else opened and served here."""

import asyncio
from contextlib import AsyncExitStack
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from souffleur.api import Souffleur
from souffleur.cli.memory import find_owner, open_memory
from souffleur.client import AsyncClient
from souffleur.errors import StoreBusyError
from souffleur.faces import AsyncMethods
from souffleur.settings import change_settings

if TYPE_CHECKING:
    from souffleur.settings import Settings

TRIES, PAUSE = 20, 0.25
"""Tries to open a store in use, and seconds between them, as its process may begin to serve it."""


class SharedStore(AsyncMethods):
    """The methods of Souffleur, called in the process that has the store at that time.

    Use it with `async with`. If the process with the store is gone, this process opens the store.
    """

    def __init__(self, settings: "Settings") -> None:
        """Prepare to open the store; with a Qdrant server, this process does not judge."""
        alone = not settings.qdrant_url
        self._settings = change_settings(settings, judge=settings.judge and alone)
        self._memory: Souffleur | AsyncClient | None = None
        self._leaving = AsyncExitStack()
        self._alone = asyncio.Lock()

    async def __aenter__(self) -> "SharedStore":
        await self._held()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leaving.aclose()

    async def _call(self, method: str, /, **given: Any) -> Any:
        found = getattr(await self._held(), method)(**given)
        return await found if isawaitable(found) else found

    async def _held(self) -> Souffleur | AsyncClient:
        async with self._alone:
            if isinstance(self._memory, AsyncClient) and not await self._memory.is_there():
                self._memory = None
                await self._leaving.aclose()
            if self._memory is None:
                self._memory = await self._find()
            return self._memory

    async def _find(self) -> Souffleur | AsyncClient:
        """Return the owner's client, or the store opened here. Raises StoreBusyError."""
        for left in reversed(range(TRIES)):
            owner = await self._leaving.enter_async_context(find_owner())
            if owner:
                return owner
            try:
                return await self._leaving.enter_async_context(open_memory(self._settings))
            except StoreBusyError:
                if not left:
                    raise
                await asyncio.sleep(PAUSE)
        raise AssertionError("the last try returns or raises")
