"""Running the asynchronous work of a command: event loop, store, log and signals."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from souffleur.api import Souffleur
    from souffleur.client import AsyncClient
    from souffleur.client.inspection import RemoteInspection
    from souffleur.inspection import StoreInspection

    Memory = Souffleur | AsyncClient
    Inspection = StoreInspection | RemoteInspection

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T], tell: Callable[[str], None] | None = None) -> T:
    """Set up the log, see `set_up_log`; run a coroutine to its end, and return its result."""
    set_up_log(tell)
    return asyncio.run(work)


def with_memory(work: Callable[["Memory"], Coroutine[Any, Any, T]]) -> T:
    """Run the work on the store: through the process that serves it, or else opened for it.

    Turns that wait to be judged are left to the host's own process.
    """
    return run_async(_with_memory(work))


def with_store(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    """Open the store itself, run the work on it, and close it. Raises StoreBusyError."""

    async def alone() -> T:
        await need_no_owner()
        return await _with_store(work)

    return run_async(alone())


async def _with_memory(work: Callable[["Memory"], Coroutine[Any, Any, T]]) -> T:
    async with find_owner() as owner:
        if owner:
            return await work(owner)
    return await _with_store(work)


@asynccontextmanager
async def find_owner() -> "AsyncIterator[AsyncClient | None]":
    """Yield a client of the process that serves the configured store; `None` if none does."""
    from souffleur.settings import load_settings

    settings = load_settings()
    if settings.qdrant_url or not settings.owner_socket.exists():
        yield None
        return
    from souffleur.client import AsyncClient

    async with AsyncClient(socket=settings.owner_socket) as client:
        yield client if await client.is_there() else None


async def need_no_owner() -> None:
    """Raise StoreBusyError if another process serves the configured store."""
    from souffleur.errors import StoreBusyError
    from souffleur.settings import load_settings

    async with find_owner() as owner:
        if owner:
            raise StoreBusyError(
                f"the store at '{load_settings().folder}' is served by another process, and this "
                "needs it alone: stop that one first, `souffleur serve`, `proxy` or `mcp`"
            )


def inspect(memory: "Memory") -> "Inspection":
    """Return a look into the store beyond the methods of Souffleur, wherever it is open."""
    from souffleur.api import Souffleur
    from souffleur.inspection import StoreInspection

    if isinstance(memory, Souffleur):
        return StoreInspection(memory)
    from souffleur.client.inspection import RemoteInspection

    return RemoteInspection(memory)


async def _with_store(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    from souffleur.api import Souffleur
    from souffleur.parts import Parts
    from souffleur.settings import load_settings
    from souffleur.wiring import open_store

    settings = load_settings()
    knowledge = await open_store(settings)
    memory = Souffleur(Parts(knowledge), settings)
    try:
        await knowledge.recover()
        return await work(memory)
    finally:
        await memory.close()


def set_up_log(tell: Callable[[str], None] | None = None) -> None:
    """Send warnings to standard error, without variable values, which may be private.

    If `tell` is given, it is called with errors only, and standard error is left alone: for a
    command that says itself what its memory warns of.
    """
    import logging

    from loguru import logger

    logger.enable("souffleur")
    logger.remove()
    if tell is None:
        form = "<level>{message}</level>"
        logger.add(sys.stderr, level="WARNING", format=form, diagnose=False)
        return
    logging.getLogger("souffleur").addHandler(logging.NullHandler())
    logger.add(lambda said: tell(said.rstrip()), level="ERROR", format="{message}", diagnose=False)


def stop_on_signal() -> asyncio.Event:
    """Return an event that SIGINT and SIGTERM set, so that a command can finish and stop."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    return stopping
