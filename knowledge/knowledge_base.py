"""KnowledgeBase: all that may be done to memories. Every change goes through `apply`."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from souffleur.errors import NotFoundError
from souffleur.knowledge import undo
from souffleur.knowledge.collection import (
    Between,
    Collection,
    Condition,
    Filter,
    Is,
    OneOf,
    Order,
    Search as VectorSearch,
    read_all,
)
from souffleur.knowledge.embedder import Embedder
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.life import effective, ends
from souffleur.knowledge.memory import Category, Due, Memory, State
from souffleur.knowledge.operation import (
    Add,
    By,
    Outcome,
    Verdict,
    is_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.records import fingerprint, to_memory
from souffleur.knowledge.search import (
    INSTANT,
    Found,
    Query,
    Scope,
    order,
    over,
    readable,
    said,
    search,
    search_turns,
)
from souffleur.knowledge.sessions import Sessions
from souffleur.knowledge.talk_records import to_masked_turn
from souffleur.knowledge.turn import Turn
from souffleur.knowledge.writer import Writer

Memories = list[Memory]
Outcomes = list[Outcome]
Vector = tuple[float, ...]

NEAR = 0.95
"""Cosine from which two memories are near-duplicates."""
AT_ONCE = 64
"""Raw turns embedded in one request."""


class KnowledgeBase:
    """The memories of all users in one store, with their history.

    Every method takes or finds a user; none returns what belongs to another. Changes to one
    user's memories are made one after the other, users side by side.
    """

    def __init__(
        self,
        memories: Collection,
        journal: Journal,
        embedder: Embedder,
        policy: Policy,
        *,
        hold: bool = False,
        raw_days: int = 30,
    ) -> None:
        """With `hold`, what a model proposes waits as `pending`.

        Raw turns are found for `raw_days`; 0: until they are summarised.
        """
        self.memories = memories
        self.journal = journal
        self.sessions = Sessions(journal)
        self.embedder = embedder
        self.policy = policy
        self.raw_days = raw_days
        self.writer = Writer(memories, journal, embedder, policy, hold=hold)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def apply(self, verdict: Verdict, *, turns: Sequence[Turn] = ()) -> Outcomes:
        """Carry out a verdict, op by op, and say what became of each.

        The verdict is written to the ledger before any memory changes; `turns` become `judged`
        with it. Applying the same verdict again changes nothing and returns the first outcomes.
        """
        async with self._locks[verdict.user_id]:
            return await self.writer.carry(verdict, turns)

    async def preview(self, verdict: Verdict) -> Outcomes:
        """What `apply` would make of a verdict; nothing is written."""
        return await self.writer.plan(verdict, ())

    async def undo(self, entry_id: str, *, by: By, now: datetime) -> Outcome:
        """Take back a ledger entry; a new entry says so.

        Raises NotFoundError for an unknown entry, UndoError where it was refused, was undone, or
        where a later change stands on it.
        """
        entry = await self.journal.entry(entry_id)
        async with self._locks[entry.user_id]:
            current = {id: await self.get(id) for id in entry.memory_ids}
            outcome = undo.plan_undo(entry, current, by=by, now=now, policy=self.policy)
            await self.journal.write([outcome])
            return (await self.writer.carry_out([outcome]))[0]

    async def undo_turn(self, turn: Turn, *, by: By, now: datetime) -> Outcomes:
        """Take back, newest first, what a turn brought and what can still be taken back."""
        undone = []
        for entry in reversed(await self.journal.entries(turn.user_id, turn_id=turn.id)):
            if entry.op != "UNDO" and undo.can_undo(entry):
                undone.append(await self.undo(entry.id, by=by, now=now))
        return undone

    async def search(self, query: Query) -> list[Found]:
        """What a text calls for of all that the query's scope names, best first."""
        found = await search(self.memories, self.embedder, self.policy, query)
        if Scope.TURNS in query.scope:
            raw = replace(query, raw_since=self._raw_since(query.now))
            found += await search_turns(self.journal.collection, self.embedder, raw)
        return sorted(found, key=order)[: query.limit]

    async def told(self, query: Query) -> list[Memory | Turn]:
        """The episodes and raw turns of a time, oldest first; the query's text says nothing.

        Up to `query.limit` of each, the latest ones.
        """
        newest = Order("created_at", descending=True)
        episodes, _ = await self.memories.scroll(
            readable(query, Scope.EPISODES), limit=query.limit, order=newest
        )
        raw = said(replace(query, raw_since=self._raw_since(query.now)))
        turns, _ = await self.journal.collection.scroll(
            raw, limit=query.limit, order=Order("at", descending=True)
        )
        told_then = [to_memory(point) for point in reversed(episodes)]
        said_then = [to_masked_turn(point.payload) for point in reversed(turns)]
        return [*told_then, *said_then]

    async def learnt(self, query: Query) -> list[Found]:
        """The memories first learnt in a time, by age; the query's text says nothing."""
        order_by = Order("created_at")
        page, _ = await self.memories.scroll(readable(query), limit=query.limit, order=order_by)
        found = [to_memory(point) for point in page]
        return [Found(one, 1.0, 1.0, effective(one, query.now, self.policy)) for one in found]

    async def episodes(self, user_id: str, *, limit: int, now: datetime) -> Memories:
        """The latest episodes of a user, newest first."""
        latest = Order("created_at", descending=True)
        allowed = readable(Query(user_id, "", now), Scope.EPISODES)
        page, _ = await self.memories.scroll(allowed, limit=limit, order=latest)
        return [to_memory(point) for point in page]

    async def portraits(self, user_id: str) -> Memories:
        """All versions of a user's portrait, in whatever state, newest first."""
        must = (Is("user_id", user_id), Is("category", Category.PROFILE))
        found = [to_memory(point) for point in await read_all(self.memories, Filter(must))]
        return sorted(found, key=lambda memory: -int(memory.data.get("version", 0)))

    async def portrait(self, user_id: str) -> Memory | None:
        """The portrait in force; None: there is none yet."""
        must = (
            Is("user_id", user_id),
            Is("category", Category.PROFILE),
            Is("state", State.ACTIVE),
        )
        latest = Order("created_at", descending=True)
        page, _ = await self.memories.scroll(Filter(must), limit=1, order=latest)
        return to_memory(page[0]) if page else None

    async def embed_turns(self, user_id: str | None = None) -> int:
        """Make raw turns findable by their words; returns how many."""
        count = 0
        while turns := await self.sessions.unembedded(user_id, limit=AT_ONCE):
            self.sessions.embed(turns, await self.embedder.embed([turn.words for turn in turns]))
            count += len(turns)
        return count

    def _raw_since(self, now: datetime) -> datetime | None:
        return now - timedelta(days=self.raw_days) if self.raw_days else None

    async def get(self, memory_id: str, *, user_id: str | None = None) -> Memory:
        """A memory by its id, in whatever state; NotFoundError where this user has none such."""
        found = await self.memories.get([memory_id] if is_id(memory_id) else [])
        if not found or user_id not in {None, found[0].payload["user_id"]}:
            raise NotFoundError(f"no memory has the id {memory_id!r}")
        return to_memory(found[0])

    async def get_many(self, user_id: str, memory_ids: Sequence[str]) -> Memories:
        """The active ones of these memories of a user, in this order."""
        memories = [to_memory(point) for point in await self.memories.get(memory_ids)]
        return [m for m in memories if m.user_id == user_id and m.state is State.ACTIVE]

    async def list(
        self,
        user_id: str | None,
        *,
        states: Sequence[State] = (State.ACTIVE,),
        category: str | None = None,
        now: datetime | None = None,
    ) -> Memories:
        """Memories of a user (None: of everybody, for the owner of the store), oldest first.

        With `now`, without those that have expired or ended by then.
        """
        must: list[Condition] = [OneOf("state", tuple(states))]
        must += [Is("user_id", user_id)] if user_id is not None else []
        must += [Is("category", category)] if category else []
        wanted = Filter(tuple(must), over(now) if now else ())
        memories = [to_memory(point) for point in await read_all(self.memories, wanted)]
        return sorted(memories, key=lambda memory: (memory.created_at, memory.id))

    async def most_valuable(
        self, user_id: str, *, limit: int, categories: Sequence[str] = (), now: datetime
    ) -> Memories:
        """The active memories of the highest value now, best first; ties by age and id."""
        allowed = readable(Query(user_id, "", now, categories=tuple(categories)))
        order = Order("importance", descending=True)
        page, _ = await self.memories.scroll(allowed, limit=2 * limit, order=order)
        memories = [to_memory(point) for point in page]
        memories.sort(key=lambda m: (-effective(m, now, self.policy), m.created_at, m.id))
        return memories[:limit]

    async def due(
        self, now: datetime, what: Sequence[Due], *, user_id: str | None = None, limit: int
    ) -> Memories:
        """Memories to which something must happen by now, the longest due first.

        Read by index: what is not due is not looked at.
        """
        wanted = _due_by(now, what, user_id)
        page, _ = await self.memories.scroll(wanted, limit=limit, order=Order("due_at"))
        return [to_memory(point) for point in page]

    async def count_due(
        self, now: datetime, what: Sequence[Due], *, user_id: str | None = None
    ) -> int:
        """How many there are."""
        return await self.memories.count(_due_by(now, what, user_id))

    async def plans_near(self, user_id: str, *, limit: int, now: datetime) -> Memories:
        """Active memories of what happens within three days, or did in the last two."""
        near = Between("expires_at", ends(now - timedelta(days=3)), ends(now + timedelta(days=3)))
        allowed = readable(Query(user_id, "", now))
        both = Filter((*allowed.must, near), allowed.must_not)
        page, _ = await self.memories.scroll(both, limit=limit, order=Order("expires_at"))
        return [to_memory(point) for point in page]

    async def history(self, memory_id: str, *, user_id: str | None = None) -> Outcomes:
        """All that ever happened to a memory, oldest first."""
        memory = await self.get(memory_id, user_id=user_id)
        return await self.journal.entries(memory.user_id, memory_id=memory_id)

    async def near_duplicates(self, verdict: Verdict) -> dict[int, Memory]:
        """For each ADD, by position: an active memory that says nearly the same."""
        adds = [
            (place, op)
            for place, op in enumerate(verdict.ops)
            if isinstance(op, Add) and not op.keep_both
        ]
        vectors = await self.embedder.embed([op.content for _, op in adds])
        mine = Filter((Is("user_id", verdict.user_id), Is("state", State.ACTIVE)))
        hits = await self.memories.search([VectorSearch(v, mine, 1) for v in vectors])
        return {
            place: to_memory(hit[0].point)
            for (place, op), hit in zip(adds, hits, strict=True)
            if hit and hit[0].score >= NEAR and not _same(op, to_memory(hit[0].point))
        }

    async def note_recalled(self, memory_ids: Sequence[str]) -> None:
        """Count a retrieval. Nothing else changes: being read makes nothing younger."""
        for point in await self.memories.get(memory_ids):
            recalls = int(point.payload.get("recalls", 0)) + 1
            await self.memories.merge_payload([point.id], {"recalls": recalls})

    async def recover(self) -> int:
        """Finish what a crash interrupted; returns how many verdicts that were."""
        return await self.writer.finish()

    async def flush(self) -> None:
        """Return when all that was written would survive a power cut."""
        await asyncio.gather(self.memories.flush(), self.journal.collection.flush())

    async def close(self) -> None:
        """Flush and let go of the store."""
        await self.memories.close()
        await self.journal.collection.close()


def _due_by(now: datetime, what: Sequence[Due], user_id: str | None) -> Filter:
    must: list[Condition] = [
        OneOf("state", (State.ACTIVE, State.ARCHIVED)),  # what is archived may fade on
        OneOf("due_for", tuple(what)),
        Between("due_at", high=now + INSTANT),
    ]
    must += [Is("user_id", user_id)] if user_id else []
    return Filter(tuple(must))


def _same(op: Add, memory: Memory) -> bool:
    return fingerprint(op.content) == fingerprint(memory.content)
