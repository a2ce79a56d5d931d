"""Writing to a store without other writing processes, so cached values are always current."""

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.operation import LedgerEntry, entry_id
from souffleur.knowledge.session import Session, WindowRule
from souffleur.knowledge.store.codecs import (
    entry_payload,
    packed_session_point,
    segment_point,
    seq_of,
    to_entry,
    to_session,
    turn_point,
)
from souffleur.knowledge.store.engine.collection import Collection, Filter, Is, Point, read_all
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.store.turns import (
    SessionChange,
    ids_around,
    new_session,
    recorded,
    scene_of,
)
from souffleur.knowledge.turn import Turn

T = TypeVar("T")

MOST_SETTLED = 10_000
"""Maximum number of cached users for whom every verdict is applied."""


class Alone:
    """The writer of turns, sessions and verdicts for a single process; see `Journal`."""

    def __init__(
        self,
        collection: Collection,
        lock: Callable[[], AbstractContextManager[object]],
        *,
        last_seq: int,
    ) -> None:
        self.collection = collection
        self._lock = lock
        self._seq = itertools.count(last_seq + 1)
        self._settled: set[str] = set()
        """Users for whom every verdict is applied."""
        self._begun: dict[str, list[str]] = {}
        """The entries of the verdict in progress, by user, for users who were settled before."""

    def record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        """Write a turn, its window and the segments that leave it as a single log record."""
        with self._lock():
            found = {point.id: point for point in self.collection.get_now(ids_around(turn))}
            scene = scene_of(turn, found)
            if scene.is_known or scene.unwanted:
                return None
            seq = 0 if scene.old else next(self._seq)
            kept, session, segments = recorded(scene, seq, rule, self._new_session)
            points = [turn_point(kept), packed_session_point(session)]
            self.collection.put_now([*points, *map(segment_point, segments)])
            return kept

    def change_session(self, id: str, change: SessionChange) -> Session | None:
        """Write the session that `change` returns and return it; `None` without a change."""
        with self._lock():
            found = self.collection.get_now([id])
            changed = change(to_session(found[0])) if found else None
            if changed is None:
                return None
            session, segments = changed
            self.collection.put_now([packed_session_point(session), *map(segment_point, segments)])
            return session

    async def in_order(self, user_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return the turns unchanged: they are already in the order of their numbers."""
        return list(turns)

    async def raise_numbers(self, user_id: str, *, turn: int, entry: int) -> None:
        """Raise the numbers of all users: the next turns and entries get numbers above these."""
        with self._lock():
            self._seq = itertools.count(max(next(self._seq), turn + 1, entry + 1))

    async def call(self, work: Callable[[], T]) -> T:
        """Run `work` without a thread, as the engine is in this process."""
        return work()

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write the entries of a verdict as a single log record."""
        for user_id in self._settled & {entry.user_id for entry in entries}:
            self._settled.discard(user_id)
            self._begun[user_id] = [entry.id for entry in entries]
        await self.collection.put(
            [Point(entry.id, entry_payload(entry, next(self._seq))) for entry in entries]
        )

    async def note_applied(self, entries: Sequence[LedgerEntry]) -> None:
        """Note that every verdict of the user is applied, if this was true before this verdict."""
        for user_id in {entry.user_id for entry in entries}:
            if self._begun.pop(user_id, None) == [entry.id for entry in entries]:
                self._settled.add(user_id)

    async def unsettled(self, user_id: str | None) -> list[list[LedgerEntry]]:
        """Return the verdicts that are not fully applied; delete incomplete verdicts."""
        if user_id in self._settled:
            return []
        unapplied = (Is("type", "entry"), Is("applied", False), *user_conditions(user_id))
        found = await read_all(self.collection, Filter(unapplied))
        if user_id is not None and not found:
            if len(self._settled) >= MOST_SETTLED:
                self._settled.clear()
            self._settled.add(user_id)
        groups: dict[str, list[Point]] = {}
        for point in sorted(found, key=seq_of):
            groups.setdefault(str(point.payload.get("verdict_id")), []).append(point)
        whole = []
        for verdict_id, group in groups.items():
            entries = read_each(group, to_entry)
            if len(entries) < len(group):
                continue
            if await self._is_whole(verdict_id, entries):
                whole.append(entries)
            else:
                await self.collection.delete([entry.id for entry in entries])
        return whole

    def read_anew(self) -> None:
        """Drop the cache of applied verdicts."""
        self._settled.clear()
        self._begun.clear()

    async def _is_whole(self, verdict_id: str, unapplied: Sequence[LedgerEntry]) -> bool:
        """Return whether all entries of a verdict are stored, applied or not."""
        of = unapplied[0].of
        if len(unapplied) == of:
            return True
        ids = [entry_id(verdict_id, position) for position in range(of)]
        return len(await self.collection.get(ids)) == of

    def _new_session(self, turn: Turn) -> Session:
        return new_session(self.collection, turn)
