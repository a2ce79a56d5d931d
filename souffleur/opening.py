"""A Souffleur that is about to be opened."""

from collections.abc import Callable, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from souffleur.agents.model.chat import Chat
    from souffleur.knowledge.search.embedder import Embedder
    from souffleur.knowledge.store.opening import Opener
    from souffleur.parts import Parts
    from souffleur.settings import Settings
    from souffleur.times import TimeSource


class Openable(Protocol):
    """What is built from the parts."""

    async def start(self) -> None:
        """Resume waiting work."""

    async def close(self) -> None:
        """Close the parts."""


M = TypeVar("M", bound=Openable)


class Opening(Generic[M]):
    """`await` it and close the result yourself, or use it with `async with`."""

    def __init__(
        self,
        make: "Callable[[Parts, Settings], M]",
        settings: "Settings",
        chat: "Chat | None",
        times: "TimeSource",
        embedder: "Embedder | None" = None,
        opener: "Opener | None" = None,
    ) -> None:
        self._make, self._settings, self._chat, self._times = make, settings, chat, times
        self._embedder, self._opener = embedder, opener
        self._open: M | None = None

    async def _start(self) -> M:
        from souffleur.wiring import wire  # qdrant is loaded here, not on import

        parts = await wire(self._settings, self._chat, self._times, self._embedder, self._opener)
        memory = self._make(parts, self._settings)
        try:
            await memory.start()
        except BaseException:
            await parts.close()
            raise
        self._open = memory
        return memory

    def __await__(self) -> Generator[Any, None, M]:
        return self._start().__await__()

    async def __aenter__(self) -> M:
        return await self._start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            await self._open.close()
