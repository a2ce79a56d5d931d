"""Writing to a store to which several processes write at once.

The list of arrivals numbers the turns, see `recording`. A verdict is valid when the lease of its
user lists it, see `leases`. Before this, its ledger entries are drafts, which are never read as
entries. A judge replaces drafts of former holders of the lease, but never drafts of later holders.
A writer without a lease continues after a crash by writing the same entry again, for example the
receipt of a removal.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar
from uuid import uuid4

from souffleur.errors import LeaseLostError, StoreError
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Session, WindowRule
from souffleur.knowledge.store.codecs import entry_payload, to_entry
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    Payload,
    Point,
    carry_through,
    read_all,
)
from souffleur.knowledge.store.processes.leases import UserLeases, fence_of
from souffleur.knowledge.store.processes.recording import Recorder
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.store.turns import SessionChange, new_session
from souffleur.knowledge.turn import Turn

T = TypeVar("T")

DRAFT = "draft"
ABANDONED = timedelta(minutes=10)
"""Age from which a draft counts as abandoned."""


class Several:
    """The writer of turns, sessions and verdicts that keeps the writes of other processes."""

    def __init__(self, collection: Collection, leases: UserLeases, *, last_seq: int) -> None:
        self.collection = collection
        self.recorder = Recorder(collection, partial(new_session, collection), first_seq=last_seq)
        self._leases = leases

    def record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        """Write a turn, its window and the list of arrivals in a single request."""
        return self.recorder.record(turn, rule)

    def change_session(self, id: str, change: SessionChange) -> Session | None:
        """Write the session that `change` returns and return it; `None` without a change."""
        return self.recorder.change_session(id, change)

    async def in_order(self, user_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns in order of arrival; list turns from interrupted recordings first."""
        if not turns:
            return []
        return await self.call(lambda: self.recorder.in_order(user_id, turns))

    async def raise_numbers(self, user_id: str, *, turn: int, entry: int) -> None:
        """Treat turns up to `turn` as arrived, and number verdicts after `entry`."""
        await self.call(lambda: self.recorder.raise_number(user_id, turn))
        await self._leases.raise_number(user_id, entry)

    async def call(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, as a server is slow. A cancelled caller waits for its end."""
        return await carry_through(asyncio.to_thread(work))

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write the entries of a verdict as drafts, add the verdict to the lease, number them."""
        if not entries:
            return
        user_id, verdict_id = entries[0].user_id, entries[0].verdict_id
        payloads = {entry.id: entry_payload(entry, 0) for entry in entries}
        await write_drafts(self.collection, user_id, payloads, entries[0].at)
        await self._promote(list(payloads), await self._leases.commit(user_id, verdict_id))

    async def note_applied(self, entries: Sequence[LedgerEntry]) -> None:
        """Note in the lease that a verdict is applied."""
        if entries:
            await self._leases.note_done(entries[0].user_id, entries[0].verdict_id)

    async def unsettled(self, user_id: str | None) -> list[list[LedgerEntry]]:
        """Return the open verdicts of leases that are not fully applied; number their entries."""
        if user_id is None:
            leases = await self._leases.with_open_verdicts()
        else:
            leases = [await self._leases.read(user_id)]
        whole = []
        for lease in leases:
            for verdict in lease.open:
                points = await read_verdict(self.collection, verdict.id)
                entries = read_each(points, to_entry)
                if all(point.payload["applied"] for point in points):
                    await self._leases.note_done(lease.user_id, verdict.id)
                elif len(entries) == len(points):
                    await self._promote([point.id for point in points], verdict.seq)
                    whole.append(entries)
        return whole

    def read_anew(self) -> None:
        """Do nothing, as this writer has no cache."""

    async def _promote(self, ids: Sequence[str], seq: int) -> None:
        await self.collection.merge_payload(ids, {"type": "entry", "seq": seq})


async def write_drafts(
    collection: Collection, user_id: str, payloads: dict[str, Payload], at: datetime
) -> None:
    """Write the entries of a verdict as drafts; `at` is the verdict's time.

    `payloads` has the entries by id. Raises LeaseLostError if another process judges the user,
    StoreError if another process is writing the same verdict.
    """
    fence = fence_of(user_id)
    number = fence.number if fence else 0
    found = {point.id: point.payload for point in await collection.get(list(payloads))}
    revisions: dict[str, int | None] = {}
    for id, there in found.items():
        if _may_replace(there, payloads[id], number, at):
            revisions[id] = there["revision"]
    highest = max((there.get("revision") or 0 for there in found.values()), default=0)
    derived = {"type": DRAFT, "fence": number, "revision": highest + 1, "written_by": str(uuid4())}
    drafts = [Point(id, {**payload, **derived}) for id, payload in payloads.items()]
    if await collection.swap(drafts, revisions) == payloads.keys():
        return
    if fence:
        fence.lost()
        raise LeaseLostError(f"another process judges {user_id!r} now")
    raise StoreError("another process is writing the same verdict: try again in ten minutes")


async def read_verdict(collection: Collection, verdict_id: str) -> list[Point]:
    """Return the entries of a valid verdict, drafts too, sorted by position."""
    found = await read_all(collection, Filter((Is("verdict_id", verdict_id),)))
    entries = [point for point in found if point.payload.get("type") in (DRAFT, "entry")]
    entries.sort(key=lambda point: point.payload.get("position", 0))
    whole = entries[: entries[0].payload["of"]] if entries else []
    by = whole[0].payload.get("written_by") if whole else None
    return [point for point in whole if point.payload.get("written_by") == by]


async def drop_drafts(collection: Collection, user_id: str, below: int) -> None:
    """Delete the drafts of former lease holders, with a fence number below `below`, for a user."""
    wanted = Filter((Is("type", DRAFT), Is("user_id", user_id)))
    left = await read_all(collection, wanted)
    gone = [point.id for point in left if 0 < int(point.payload.get("fence") or 0) < below]
    await collection.delete(gone)


def _may_replace(there: Payload, payload: Payload, fence: int, at: datetime) -> bool:
    if there.get("type") != DRAFT:
        return False
    if fence:
        return int(there.get("fence") or 0) < fence
    return _is_same(there, payload) or datetime.fromisoformat(there["at"]) < at - ABANDONED


def _is_same(there: Payload, payload: Payload) -> bool:
    """Return whether a draft is the only entry of its verdict, and equals the new payload."""
    content = {key: value for key, value in payload.items() if key != "type"}
    return payload["of"] == 1 and all(there.get(key) == one for key, one in content.items())
