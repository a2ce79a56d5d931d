"""Memory events: the changes of the ledger in a form for front ends."""

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
    """The types of events of a memory."""

    CREATED = "memory.created"
    """The memory is new; its state says whether it waits for consent."""
    UPDATED = "memory.updated"
    """The words, the state or the details of the memory changed in another way."""
    DELETED = "memory.deleted"
    """The memory was deleted or forgotten on request."""
    FORGOTTEN = "memory.forgotten"
    """The memory has faded, or a review removed it."""
    RESTORED = "memory.restored"
    """The memory is in force again."""
    BOOSTED = "memory.boosted"
    """The memory was used in a reply and is stronger."""
    PROMOTED = "memory.promoted"
    """The memory is core now, and never fades."""
    PROPOSED = "memory.proposed"
    """A model proposes a change of the memory. The change waits for the user's consent."""


class MemoryEvent(Frozen):
    """A change of a memory."""

    id: str
    """The place of the event in the ledger; later events have greater places."""
    type: EventType
    """The type of the event."""
    memory: Memory
    """The memory after the change."""
    entry_id: str
    """The id of the ledger entry, for `undo`."""
    op: str
    """The op: ADD, UPDATE, … or UNDO."""
    reason: str
    """The reason, in the words of the change's author."""
    by: Actor
    """The author of the change."""
    at: AwareDatetime
    """When the change was decided."""
    notice: Notice | None = None
    """The notice for the user; only for a change after a turn, with the entry's first memory."""


_BY_OP = {
    "BOOST": EventType.BOOSTED,
    "PROMOTE": EventType.PROMOTED,
    "DELETE": EventType.DELETED,
    "RESTORE": EventType.RESTORED,
}
AFTER_ALL = 1_000_000
"""A place within a ledger entry, after all its memories."""
_ON_REQUEST = (ActorKind.USER, ActorKind.HOST, ActorKind.MONITOR)
_GONE = (MemoryState.FORGOTTEN, MemoryState.ARCHIVED)


def events_of(
    recorded: Recorded, language: str | None = None, *, meant: Sequence[Memory] = ()
) -> Iterator[MemoryEvent]:
    """Yield an event for each memory that a ledger entry changed; no event for a refused entry.

    If the entry waits for consent, `meant` has the memories that it would change. `language` is
    that of the notices.
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
    """Return the number of the ledger entry, and of the memory within it, of an event's id.

    Raises ValueError for a text that is no id of an event.

    >>> read_place("17.2"), read_place("17")
    ((17, 2), (17, 1000000))
    """
    seq, _, index = id.partition(".")
    place = int(seq), int(index) if index else AFTER_ALL
    if min(place) < 0 or place[0] >= 1 << 62:
        raise ValueError(f"{id} is no place in a ledger")
    return place


BATCH = 100
"""Number of ledger entries that are read at once."""


async def latest_place(memory: Souffleur, user_id: str) -> str:
    """Return the place after the latest ledger entry of a user, as the id of an event."""
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

    Calls `goes_on` before each event, and ends if it returns `False`. Also ends when `stopping` is
    set and all events are sent.
    """
    after, index = place
    language = (await memory.cast()).persona(user_id).language
    with _woken(memory, user_id) as woken:
        while goes_on():
            woken.clear()
            # The entry at the place is read again: some of its events may be new to the caller.
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
    """Return the present memories that a waiting entry would change; empty for other entries."""
    ids = named_ids(entry) if entry.waits else []
    return to_memories(await memory.knowledge.memories.get(ids)) if ids else []


@contextmanager
def _woken(memory: Souffleur, user_id: str) -> Iterator[asyncio.Event]:
    """Yield an asyncio.Event that is set when a change of the user's memories is applied."""
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
    """Wait until one of the events is set; return `False` after `seconds`."""
    tasks = [asyncio.create_task(one.wait()) for one in (woken, stopping)]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
