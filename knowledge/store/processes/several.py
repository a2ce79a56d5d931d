"""Writing to a store to which several processes write at once.

Turns are numbered by the list of their arrivals, and a verdict holds once the lease of its user
names it: see `recording`, `drafts` and `leases`.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Session, WindowRule
from souffleur.knowledge.store.codecs import entry_payload, to_entry
from souffleur.knowledge.store.engine.collection import Collection, carry_through
from souffleur.knowledge.store.processes import drafts
from souffleur.knowledge.store.processes.leases import UserLeases
from souffleur.knowledge.store.processes.recording import Recorder
from souffleur.knowledge.store.processes.writing import Change
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.store.turns import new_session
from souffleur.knowledge.turn import Turn

T = TypeVar("T")


class Several:
    """Writes as `writing.Writing` says, so that no process undoes what another has written."""

    def __init__(self, collection: Collection, leases: UserLeases, *, last_seq: int) -> None:
        self.collection = collection
        self.recorder = Recorder(collection, partial(new_session, collection), first_seq=last_seq)
        self._leases = leases

    def record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        """Write a turn, its window and the list of the user's turns in one request."""
        return self.recorder.record(turn, rule)

    def change_session(self, id: str, change: Change) -> Session | None:
        """Write what `change` makes of a session; return it, or `None` if it makes nothing."""
        return self.recorder.change_session(id, change)

    async def in_order(self, user_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns by their arrival; one that was cut off while it was recorded is listed."""
        if not turns:
            return []
        return await self.call(lambda: self.recorder.in_order(user_id, turns))

    async def raise_numbers(self, user_id: str, *, turn: int, entry: int) -> None:
        """Have turns up to `turn` count as arrived, and verdicts be numbered after `entry`."""
        await self.call(lambda: self.recorder.raise_number(user_id, turn))
        await self._leases.raise_number(user_id, entry)

    async def call(self, work: Callable[[], T]) -> T:
        """Call work in a thread, as a server takes long; who is cancelled waits until it ends."""
        return await carry_through(asyncio.to_thread(work))

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write the entries of a verdict as drafts, have the lease name it, and number them."""
        if not entries:
            return
        user_id, verdict_id = entries[0].user_id, entries[0].verdict_id
        payloads = {entry.id: entry_payload(entry, 0) for entry in entries}
        await drafts.write_drafts(self.collection, user_id, payloads, entries[0].at)
        await self._promote(list(payloads), await self._leases.commit(user_id, verdict_id))

    async def note_applied(self, entries: Sequence[LedgerEntry]) -> None:
        """Note in the lease that a verdict is carried out."""
        if entries:
            await self._leases.note_done(entries[0].user_id, entries[0].verdict_id)

    async def unsettled(self, user_id: str | None) -> list[list[LedgerEntry]]:
        """Return the verdicts that leases name as not carried out, with their entries numbered."""
        if user_id is None:
            leases = await self._leases.with_open_verdicts()
        else:
            leases = [await self._leases.read(user_id)]
        whole = []
        for lease in leases:
            for verdict in lease.open:
                points = await drafts.read_verdict(self.collection, verdict.id)
                entries = read_each(points, to_entry)
                if all(point.payload["applied"] for point in points):
                    await self._leases.note_done(lease.user_id, verdict.id)
                elif len(entries) == len(points):
                    await self._promote([point.id for point in points], verdict.seq)
                    whole.append(entries)
        return whole

    def read_anew(self) -> None:
        """Do nothing: nothing is remembered."""

    async def _promote(self, ids: Sequence[str], seq: int) -> None:
        await self.collection.merge_payload(ids, {"type": "entry", "seq": seq})
