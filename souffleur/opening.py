"""A Souffleur about to be opened."""

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from souffleur.agents.chat import Chat
    from souffleur.runtime import Souffleur
    from souffleur.settings import Settings
    from souffleur.time_source import TimeSource


class Opening:
    """`await` it and close what it gives yourself, or use it with `async with`."""

    def __init__(
        self,
        cls: "type[Souffleur]",
        settings: "Settings",
        chat: "Chat | None",
        times: "TimeSource",
    ) -> None:
        self._cls, self._settings, self._chat, self._times = cls, settings, chat, times
        self._open: Souffleur | None = None

    async def _start(self) -> "Souffleur":
        from souffleur.wiring import wire  # langgraph and qdrant are loaded here, not on import

        self._open = await wire(self._cls, self._settings, self._chat, self._times)
        return self._open

    def __await__(self) -> "Generator[Any, None, Souffleur]":
        return self._start().__await__()

    async def __aenter__(self) -> "Souffleur":
        return await self._start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            await self._open.close()
