"""The memory for a command: through the process that serves it, or opened for the command."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from souffleur.errors import NotFoundError, SettingsError, StoreBusyError, to_install
from souffleur.report.phrases import MEMORIES, count

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from souffleur.api import Opening, Souffleur
    from souffleur.client import AsyncClient
    from souffleur.client.clients import RemoteInspection
    from souffleur.inspection import StoreInspection
    from souffleur.knowledge.memory import Memory as OneMemory
    from souffleur.knowledge.store.opening import Opener
    from souffleur.settings import Settings

    Memory = Souffleur | AsyncClient
    Inspection = StoreInspection | RemoteInspection

T = TypeVar("T")

OPENER: ContextVar["Opener | None"] = ContextVar("opener", default=None)
"""The function that opens the collections of a store; `None` means the usual function."""

MAX_NAMED = 3
"""Maximum users that a hint names."""
_PAGE = 1000
"""Number of ledger entries that are read at once."""


def run_async(work: Coroutine[Any, Any, T], tell: Callable[[str], None] | None = None) -> T:
    """Set up the log (see `set_up_log`), run a coroutine to its end, and return its result."""
    set_up_log(tell)
    return asyncio.run(work)


def with_memory(work: Callable[["Memory"], Coroutine[Any, Any, T]]) -> T:
    """Run the work on the store: through the process that serves it, or else opened here.

    Turns that wait to be judged are left to the host's own process.
    """

    async def found() -> T:
        async with find_owner() as owner:
            if owner:
                return await work(owner)
        with _telling_of_the_door():
            return await _with_store(work)

    return run_async(found())


def with_model(work: Callable[["Memory"], Coroutine[Any, Any, T]]) -> T:
    """Run work that asks a model: as `with_memory`, but opened here with the configured model.

    Raises SettingsError if no process serves the store and no model is configured.
    """
    from souffleur.settings import load_settings, need_model

    async def found() -> T:
        async with find_owner() as owner:
            if owner:
                return await work(owner)
        with _telling_of_the_door():
            async with open_memory(need_model(load_settings())) as memory:
                return await work(memory)

    return run_async(found())


@contextmanager
def _telling_of_the_door() -> "Iterator[None]":
    """Say how commands reach a program that has the store, if it did not let this one in."""
    try:
        yield
    except StoreBusyError as error:
        door = "A program lets commands in while it runs if it has the extra `serve`"
        raise StoreBusyError(f"{error} {door}: {to_install('serve')}.") from None


def with_store(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    """Open the store itself, run the work on it, and close it. Raises StoreBusyError."""

    async def alone() -> T:
        await need_no_owner()
        return await _with_store(work)

    return run_async(alone())


async def _with_store(work: Callable[["Souffleur"], Coroutine[Any, Any, T]]) -> T:
    from souffleur.api import Souffleur
    from souffleur.knowledge.erasure import finish_removals
    from souffleur.parts import Parts, open_store
    from souffleur.settings import load_settings

    settings = load_settings()
    knowledge = await open_store(settings, opener=OPENER.get())
    memory = Souffleur(Parts(knowledge), settings)
    try:
        await knowledge.recover()
        await finish_removals(knowledge)
        return await work(memory)
    finally:
        await memory.close()


def open_memory(
    settings: "Settings | None" = None, *, chat: Any = None, clock: Any = None, **overrides: Any
) -> "Opening":
    """Do the work of `Souffleur.open`, with the opener of this process."""
    from souffleur.api import Opening
    from souffleur.settings import change_settings, load_settings
    from souffleur.times import TimeSource, from_clock

    chosen = change_settings(settings, **overrides) if settings else load_settings(**overrides)
    times = from_clock(clock) if clock else TimeSource()
    return Opening(chosen, chat, times, None, OPENER.get())


@asynccontextmanager
async def find_owner() -> "AsyncIterator[AsyncClient | None]":
    """Yield a client of the process that serves the configured store; `None` if no process does."""
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
    from souffleur.settings import load_settings

    async with find_owner() as owner:
        if owner:
            raise StoreBusyError(
                f"the store at '{load_settings().folder}' is served by another process, and this "
                "needs it alone: stop that one first, `souffleur serve`, `proxy` or `mcp`"
            )


def inspect(memory: "Memory") -> "Inspection":
    """Return an inspector of the store, in this process or in the owner's, for further reads."""
    from souffleur.api import Souffleur
    from souffleur.inspection import StoreInspection

    if isinstance(memory, Souffleur):
        return StoreInspection(memory)
    from souffleur.client.clients import RemoteInspection

    return RemoteInspection(memory)


