"""The journal: raw turns and the ledger in one Qdrant collection, the durable record of changes.

Sessions and their segments are stored in the same collection; `sessions.py` reads them.

A verdict is completely in the journal before any memory changes (a redo log): each entry contains
the memories before and after. After a crash, the same `after` is written again.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from threading import RLock
from typing import Any, TypeVar

from souffleur.errors import NotFoundError
from souffleur.knowledge.identity import sphere_conditions, user_conditions
from souffleur.knowledge.operation import LedgerEntry, Recorded, Said, derive_id, is_id
from souffleur.knowledge.session import USUAL, Session, WindowRule
from souffleur.knowledge.store.codecs import (
    entry_payload,
    seq_of,
    to_entry,
    to_turn,
)
from souffleur.knowledge.store.engine.collection import (
    POINTS_PER_PAGE,
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    Order,
    Payload,
    Point,
    read_all,
)
from souffleur.knowledge.store.labels import (
    UNCHANGED,
    has,
    has_any,
)
from souffleur.knowledge.store.processes.alone import Alone
from souffleur.knowledge.store.processes.leases import UserLeases
from souffleur.knowledge.store.processes.several import Several
from souffleur.knowledge.store.reading import read_each, read_matching
from souffleur.knowledge.store.turns import SessionChange
from souffleur.knowledge.text.plain import is_blank
from souffleur.knowledge.turn import Turn, TurnState, verdict_id

T = TypeVar("T")

META_ID = derive_id("meta")


class Journal:
    """The turns and ledger entries in a collection."""

    def __init__(self, collection: Collection, *, last_seq: int) -> None:
        self._alone = RLock()
        self.leases = UserLeases(collection, first_seq=last_seq)
        """The users' leases: with several processes, a process needs the lease to judge a user."""
        self._writing: Alone | Several = (
            Several(collection, self.leases, last_seq=last_seq)
            if collection.shared
            else Alone(collection, lambda: self.lock, last_seq=last_seq)
        )
        self._watchers: dict[object, Callable[[str], None]] = {}

    @classmethod
    async def open(cls, collection: Collection) -> "Journal":
        """Open the journal of a collection. Numbers continue after its highest number."""
        newest, _ = await collection.scroll(Filter(), limit=1, order=Order("seq", descending=True))
        return cls(collection, last_seq=newest[0].payload["seq"] if newest else 0)

    @property
    def collection(self) -> Collection:
        """The collection of the journal."""
        return self._writing.collection

    @collection.setter
    def collection(self, collection: Collection) -> None:
        self._writing.collection = collection

    @property
    def lock(self) -> AbstractContextManager[object]:
        """The lock for reading and rewriting a session's window or a turn's words.

        It is needed because hosts call `observe` from several threads. Raises StoreError in a
        forked process, where a thread of the parent process may hold the lock.
        """
        self.collection.check_usable()
        return self._alone

    def record(self, turn: Turn, rule: WindowRule = USUAL) -> Turn | None:
        """Write a turn durably and return it; return `None` if there is nothing to write.

        It is `None` for a turn that is already stored with the same words, and for a user whose
        preferences forbid storing turns. Different words for a stored id become the next version,
        which is judged again. The turn, its window and the segments that leave the window are
        written together.
        """
        return self._writing.record(turn, rule)

    def change_session(self, id: str, change: SessionChange) -> Session | None:
        """Write the session that `change` returns, with the segments that leave it.

        Returns the new session; `None` if there is no session or `change` returns `None`.
        """
        return self._writing.change_session(id, change)

    async def waiting(
        self, user_id: str, *, limit: int | None = None, after: int = 0
    ) -> list[Turn]:
        """Return a user's turns that wait to be judged, in order: all, or the first `limit`.

        It skips turns up to the number `after`. With several processes, it adds turns from
        interrupted recordings to the list of arrivals.
        """
        pending = TurnState.PENDING
        found = await self.turns(state=pending, user_id=user_id, limit=limit, after=after)
        return await self._writing.in_order(user_id, found)

    async def raise_numbers(self, user_id: str, *, turn: int, entry: int) -> None:
        """Raise a user's numbers: the next turns and entries get numbers above these.

        Turns up to the number `turn` count as arrived.
        """
        await self._writing.raise_numbers(user_id, turn=turn, entry=entry)

    async def calling(self, call: Callable[[], T]) -> T:
        """Call a function that uses the store without `await`; in a thread if it may take long."""
        return await self._writing.call(call)

    async def turn(self, point_id: str) -> Turn:
        """Return a turn by the id of its point. Raises NotFoundError."""
        found = await self.collection.get([point_id] if is_id(point_id) else [])
        if not found or found[0].payload["type"] != "turn":
            raise NotFoundError(f"there is no turn with the id {point_id!r}")
        return to_turn(found[0])

    async def turns(
        self,
        *,
        state: TurnState | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Turn]:
        """Return the turns in a state, in order of arrival: all, or the first `limit`.

        It skips turns up to the number `after`.
        """
        must: list[Condition] = [Is("type", "turn"), *user_conditions(user_id)]
        must += [Is("state", state)] if state else []
        must += [Between("seq", low=after + 1)] if after else []
        wanted = Filter(tuple(must))
        if limit is None:
            turns = await read_matching(self.collection, wanted, to_turn)
        else:
            found, _ = await self.collection.scroll(wanted, limit=limit, order=Order("seq"))
            turns = read_each(found, to_turn)
        return sorted(turns, key=lambda turn: turn.seq)

    async def users_waiting(
        self, *, after: int = 0, limit: int = POINTS_PER_PAGE
    ) -> tuple[list[str], int | None]:
        """Return the next users with turns that wait to be judged, the longest waiting first.

        It reads `limit` turns after the number `after`. It also returns the number from which to
        continue; `None` at the end.
        """
        wanted = Filter(
            (
                Is("type", "turn"),
                Is("state", TurnState.PENDING),
                Between("seq", low=after + 1),
            )
        )
        page, _ = await self.collection.scroll(wanted, limit=limit, order=Order("seq"))
        users = dict.fromkeys(str(point.payload.get("user_id", "")) for point in page)
        last = max((seq_of(point)[0] for point in page), default=after)
        more = last if len(page) == limit else None
        return [user_id for user_id in users if not is_blank(user_id)], more

    async def users_with_pending_turns(self) -> dict[str, int]:
        """Return the users with turns that wait to be judged, and the highest number of these."""
        waiting = Filter((Is("type", "turn"), Is("state", TurnState.PENDING)))
        users: dict[str, int] = {}
        for point in await read_all(self.collection, waiting):
            user_id, (seq, _) = str(point.payload.get("user_id", "")), seq_of(point)
            if not is_blank(user_id):
                users[user_id] = max(seq, users.get(user_id, 0))
        return users

    async def count_turns(self, state: TurnState) -> int:
        """Return the number of turns in a state."""
        return await self.collection.count(Filter((Is("type", "turn"), Is("state", state))))

    async def latest_judged(self) -> Turn | None:
        """Return the latest judged turn; `None` without judged turns."""
        judged = Filter((Is("type", "turn"), Is("state", TurnState.JUDGED)))
        newest = Order("at", descending=True)
        page, _ = await self.collection.scroll(judged, limit=1, order=newest)
        return next(iter(read_each(page, to_turn)), None)

    async def messages_before(self, turn: Turn, *, limit: int) -> list[Said]:
        """Return the latest messages before a turn in the same session, oldest first.

        It skips hidden turns, as they repeat forgotten facts.
        """
        must = (
            Is("type", "turn"),
            Is("user_id", turn.user_id),
            has("session_id", turn.session_id),
            *sphere_conditions(turn.sphere),
            Between("seq", high=turn.seq),
        )
        newest, said = Order("seq", descending=True), list[Said]()
        for most in (-(-limit // 2), limit):  # nearly all turns have two messages
            wanted = Filter(must, (Is("hidden", True),))
            found, _ = await self.collection.scroll(wanted, limit=most, order=newest)
            spoken = [turn.clipped().said() for turn in read_each(found, to_turn)]
            said = [one for messages in reversed(spoken) for one in messages]
            if len(said) >= limit or len(found) < most:
                break
        return said[-limit:]

    async def mark(self, turns: Sequence[Turn], **fields: Any) -> None:
        """Change bookkeeping fields of turns; their words and vectors stay.

        It skips turns whose reply has been replaced meanwhile: they wait to be judged again.
        """
        for version in sorted({turn.version for turn in turns}):
            ids = [turn.id for turn in turns if turn.version == version]
            await self.collection.merge_payload(ids, fields, where=Is("version", version))

    async def mark_judged(self, entries: Sequence[LedgerEntry]) -> None:
        """Mark the turns of a written verdict as judged; for recovery after a crash."""
        ids = list(dict.fromkeys(id for entry in entries for id in entry.turn_ids))
        turns = read_each(await self.collection.get(ids), to_turn)
        verdict = entries[0].verdict_id
        judged = [turn for turn in turns if turn.version == 0 or verdict_id([turn]) == verdict]
        await self.mark(judged, state=TurnState.JUDGED, error="")

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write the entries of a verdict before it is applied; see `settle`.

        Raises LeaseLostError if the running task judges the user and another process has taken the
        lease meanwhile; then the verdict is not valid.
        """
        await self._writing.write(entries)

    async def settle(self, entries: Sequence[LedgerEntry]) -> None:
        """Mark the entries of a verdict as applied."""
        await self.collection.merge_payload([entry.id for entry in entries], {"applied": True})
        await self._writing.note_applied(entries)
        for user_id in {entry.user_id for entry in entries}:
            self.tell(user_id)

    def read_anew(self) -> None:
        """Drop the cache of applied verdicts, after entries were written without the journal."""
        self._writing.read_anew()

    def tell(self, user_id: str) -> None:
        """Notify the watchers that a record of a user has changed."""
        for seen in list(self._watchers.values()):
            seen(user_id)

    async def is_settled(self, entry_id: str) -> bool:
        """Return whether an entry is applied, by any process."""
        return any(one.payload["applied"] for one in await self.collection.get([entry_id]))

    def watch(self, seen: Callable[[str], None]) -> Callable[[], None]:
        """Call `seen` with the user of each applied verdict; return a function that stops this.

        `seen` is called in the event loop of the write; it must return at once and must not raise.
        """
        token = object()
        self._watchers[token] = seen
        return lambda: self._watchers.pop(token, None) and None

    async def rewrite(self, entry: LedgerEntry) -> None:
        """Rewrite an entry, for example if its op failed or was undone."""
        payload = entry_payload(entry, 0)
        del payload["seq"], payload["applied"]
        await self.collection.merge_payload([entry.id], payload)

    async def drop_words(
        self, before: datetime, fields: Payload, user_id: str | None = None
    ) -> int:
        """Replace the words of old entries that changed no memory (skips, refusals) with `fields`.

        Returns the number of entries. Later runs do not find the same entries again, so a run costs
        only as much as the new entries before `before`.
        """
        idle = (Is("type", "entry"), Is("labels", UNCHANGED), Between("at", high=before))
        wanted = Filter((*idle, *user_conditions(user_id)), (Is("gone", True),))
        due = [point.id for point in await read_all(self.collection, wanted)]
        await self.collection.merge_payload(due, {**fields, "expunged": True, "gone": True})
        return len(due)

    async def unsettled(self, user_id: str | None = None) -> list[list[LedgerEntry]]:
        """Return the verdicts that are written but not fully applied, in order.

        It deletes incompletely written verdicts, and skips verdicts with unreadable entries. With
        several processes, the users' leases list the verdicts.
        """
        return await self._writing.unsettled(user_id)

    async def entry(self, entry_id: str) -> LedgerEntry:
        """Return a ledger entry by its id. Raises NotFoundError."""
        found = await self.collection.get([entry_id] if is_id(entry_id) else [])
        if not found or found[0].payload["type"] != "entry":
            raise NotFoundError(f"there is no ledger entry with the id {entry_id!r}")
        return to_entry(found[0])

    async def get_entries(self, entry_ids: Sequence[str]) -> list[LedgerEntry]:
        """Return the ledger entries with these ids; skips missing entries."""
        found = await self.collection.get([id for id in entry_ids if is_id(id)])
        return read_each((one for one in found if one.payload.get("type") == "entry"), to_entry)

    async def get_turns(self, turn_ids: Sequence[str]) -> list[Turn]:
        """Return the turns with these ids; skips missing turns."""
        found = await self.collection.get([id for id in turn_ids if is_id(id)])
        return read_each((one for one in found if one.payload.get("type") == "turn"), to_turn)

    async def entries(
        self,
        user_id: str | None = None,
        *,
        memory_id: str | None = None,
        turn_id: str | None = None,
        turn_ids: Sequence[str] | None = None,
        waits: bool = False,
        in_doubt: bool = False,
    ) -> list[LedgerEntry]:
        """Return ledger entries, oldest first.

        With `waits`, only entries that wait for consent; with `in_doubt`, only forgettings that
        hide records of which no model has said whether they repeat what was forgotten.
        """
        must: list[Condition] = [Is("type", "entry"), *user_conditions(user_id)]
        must += [has("memory_ids", memory_id)] if memory_id else []
        must += [has("turn_ids", turn_id)] if turn_id else []
        must += [has_any("turn_ids", turn_ids)] if turn_ids is not None else []
        must += [Is("state", "waits")] if waits else []
        must += [Is("state", "doubt")] if in_doubt else []
        found = await read_all(self.collection, Filter(tuple(must)))
        return read_each(sorted(found, key=seq_of), to_entry)

    async def recorded(
        self,
        user_id: str,
        *,
        after: int = 0,
        limit: int,
        newest_first: bool = False,
        turn_id: str | None = None,
    ) -> list[Recorded]:
        """Return the applied ledger entries of a user after the number `after`.

        With `turn_id`, the store's id of a turn, it returns only entries about this turn.
        """
        must: list[Condition] = [Is("type", "entry"), Is("applied", True)]
        must += [Between("seq", low=after + 1), *user_conditions(user_id)]
        must += [has("turn_ids", turn_id)] if turn_id else []
        order = Order("seq", descending=newest_first)
        found, _ = await self.collection.scroll(Filter(tuple(must)), limit=limit, order=order)
        return read_each(found, lambda point: Recorded(seq=seq_of(point)[0], entry=to_entry(point)))

    async def meta(self) -> Payload | None:
        """Return the metadata of the store; `None` for a new store."""
        found = await self.collection.get([META_ID])
        return found[0].payload["made_with"] if found else None

    async def set_meta(self, made_with: Payload) -> None:
        """Write the metadata of the store."""
        payload = {"type": "meta", "user_id": "", "made_with": made_with}
        await self.collection.put([Point(META_ID, payload)])

    async def note_meta(self, fields: Payload, *, drop: Sequence[str] = ()) -> Payload:
        """Change some metadata of the store, and return all metadata."""
        latest = {**(await self.meta() or {}), **fields}
        kept = {key: value for key, value in latest.items() if key not in drop}
        await self.set_meta(kept)
        return kept
