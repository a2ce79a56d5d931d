"""Following a user's ledger: what is in it after a place, and then what comes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.memory_codec import to_memories
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.proposals import named_ids
from souffleur.runtime import Souffleur
from souffleur.serving.memory_events import AFTER_ALL, MemoryEvent, events_of

BATCH = 100
"""Entries that are read at a time."""


async def latest_place(memory: Souffleur, user_id: str) -> str:
    """Return the id of the last event of a user, as after it nothing has happened yet."""
    found = await memory.ledger(user_id=user_id, limit=1, newest_first=True)
    return str(found[0].seq if found else 0)


async def follow(
    memory: Souffleur,
    user_id: str,
    place: tuple[int, int],
    *,
    heartbeat: float,
    goes_on: Callable[[], bool],
    stopping: asyncio.Event,
) -> AsyncIterator[MemoryEvent | None]:
    """Yield a user's events after a place, then each new one; `None` every `heartbeat` seconds.

    Ends when `goes_on`, which is asked before each event, says no, and when `stopping` is set and
    nothing is left.
    """
    after, index = place
    language = (await memory.cast()).persona(user_id).language
    with _woken(memory, user_id) as woken:
        while goes_on():
            woken.clear()
            # The entry at the place is read again: only some of its memories may be known.
            found = await memory.ledger(user_id=user_id, after=after - 1, limit=BATCH)
            new = [
                event
                for recorded in found
                for number, event in enumerate(
                    events_of(recorded, language, meant=await _meant(memory, recorded.entry))
                )
                if (recorded.seq, number) > (after, index)
            ]
            for event in new:
                if not goes_on():
                    return
                yield event
            if found and found[-1].seq > after:
                after, index = found[-1].seq, AFTER_ALL
            elif stopping.is_set():
                return
            elif not await _wait(woken, stopping, heartbeat):
                yield None


async def _meant(memory: Souffleur, entry: LedgerEntry) -> list[Memory]:
    """Return the memories that an entry would change, as they are, if it waits."""
    ids = named_ids(entry) if entry.waits else []
    return to_memories(await memory.knowledge.memories.get(ids)) if ids else []


@contextmanager
def _woken(memory: Souffleur, user_id: str) -> Iterator[asyncio.Event]:
    """Yield an event that is set when something of the user is applied."""
    loop, woken = asyncio.get_running_loop(), asyncio.Event()

    def see(whose: str) -> None:
        if whose == user_id:
            loop.call_soon_threadsafe(woken.set)

    end = memory.knowledge.journal.watch(see)
    try:
        yield woken
    finally:
        end()


async def _wait(woken: asyncio.Event, stopping: asyncio.Event, seconds: float) -> bool:
    """Wait until one of the two is set; return `False` if neither was in time."""
    tasks = [asyncio.create_task(one.wait()) for one in (woken, stopping)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
