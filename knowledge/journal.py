"""The journal: raw turns and the ledger in one Qdrant collection, the durable record of changes.

Sessions and their segments are stored in the same collection; `sessions.py` reads them.

A verdict is written here completely before any memory changes (a redo log): each entry contains
the memories before and after. After a crash, the same `after` is written again.
"""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import RLock
from typing import Any

from souffleur.errors import NotFoundError
from souffleur.knowledge.engine.collection import (
    POINTS_PER_PAGE,
    Between,
    Collection,
    Condition,
    Filter,
    IndexType,
    Is,
    Missing,
    OneOf,
    Order,
    Payload,
    Point,
    read_all,
)
from souffleur.knowledge.identity import (
    COMMON,
    EVERYBODY,
    own_sphere,
    sphere_conditions,
    user_conditions,
)
from souffleur.knowledge.language.plain_text import is_blank
from souffleur.knowledge.operation import LedgerEntry, Recorded, Said, derive_id, is_id
from souffleur.knowledge.people import persona_id, to_persona
from souffleur.knowledge.reading import read, read_each
from souffleur.knowledge.talk.session import (
    USUAL,
    Segment,
    Session,
    WindowRule,
    append_turn,
    segment_id,
    session_point_id,
)
from souffleur.knowledge.talk.talk_codec import (
    segment_point,
    session_point,
    to_session,
    to_turn,
    turn_point,
)
from souffleur.knowledge.talk.turn import Turn, TurnState, digest_of, verdict_id

INDEXES: dict[str, IndexType] = {
    "user_id": "tenant",
    "agent_id": "keyword",
    "sphere": "keyword",
    "type": "keyword",
    "session_id": "keyword",
    "place": "integer",
    "state": "keyword",
    "seq": "integer",
    "at": "datetime",
    "verdict_id": "keyword",
    "turn_ids": "keyword",
    "memory_ids": "keyword",
    "applied": "bool",
    "embedded": "bool",
    "expunged": "bool",
    "hidden": "bool",
    "waits": "bool",
    "folders": "keyword",
}

META_ID = derive_id("meta")
_DERIVED = frozenset({"type", "seq", "applied", "memory_ids", "expunged"})