def set_up_log(tell: Callable[[str], None] | None = None) -> None:
    """Send warnings to standard error, without values of variables, which may be private.

    If `tell` is given, it is called for errors only, and standard error stays empty. This is for a
    command that itself reports the warnings of its memory.
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


async def hint_at_others(memory: "Memory", user: str) -> None:
    """Print on standard error which other users have memories or turns, if there are any."""
    others = [one for one in await memory.users() if one.user_id != user]
    for one in others[:MAX_NAMED]:
        numbers = [count(one.memories, *MEMORIES)] if one.memories else []
        numbers += [count(one.turns, "turn")] if one.turns else []
        has = " and ".join(numbers)
        print(f"{one.user_id} has {has}: --user {shlex.quote(one.user_id)}", file=sys.stderr)
    if len(others) > MAX_NAMED:
        print(f"{len(others)} users in all: see `souffleur user list`", file=sys.stderr)


async def everyone(memory: "Memory") -> list[str]:
    """Return the ids of all users, and the id under which personas are defined."""
    from souffleur.knowledge.identity import PERSONAS

    return [*(one.user_id for one in await memory.users()), PERSONAS]


async def find_memory_id(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id and the user of the only memory whose id has a prefix. Raises NotFoundError."""
    owners = {one.id: one.user_id for one in await _every_memory(memory)}
    found = _only(list(owners), prefix, "memory")
    return found, owners[found]


async def find_entry_id(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id and the user of the only ledger entry whose id has a prefix.

    Raises NotFoundError.
    """
    owners: dict[str, str] = {}
    for user_id in await everyone(memory):
        after = 0
        while page := await memory.ledger(user_id=user_id, after=after, limit=_PAGE):
            owners |= {one.entry.id: user_id for one in page}
            after = page[-1].seq
    found = _only(list(owners), prefix, "ledger entry")
    return found, owners[found]


async def find_proposal(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id of a waiting proposal, or else of a memory, and its user.

    A waiting new memory is found by its own id and by the id of its ledger entry. Raises
    NotFoundError.
    """
    from souffleur.knowledge.memory import MemoryState

    memories = await _every_memory(memory)
    users = {one.user_id for one in memories} | set(await everyone(memory))
    waiting = [one for user in users for one in await memory.proposals(user_id=user) if one.waits]
    owners = {entry.id: (entry.id, entry.user_id) for entry in waiting}
    owners |= {one.id: (one.id, one.user_id) for one in memories}
    pending = (one for one in memories if one.state is MemoryState.PENDING)
    owners |= {one.written_by: (one.id, one.user_id) for one in pending}
    return owners[_only(list(owners), prefix, "proposal or memory")]


async def find_turn_id(memory: "Memory", prefix: str, user_id: str | None) -> tuple[str, str]:
    """Return the id of a turn, and its user. Raises NotFoundError.

    The turn is named by the host's id, or by the beginning of its own id.
    """
    turns = await inspect(memory).turns(user_id=user_id, named=prefix)
    if len(turns) == 1 and turns[0].turn_id == prefix:
        return turns[0].id, turns[0].user_id
    owners = {turn.id: turn.user_id for turn in turns}
    found = _only(list(owners), prefix, "turn")
    return found, owners[found]


async def _every_memory(memory: "Memory") -> "list[OneMemory]":
    users = await everyone(memory)
    return [one for user in users for one in await memory.list(user_id=user, state=None)]


def _only(ids: list[str], prefix: str, noun: str) -> str:
    if not prefix.strip():
        raise SettingsError(f"the id is empty: give the id of a {noun}, or its beginning")
    fits = [id for id in ids if id.startswith(prefix.strip().lower())]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFoundError(f"there is no {noun} whose id starts with {prefix!r}")
    raise NotFoundError(f"{len(fits)} ids start with {prefix!r}; give more of it")
