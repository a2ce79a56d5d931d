"""The one door from the command line into async code."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from souffleur.errors import NotFoundError

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.runtime import Souffleur

T = TypeVar("T")

User = Annotated[str, typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="Whose memories.")]
AnyUser = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="SOUFFLEUR_USER", help="Whose; by default everybody's."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable, on standard output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def enter(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end."""
    set_up_log()
    return asyncio.run(work)


def with_memory(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    """Open the store, work, close it; waiting turns are left to the host's own process."""
    return enter(_within(work))


async def _within(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    from souffleur.parts import Parts
    from souffleur.runtime import Souffleur
    from souffleur.settings import load_settings
    from souffleur.time_source import TimeSource
    from souffleur.wiring import open_store

    settings = load_settings()
    knowledge = await open_store(settings)
    memory = Souffleur(Parts(knowledge, times=TimeSource(_now)), settings)
    try:
        await knowledge.recover()
        return await work(memory)
    finally:
        await memory.close()


async def find_memory_id(knowledge: "KnowledgeBase", prefix: str) -> str:
    """The one memory whose id starts so."""
    from souffleur.knowledge.memory import MemoryState

    memories = await knowledge.list(None, states=tuple(MemoryState))
    return _only([memory.id for memory in memories], prefix, "memory")


async def find_entry_id(knowledge: "KnowledgeBase", prefix: str) -> str:
    """The one ledger entry whose id starts so."""
    entries = await knowledge.journal.entries()
    return _only([entry.id for entry in entries], prefix, "ledger entry")


def _only(ids: list[str], prefix: str, what: str) -> str:
    fits = [id for id in ids if id.startswith(prefix.strip().lower())]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFoundError(f"there is no {what} whose id starts with {prefix!r}")
    raise NotFoundError(f"{len(fits)} ids start with {prefix!r}; give more of it")


def set_up_log() -> None:
    """Warnings to standard error; no variable values, which may be private."""
    from loguru import logger

    logger.enable("souffleur")
    logger.remove()
    logger.add(sys.stderr, level="WARNING", format="<level>{message}</level>", diagnose=False)


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)


def stop_on_signal() -> asyncio.Event:
    """Set by the first interrupt: what is under way ends, nothing new begins."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    return stopping
