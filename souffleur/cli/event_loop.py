"""Running the asynchronous work of a command: event loop, store, log and signals."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from souffleur.runtime import Souffleur

T = TypeVar("T")


def run_async(work: Coroutine[Any, Any, T], tell: Callable[[str], None] | None = None) -> T:
    """Set up the log, see `set_up_log`; run a coroutine to its end, and return its result."""
    set_up_log(tell)
    return asyncio.run(work)


def with_memory(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    """Open the store, run the work on it, and close it.

    Turns that wait to be judged are left to the host's own process.
    """
    return run_async(_with_memory(work))


async def _with_memory(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    from souffleur.parts import Parts
    from souffleur.runtime import Souffleur
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