class Journal:
    """The turns and ledger entries in a collection."""

    def __init__(self, collection: Collection, *, last_seq: int) -> None:
        self.collection = collection
        self.lock = RLock()
        """Held while a session's window or a turn's words are read and rewritten.

        Hosts call `observe` from several threads.
        """
        self._seq = itertools.count(last_seq + 1)
        self._watchers: dict[object, Callable[[str], None]] = {}

    @classmethod
    async def open(cls, collection: Collection) -> "Journal":
        """Open the journal of a collection; numbering continues from its last entry."""
        newest, _ = await collection.scroll(Filter(), limit=1, order=Order("seq", descending=True))
        return cls(collection, last_seq=newest[0].payload["seq"] if newest else 0)

    def record(self, turn: Turn, rule: WindowRule = USUAL) -> Turn | None:
        """Write a turn durably before returning; return `None` if it is stored already, unchanged.

        The same id with different words becomes the next version, which is judged again. The turn,
        the window that contains it and the segments that leave the window are one write.
        """
        with self.lock:
            return self._record(turn, rule)

    def _record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        card, own = persona_id(turn.agent_id), own_sphere(turn.agent_id)
        sessions = {
            sphere: session_point_id(turn.user_id, turn.session_id, sphere)
            for sphere in (COMMON, own)
        }
        ids = [turn.id, card, *sessions.values()]
        found = {point.id: point for point in self.collection.get_now(ids)}
        old = to_turn(found[turn.id]) if turn.id in found else None
        current = to_persona(found[card]).sphere if card in found else COMMON
        sphere = old.sphere if old else current
        session_id = sessions[sphere]
        turn = turn.model_copy(update={"digest": digest_of(turn), "sphere": sphere})
        if old and old.digest == turn.digest:
            return None
        session = to_session(found[session_id]) if session_id in found else self._new_session(turn)
        if old:
            numbers = {"version": old.version + 1, "seq": old.seq, "place": old.place}
        else:
            session = session.model_copy(update={"turns": session.turns + 1})
            numbers = {"seq": next(self._seq), "place": session.turns}
        turn = turn.model_copy(update=numbers)
        segments: list[Segment] = []
        if old is None or any(held.id == turn.id for held in session.window):
            session = session.model_copy(update={"agent_id": turn.agent_id})
            session, segments = append_turn(session, turn.window_entry, rule)
        points = [turn_point(turn), session_point(session)]
        self.collection.put_now([*points, *map(segment_point, segments)])
        return turn

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
        user_id: str | None = EVERYBODY,
        limit: int | None = None,
        after: int = 0,
    ) -> list[Turn]:
        """Return the turns in a state, in order of arrival: all, or the first `limit`.

        Those that arrived up to the number `after` are left out.
        """
        must: list[Condition] = [Is("type", "turn"), *user_conditions(user_id)]
        must += [Is("state", state)] if state else []
        must += [Between("seq", low=after + 1)] if after else []
        wanted = Filter(tuple(must))
        if limit is None:
            found = await read_all(self.collection, wanted)
        else:
            found, _ = await self.collection.scroll(wanted, limit=limit, order=Order("seq"))
        return sorted(read_each(found, to_turn), key=lambda turn: turn.seq)

    async def users_waiting(
        self, *, after: int = 0, limit: int = POINTS_PER_PAGE
    ) -> tuple[list[str], int | None]:
        """Return the next users with turns that wait to be judged, the longest waiting first.

        They are those of `limit` turns that arrived after the number `after`. Also returns the
        number to go on from; `None` if there are no more.
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
        last = max(map(_seq, page), default=after)
        more = last if len(page) == limit else None
        return [user_id for user_id in users if not is_blank(user_id)], more

    async def count_turns(self, state: TurnState) -> int:
        """Return the number of turns in a state."""
        return await self.collection.count(Filter((Is("type", "turn"), Is("state", state))))

    async def latest_judged(self) -> Turn | None:
        """Return the most recent judged turn, if any."""
        judged = Filter((Is("type", "turn"), Is("state", TurnState.JUDGED)))
        newest = Order("at", descending=True)
        page, _ = await self.collection.scroll(judged, limit=1, order=newest)
        return next(iter(read_each(page, to_turn)), None)

    async def messages_before(self, turn: Turn, *, limit: int) -> list[Said]:
        """Return the latest messages before a turn in the same session, oldest first."""
        must = (
            Is("type", "turn"),
            Is("user_id", turn.user_id),
            Is("session_id", turn.session_id),
            *sphere_conditions(turn.sphere),
            Between("seq", high=turn.seq),
        )
        found, _ = await self.collection.scroll(
            Filter(must), limit=limit, order=Order("seq", descending=True)
        )
        turns = read_each(reversed(found), to_turn)
        return [said for turn in turns for said in turn.clipped().said()][-limit:]

    async def mark(self, turns: Sequence[Turn], **fields: Any) -> None:
        """Change bookkeeping fields of turns; their words and vectors stay.

        A turn whose reply was replaced in the meantime is skipped: it waits to be judged again.
        """
        stored = await self.collection.get([turn.id for turn in turns])
        versions = {turn.id: turn.version for turn in turns}
        same = [point.id for point in stored if point.payload["version"] == versions[point.id]]
        await self.collection.merge_payload(same, fields)

    async def mark_judged(self, entries: Sequence[LedgerEntry]) -> None:
        """Mark the turns of a written verdict as judged; for recovery after a crash."""
        ids = list(dict.fromkeys(id for entry in entries for id in entry.turn_ids))
        turns = read_each(await self.collection.get(ids), to_turn)
        verdict = entries[0].verdict_id
        judged = [turn for turn in turns if turn.version == 0 or verdict_id([turn]) == verdict]
        await self.mark(judged, state=TurnState.JUDGED, error="")

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write entries that are about to be applied; see `settle`."""
        await self.collection.put(
            [Point(entry.id, self._entry_payload(entry, next(self._seq))) for entry in entries]
        )

    async def settle(self, entries: Sequence[LedgerEntry]) -> None:
        """Mark entries as applied."""
        await self.collection.merge_payload([entry.id for entry in entries], {"applied": True})
        for user_id in {entry.user_id for entry in entries}:
            for seen in list(self._watchers.values()):
                seen(user_id)

    def watch(self, seen: Callable[[str], None]) -> Callable[[], None]:
        """Have `seen` called with the user of whatever is applied; return what ends that.

        It is called in the event loop that writes, must return at once and must not raise.
        """
        token = object()
        self._watchers[token] = seen
        return lambda: self._watchers.pop(token, None) and None

    async def rewrite(self, entry: LedgerEntry) -> None:
        """Rewrite an entry whose op could not be carried out, or was undone."""
        payload = self._entry_payload(entry, 0)
        del payload["seq"], payload["applied"]
        await self.collection.merge_payload([entry.id], payload)

    async def drop_words(
        self, before: datetime, fields: Payload, user_id: str | None = EVERYBODY
    ) -> int:
        """Replace the words of entries that changed nothing (SKIPs and refusals) with `fields`.

        Returns the number of entries. Each entry is found only once, so that a run costs only what
        is due.
        """
        idle = (Is("type", "entry"), Missing("memory_ids"), Between("at", high=before))
        wanted = Filter((*idle, *user_conditions(user_id)), (Is("expunged", True),))
        due = await read_all(self.collection, wanted)
        await self.collection.merge_payload([p.id for p in due], {**fields, "expunged": True})
        return len(due)

    async def unsettled(self, user_id: str | None = EVERYBODY) -> list[list[LedgerEntry]]:
        """Return the verdicts that are written and not fully applied, in order.

        Incompletely written verdicts are deleted first. A verdict with an entry that cannot be read
        is left as it is.
        """
        wanted = Filter((Is("type", "entry"), Is("applied", False), *user_conditions(user_id)))
        found = await read_all(self.collection, wanted)
        found.sort(key=_seq)
        groups: dict[str, list[Point]] = {}
        for point in found:
            groups.setdefault(str(point.payload.get("verdict_id")), []).append(point)
        whole = []
        for name, group in groups.items():
            entries = read_each(group, to_entry)
            if len(entries) < len(group):
                continue
            if await self._count(name) == entries[0].of:
                whole.append(entries)
            else:
                await self.collection.delete([entry.id for entry in entries])
        return whole

    async def entry(self, entry_id: str) -> LedgerEntry:
        """Return a ledger entry by its id. Raises NotFoundError."""
        found = await self.collection.get([entry_id] if is_id(entry_id) else [])
        if not found or found[0].payload["type"] != "entry":
            raise NotFoundError(f"there is no ledger entry with the id {entry_id!r}")
        return to_entry(found[0])

    async def get_entries(self, entry_ids: Sequence[str]) -> list[LedgerEntry]:
        """Return the ledger entries with these ids; missing ones are left out."""
        found = await self.collection.get([id for id in entry_ids if is_id(id)])
        return read_each((one for one in found if one.payload.get("type") == "entry"), to_entry)

    async def get_turns(self, turn_ids: Sequence[str]) -> list[Turn]:
        """Return the turns with these ids; missing ones are left out."""
        found = await self.collection.get([id for id in turn_ids if is_id(id)])
        return read_each((one for one in found if one.payload.get("type") == "turn"), to_turn)

    async def entries(
        self,
        user_id: str | None = EVERYBODY,
        *,
        memory_id: str | None = None,
        turn_id: str | None = None,
        turn_ids: Sequence[str] | None = None,
        waits: bool | None = None,
    ) -> list[LedgerEntry]:
        """Return ledger entries, oldest first."""
        must: list[Condition] = [Is("type", "entry"), *user_conditions(user_id)]
        must += [Is("memory_ids", memory_id)] if memory_id else []
        must += [Is("turn_ids", turn_id)] if turn_id else []
        must += [OneOf("turn_ids", tuple(turn_ids))] if turn_ids is not None else []
        must += [Is("waits", waits)] if waits is not None else []
        found = await read_all(self.collection, Filter(tuple(must)))
        return read_each(sorted(found, key=_seq), to_entry)

    async def recorded(
        self, user_id: str, *, after: int = 0, limit: int, newest_first: bool = False
    ) -> list[Recorded]:
        """Return the applied ledger entries of a user that come after a place in the ledger."""
        must = (
            Is("type", "entry"),
            Is("applied", True),
            Between("seq", low=after + 1),
            *user_conditions(user_id),
        )
        order = Order("seq", descending=newest_first)
        found, _ = await self.collection.scroll(Filter(must), limit=limit, order=order)
        return read_each(found, lambda point: Recorded(seq=_seq(point), entry=to_entry(point)))

    async def meta(self) -> Payload | None:
        """Return what the store was made with; `None` if it is new."""
        found = await self.collection.get([META_ID])
        return found[0].payload["made_with"] if found else None

    async def set_meta(self, made_with: Payload) -> None:
        """Write what the store is made with."""
        payload = {"type": "meta", "user_id": "", "made_with": made_with}
        await self.collection.put([Point(META_ID, payload)])

    async def note_meta(self, fields: Payload, *, drop: Sequence[str] = ()) -> Payload:
        """Change some of what the store is made with, and return all of it."""
        latest = {**(await self.meta() or {}), **fields}
        kept = {key: value for key, value in latest.items() if key not in drop}
        await self.set_meta(kept)
        return kept

    async def _count(self, verdict_id: str) -> int:
        ids = OneOf("verdict_id", (verdict_id,))
        return await self.collection.count(Filter((Is("type", "entry"), ids)))

    def _new_session(self, turn: Turn) -> Session:
        """Return a new session; segment numbers continue after those of an earlier session."""
        id = session_point_id(turn.user_id, turn.session_id, turn.sphere)
        left = 0
        while self.collection.get_now([segment_id(id, left)]):
            left += 1
        return Session(
            id=id,
            user_id=turn.user_id,
            sphere=turn.sphere,
            session_id=turn.session_id,
            since=turn.at,
            at=turn.at,
            segments=left,
        )

    @staticmethod
    def _entry_payload(entry: LedgerEntry, seq: int) -> Payload:
        payload = entry.model_dump(mode="json")
        derived = {"type": "entry", "seq": seq, "applied": False}
        return {**payload, **derived, "memory_ids": list(entry.memory_ids)}


def to_entry(point: Point) -> LedgerEntry:
    """Return the ledger entry of a point. Raises UnreadableError."""
    return read(point, LedgerEntry, derived=_DERIVED)


def _seq(point: Point) -> int:
    seq = point.payload.get("seq")
    return seq if isinstance(seq, int) else 0
