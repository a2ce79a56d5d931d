"""Memory events: the changes of the ledger, in the words of a front end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from pydantic import AwareDatetime

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Frozen, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Change, LedgerEntry, Recorded
from souffleur.knowledge.proposals import named_ids
from souffleur.knowledge.store.codecs import to_memories
from souffleur.notices import Notice, notices_of


class EventType(StrEnum):
    """Kinds of events of a memory."""

    CREATED = "memory.created"
    """It is new; its state says whether it waits for consent."""
    UPDATED = "memory.updated"
    """Its words, its state or its details changed in another way."""
    DELETED = "memory.deleted"
    """It was deleted or forgotten on request."""
    FORGOTTEN = "memory.forgotten"
    """It has faded, or a review let it go."""
    RESTORED = "memory.restored"
    """It holds again."""
    BOOSTED = "memory.boosted"
    """It shaped a reply and is stronger."""
    PROMOTED = "memory.promoted"
    """It is core now, and never fades."""
    PROPOSED = "memory.proposed"
    """A model would change it: the change waits for the user's yes, and it is as it was."""


class MemoryEvent(Frozen):
    """Something that has happened to a memory."""

    id: str
    """Its place: events after it are those that are new to who has seen it."""
    type: EventType
    """What has happened."""
    memory: Memory
    """The memory afterwards."""
    entry_id: str
    """The ledger entry, which `undo` takes."""
    op: str
    """The op: ADD, UPDATE, … or UNDO."""
    reason: str
    """Why, in the words of its author."""
    by: Actor
    """Who decided it."""
    at: AwareDatetime
    """When it was decided."""
    notice: Notice | None = None
    """The notice for the user; only with an entry's first memory, if a turn led to it."""


_BY_OP = {
    "BOOST": EventType.BOOSTED,
    "PROMOTE": EventType.PROMOTED,
    "DELETE": EventType.DELETED,
    "RESTORE": EventType.RESTORED,
}
AFTER_ALL = 1_000_000
"""A place within a ledger entry after all the memories that it changed."""
_ON_REQUEST = (ActorKind.USER, ActorKind.HOST, ActorKind.MONITOR)
_GONE = (MemoryState.FORGOTTEN, MemoryState.ARCHIVED)


def events_of(
    recorded: Recorded, language: str | None = None, *, meant: Sequence[Memory] = ()
) -> Iterator[MemoryEvent]:
    """Yield an event for each memory that a ledger entry changed; nothing if it was refused.

    If the entry waits, those in `meant` are the memories that it would change. Notices are in the
    language, if one is given.
    """
    entry = recorded.entry
    if entry.refused is not None:
        return
    told = notices_of([recorded], language)
    happened = [(type_of(entry, change), change.after) for change in entry.changes]
    if entry.waits:
        happened = [(EventType.PROPOSED, memory) for memory in meant]
    for index, (type, memory) in enumerate(happened):
        yield MemoryEvent(
            id=f"{recorded.seq}.{index}",
            type=type,
            memory=memory,
            entry_id=entry.id,
            op=entry.op,
            reason=entry.reason,
            by=entry.by,
            at=entry.at,
            notice=told[0] if told and index == 0 else None,
        )


def type_of(entry: LedgerEntry, change: Change) -> EventType:
    """Return the type of the event for a change of an entry."""
    if change.before is None:
        return EventType.CREATED
    goes = change.after.state in _GONE and change.before.state not in _GONE
    if goes and entry.op not in ("MERGE", "CONTRADICT"):
        asked = entry.by.who in _ON_REQUEST
        return EventType.DELETED if asked else EventType.FORGOTTEN
    if entry.op in _BY_OP:
        return _BY_OP[entry.op]
    holds_again = change.after.state is MemoryState.ACTIVE is not change.before.state
    return EventType.RESTORED if holds_again and entry.op == "UNDO" else EventType.UPDATED


def read_place(id: str) -> tuple[int, int]:
    """Return the place in the ledger that an event's id names, and the memory within it.

    Raises ValueError for a text that is not the id of an event.

    >>> read_place("17.2"), read_place("17")
    ((17, 2), (17, 1000000))
    """
    seq, _, index = id.partition(".")
    place = int(seq), int(index) if index else AFTER_ALL
    if min(place) < 0 or place[0] >= 1 << 62:
        raise ValueError(f"{id} is no place in a ledger")
    return place


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
